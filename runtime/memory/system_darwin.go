//go:build !race

package memory

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// adviseHuge does nothing: the system decides alone.
func adviseHuge(uintptr, uintptr) {}

// A core has what was touched.
func undump(uintptr, uintptr) {}
func dump(uintptr, uintptr)   {}

// purge puts new pages in their place: advice leaves it to the system whether a page reads as zero.
func purge(addr, bytes uintptr) bool {
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(layout.At[byte](addr)), bytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE|unix.MAP_FIXED)
	return err == nil
}

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

func remap(addr, bytes, used, to uintptr) (uintptr, error) { return remapByCopy(addr, bytes, used, to) }
