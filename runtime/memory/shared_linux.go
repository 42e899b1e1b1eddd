package memory

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

var pageSize = uintptr(os.Getpagesize())

// fixedSize are the seals that every file of ours has. A file that cannot shrink has a page behind each address of
// a mapping, so that no access ends in SIGBUS; F_SEAL_GROW keeps its size what it is. F_SEAL_SEAL is left out, since
// F_SEAL_FUTURE_WRITE may follow; seals are never taken off.
const fixedSize = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// readOnlySeals refuse every new mapping for writing.
const readOnlySeals = unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_WRITE

func newSharedFile(bytes uintptr) (int, error) {
	var most unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &most) == nil && most.Cur < uint64(bytes) {
		return -1, ErrFileSize // ftruncate would raise SIGXFSZ
	}
	file, err := memfd()
	if err != nil {
		return -1, err
	}
	if err = unix.Ftruncate(file, int64(bytes)); err == nil {
		_, err = unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, fixedSize)
	}
	if err != nil {
		CloseFile(file)
		return -1, refusal(err)
	}
	return file, nil
}

// memfd makes a file that programs cannot execute, where the kernel knows that (Linux 6.3).
func memfd() (int, error) {
	const name, flags = "tl_runtime", unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	file, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL {
		file, err = unix.MemfdCreate(name, flags)
	}
	file, err = AboveStandard(file, err)
	if err != nil {
		return -1, refusal(err)
	}
	return file, nil
}

// refusal sorts the kernel's answers into those of this package.
func refusal(err error) error {
	switch err {
	case unix.EMFILE, unix.ENFILE:
		return ErrNoDescriptor
	case unix.ENOMEM, unix.ENOSPC, unix.EFBIG, unix.EAGAIN:
		return ErrRefused
	}
	return fmt.Errorf("%w: %w", ErrNoSharing, err) // ENOSYS, or a sandbox that forbids it
}

// InspectShared tells what a descriptor is that somebody else may have made. The error says why it cannot be mapped
// safely. A seal that is found stays, so the answer holds for ever.
func InspectShared(file int) (SharedFile, error) {
	mode, err := unix.FcntlInt(uintptr(file), unix.F_GETFL, 0)
	if err != nil {
		return SharedFile{}, fmt.Errorf("%d is no open file descriptor", file)
	}
	seals, err := unix.FcntlInt(uintptr(file), unix.F_GET_SEALS, 0)
	if err != nil {
		return SharedFile{}, fmt.Errorf("descriptor %d is no memory file (memfd): a file of another kind could change its "+
			"size under a mapping", file)
	}
	if seals&unix.F_SEAL_SHRINK == 0 {
		return SharedFile{}, fmt.Errorf("the memory of descriptor %d is not sealed against shrinking (F_SEAL_SHRINK), so that "+
			"reading it could end this process", file)
	}
	var kind unix.Statfs_t
	var about unix.Stat_t
	if err = unix.Fstatfs(file, &kind); err == nil {
		err = unix.Fstat(file, &about)
	}
	if err != nil {
		return SharedFile{}, fmt.Errorf("descriptor %d: %w", file, err)
	}
	if int64(kind.Type) != unix.TMPFS_MAGIC || about.Mode&unix.S_IFMT != unix.S_IFREG {
		return SharedFile{}, fmt.Errorf("descriptor %d is memory of huge pages, whose first use could end this process",
			file)
	}
	access := mode & unix.O_ACCMODE
	if access == unix.O_WRONLY {
		return SharedFile{}, fmt.Errorf("descriptor %d cannot be read", file)
	}
	return SharedFile{uint64(about.Size), seals&readOnlySeals != 0 || access == unix.O_RDONLY}, nil
}

// SealReadOnly lets nobody map a file for writing any more. Mappings that exist stay as they are.
func SealReadOnly(file int) error {
	_, err := unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE)
	if err != nil {
		return fmt.Errorf("the kernel does not make it read-only (F_SEAL_FUTURE_WRITE, since Linux 5.1): %w", err)
	}
	return nil
}

// DuplicateFile returns another descriptor of a file, which programs started later do not get.
func DuplicateFile(file int) (int, error) {
	if !allowed() {
		return -1, ErrNoDescriptor
	}
	other, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, layout.FirstDescriptor)
	if err != nil {
		return -1, refusal(err)
	}
	return other, nil
}

// CloseFile closes a descriptor.
func CloseFile(file int) { _ = unix.Close(file) } // memory files have nothing to write back

func mapFile(file int, from uint64, bytes uintptr, write bool) (uintptr, error) {
	protection := unix.PROT_READ
	if write {
		protection |= unix.PROT_WRITE
	}
	p, err := unix.MmapPtr(file, int64(from), nil, bytes, protection, unix.MAP_SHARED)
	if err != nil {
		return 0, refusal(err)
	}
	return layout.Address((*byte)(p)), nil
}

func unmapFile(addr, bytes uintptr) {
	// Refused only for a range that is not mapped, which callers never pass.
	_ = unix.MunmapPtr(unsafe.Pointer(layout.At[byte](addr)), bytes)
}
