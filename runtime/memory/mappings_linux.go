package memory

import (
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mappings is the kernel's list of the mappings of this process. It is for one question:
// the next moment has another list.
type mappings struct {
	opened bool
	file   int    // -1: hidden
	text   string // of the file, where the kernel takes no queries (before Linux 6.11)
}

var mappingsFile = "/proc/self/maps"

func (m *mappings) close() {
	if m.opened && m.file >= 0 {
		unix.Close(m.file)
	}
}

// mapping is what is asked of one.
type mapping struct {
	end         uintptr
	read, write bool
	file        bool // it shows a file, which may end before it does
}

// permitted returns the end of a range, or how far the list shows it to be usable. The
// last page of a mapping tells whether its file reaches so far.
func (m *mappings) permitted(r Range) uintptr {
	at, end := r.Start, r.end()
	for at < end {
		one, ok := m.at(at, r.Bytes)
		if !ok || r.Write && !one.write || !r.Write && !one.read {
			return at
		}
		last := min(one.end, end) - 1
		if one.file && !pageUsable(last, r.Write) {
			return max(at, last&^(PageBytes-1))
		}
		at = last + 1
	}
	return end
}

// at returns the mapping of an address. Without queries the list is read, if bytes are
// so many that it pays.
func (m *mappings) at(p, bytes uintptr) (mapping, bool) {
	one, err := m.query(p)
	if err == 0 || err == unix.ENOENT {
		return one, err == 0
	}
	if m.text == "" && bytes > manyPages*PageBytes {
		text, _ := os.ReadFile(mappingsFile) // where there is none, pages are asked about
		m.text = string(text)
	}
	return find(m.text, p)
}

// procmapQuery is struct procmap_query of linux/fs.h.
type procmapQuery struct {
	size, queryFlags, address         uint64
	start, end, flags, page, offset   uint64
	inode                             uint64
	major, minor, nameBytes, idBytes  uint32
	nameAddress, buildIdentityAddress uint64
}

const (
	procmapReadable = 1
	procmapWritable = 2
)

// queryMapping is PROCMAP_QUERY.
var queryMapping = uintptr(0xC0686611)

func (m *mappings) query(p uintptr) (mapping, unix.Errno) {
	if !m.opened {
		m.opened = true
		m.file, _ = unix.Open(mappingsFile, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	q := procmapQuery{address: uint64(p)}
	q.size = uint64(unsafe.Sizeof(q))
	_, _, err := unix.RawSyscall(unix.SYS_IOCTL, uintptr(m.file), queryMapping, uintptr(unsafe.Pointer(&q)))
	return mapping{
		end: uintptr(q.end), file: q.inode != 0,
		read: q.flags&procmapReadable != 0, write: q.flags&procmapWritable != 0,
	}, err
}

// find returns the mapping of an address in a text of lines such as
// 7f2b5c000000-7f2b5c021000 rw-p 00000000 00:00 0 [heap].
func find(text string, p uintptr) (mapping, bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		if uint64(p) >= end {
			continue
		}
		return mapping{
			end: uintptr(end), file: fields[4] != "0",
			read: fields[1][0] == 'r', write: strings.HasPrefix(fields[1][1:], "w"),
		}, uint64(p) >= start
	}
	return mapping{}, false
}
