//go:build !race

package memory

import (
	"os"

	"golang.org/x/sys/unix"
)

// adviseHuge does nothing: the system decides alone.
func adviseHuge(uintptr, uintptr) {}

// A core has what was touched.
func undump(uintptr, uintptr) {}
func dump(uintptr, uintptr)   {}

// Resident is unknown here.
func Resident() uint64 { return 0 }

// Physical returns the machine's memory in bytes, 0 when unknown.
func Physical() uint64 {
	bytes, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return bytes
}

// Available returns the free pages' bytes, 0 when unknown.
func Available() uint64 {
	pages, err := unix.SysctlUint32("vm.page_free_count")
	if err != nil {
		return 0
	}
	return uint64(pages) * uint64(os.Getpagesize())
}
