package source

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PerfMap finds functions of code that no file has, which a JIT compiler has made. It tells them in
// /tmp/perf-PID.map, a line `START SIZE NAME` in hexadecimal for each, as perf reads it (Linux,
// tools/perf/Documentation/jit-interface.txt; V8, .NET and CPython write it).
type PerfMap struct {
	Path   string
	Until  time.Time // a map that was changed later is another process's; zero: none is
	bytes  int64     // of the file, when it was read
	places []mapped  // by start
}

type mapped struct {
	start, size uint64
	line        int
	name        string
}

// mostMapBytes bounds what is read of such a file.
const mostMapBytes = 16 << 20

// PerfMapOf returns the map of a process, unread.
func PerfMapOf(pid int) PerfMap { return PerfMap{Path: fmt.Sprintf("/tmp/perf-%d.map", pid)} }

// Function returns the name at an address, "" where the file tells none or is somebody else's. It is read again where
// it has grown: code is made as the program runs.
func (m *PerfMap) Function(address uint64) string {
	name := m.find(address)
	if name == "" && m.read() {
		name = m.find(address)
	}
	return name
}

func (m *PerfMap) find(address uint64) string {
	at, _ := slices.BinarySearchFunc(m.places, address, func(p mapped, a uint64) int {
		if p.start <= a {
			return -1
		}
		return 1
	})
	for at--; at >= 0 && address-m.places[at].start < maxMapped; at-- {
		if p := m.places[at]; address-p.start < p.size {
			return p.name
		}
	}
	return ""
}

// maxMapped bounds a function: those that begin further below an address do not reach it.
const maxMapped = 1 << 20

// Forget drops what was read.
func (m *PerfMap) Forget() { m.bytes, m.places = 0, nil }

// read tells whether there was something new to read.
func (m *PerfMap) read() bool {
	info, err := os.Lstat(m.Path)
	if err != nil || !info.Mode().IsRegular() || !isOurs(info) || info.Size() == m.bytes {
		return false
	}
	if !m.Until.IsZero() && info.ModTime().After(m.Until) {
		return false
	}
	f, err := os.Open(m.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return false
	}
	m.bytes, m.places = info.Size(), parseMap(f)
	return true
}

func parseMap(f io.Reader) (places []mapped) {
	lines := bufio.NewScanner(io.LimitReader(f, mostMapBytes))
	for n := 0; lines.Scan(); n++ {
		start, rest, _ := strings.Cut(lines.Text(), " ")
		size, name, _ := strings.Cut(rest, " ")
		p := mapped{line: n, name: strings.TrimSpace(name)}
		var bad [2]error
		p.start, bad[0] = strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
		p.size, bad[1] = strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
		if bad[0] == nil && bad[1] == nil && p.name != "" && p.size <= maxMapped {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b mapped) int { // of code that was made anew at one place the newest is the last
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.line, b.line))
	})
	return places
}

// isOurs tells files of this user and of root: anybody may make one with that name.
func isOurs(info os.FileInfo) bool {
	about, known := info.Sys().(*syscall.Stat_t)
	return known && (about.Uid == 0 || int(about.Uid) == os.Geteuid())
}
