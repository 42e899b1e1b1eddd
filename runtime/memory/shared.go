package memory

import "errors"

// Memory that several processes map is a file without a name (memfd) that can neither shrink nor grow. It lasts as
// long as a process has a descriptor or a mapping of it, so the kernel frees what a killed process leaves.

// What stands between a process and shared memory, beside ErrRefused.
var (
	ErrNoDescriptor = errors.New("the process, or the system, has no file descriptor left (RLIMIT_NOFILE, fs.file-max)")
	ErrNoSharing    = errors.New("the system makes no memory that processes share")
	ErrFileSize     = errors.New("RLIMIT_FSIZE allows no file of this size")
)

// SharedFile is what the kernel says of a descriptor that somebody has sent.
type SharedFile struct {
	Bytes    uint64
	ReadOnly bool // nobody maps it for writing any more, or this descriptor cannot
}

// NewShared makes shared memory of so many bytes, in whole pages of zeros, and maps it. The file is the caller's.
func NewShared(bytes uintptr, purpose string) (file int, addr uintptr, err error) {
	if !allowed() {
		return -1, 0, ErrRefused
	}
	if file, err = newSharedFile(SharedPages(bytes)); err != nil {
		return -1, 0, err
	}
	if addr, err = MapShared(file, 0, bytes, true, purpose); err != nil {
		CloseFile(file)
		return -1, 0, err
	}
	return file, addr, nil
}

// EmptyShared makes shared memory of no bytes: what stands for a tensor without elements.
func EmptyShared() (file int, err error) {
	if !allowed() {
		return -1, ErrRefused
	}
	return newSharedFile(0)
}

// MapShared maps a part of a file that InspectShared has accepted. The part begins with a page.
func MapShared(file int, from uint64, bytes uintptr, write bool, purpose string) (uintptr, error) {
	if !allowed() {
		return 0, ErrRefused
	}
	bytes = SharedPages(bytes)
	addr, err := mapFile(file, from, bytes, write)
	if err == nil {
		enter(addr, bytes, purpose)
	}
	return addr, err
}

// UnmapShared gives up a mapping of NewShared or MapShared.
func UnmapShared(addr, bytes uintptr, purpose string) {
	calls.Add(1)
	bytes = SharedPages(bytes)
	leave(addr, bytes, purpose) // first: then it is anybody's
	unmapFile(addr, bytes)
}

// SharedPages rounds up to whole pages of the system.
func SharedPages(bytes uintptr) uintptr { return Round(bytes, pageSize) }

// SharedPage returns where the page begins that has a byte of a file.
func SharedPage(at uint64) uint64 { return at &^ uint64(pageSize-1) }
