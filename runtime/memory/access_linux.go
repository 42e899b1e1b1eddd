package memory

import (
	"os"
	"sort"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How many pages are asked about one by one: up to fewPages that costs less than a look
// at the list of mappings, up to manyPages less than reading all of it.
const (
	fewPages  = 8
	manyPages = 256
)

// usable returns the end of a range, or where in it a page is that cannot be used. What the list of mappings does not show to be usable is asked page by page: a
// list that is hidden, or changes while it is read, refuses nothing.
func (m *mappings) usable(r Range) uintptr {
	at, end := r.Start, r.end()
	if r.Bytes > fewPages*PageBytes {
		if end := mapped(r); end < r.end() {
			return end
		}
		at = m.permitted(r)
	}
	for ; at < end; at = (at + PageBytes) &^ (PageBytes - 1) {
		if !pageUsable(at, r.Write) {
			return at
		}
	}
	return end
}

// mapped returns the end of a range, or of its first pages that are mapped. msync looks
// at nothing else when it need not wait, whatever the length.
func mapped(r Range) uintptr {
	page := uintptr(os.Getpagesize())
	start := r.Start &^ (page - 1)
	hole := func(bytes uintptr) bool {
		_, _, err := unix.RawSyscall(unix.SYS_MSYNC, start, bytes, unix.MS_ASYNC)
		return err == unix.ENOMEM
	}
	if !hole(r.end() - start) {
		return r.end()
	}
	pages := sort.Search(int((r.end()-start)/page), func(i int) bool { return hole(uintptr(i+1) * page) })
	return max(r.Start, start+uintptr(pages)*page)
}

// Of linux/futex.h.
const (
	futexCmpRequeue = 4 | futexPrivate
	futexWakeOp     = 5 | futexPrivate
	futexPrivate    = 128
	futexOrNothing  = 2<<28 | 0x800 // word |= 0, and who waits is woken if it is -2048
)

// nobodyWaits is a word that no thread waits at.
var nobodyWaits uint32

// pageUsable has the kernel read the word at an address, or write there atomically what
// it reads, as operations on futexes do that move and wake nobody. They answer EFAULT
// where the program would fault.
func pageUsable(p uintptr, write bool) bool {
	p &^= 3
	own := uintptr(unsafe.Pointer(&nobodyWaits))
	var err unix.Errno
	if write {
		_, _, err = unix.RawSyscall6(unix.SYS_FUTEX, own, futexWakeOp, 0, 0, p, futexOrNothing)
	} else {
		_, _, err = unix.RawSyscall6(unix.SYS_FUTEX, p, futexCmpRequeue, 0, 0, own, 0)
	}
	return err != unix.EFAULT
}
