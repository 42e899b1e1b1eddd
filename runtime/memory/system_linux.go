//go:build !race

package memory

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// adviseHuge asks for huge pages. A kernel without them refuses, and ordinary pages
// serve as well.
func adviseHuge(addr, bytes uintptr) {
	_ = unix.Madvise(layout.Bytes(addr, uint64(bytes)), unix.MADV_HUGEPAGE)
}

func undump(addr, bytes uintptr) { advise(addr, bytes, unix.MADV_DONTDUMP) }
func dump(addr, bytes uintptr)   { advise(addr, bytes, unix.MADV_DODUMP) }

func advise(addr, bytes uintptr, advice int) {
	calls.Add(1)
	_ = unix.Madvise(layout.Bytes(addr, uint64(bytes)), advice)
}

// purge gives pages back. Those that the program keeps in memory (mlock) need to be named so, which Linux 5.18 knows;
// pages that are touched later are kept in memory again.
func purge(addr, bytes uintptr) bool {
	pages := layout.Bytes(addr, uint64(bytes))
	err := unix.Madvise(pages, unix.MADV_DONTNEED)
	if err == unix.EINVAL {
		err = unix.Madvise(pages, unix.MADV_DONTNEED_LOCKED)
	}
	return err == nil
}

// Resident returns the resident bytes of the process, 0 when unknown.
func Resident() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}

// Physical returns the machine's memory in bytes, 0 when unknown.
func Physical() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}

// Available returns the bytes that programs can get without paging, 0 when unknown.
func Available() uint64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseUint(fields[0], 10, 64)
	return kilobytes << 10
}

func remap(addr, bytes, used, to uintptr) (uintptr, error) {
	at, _, errno := unix.Syscall6(unix.SYS_MREMAP, addr, bytes, to, unix.MREMAP_MAYMOVE, 0, 0)
	switch errno {
	case 0:
		return at, nil
	case unix.EFAULT: // a program has given a part of it another protection or advice
		return remapByCopy(addr, bytes, used, to)
	}
	return 0, ErrRefused
}
