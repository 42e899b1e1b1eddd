package memory

import (
	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// AboveStandard takes what a call that makes a descriptor has returned. A descriptor that became
// standard input, output or error, which the program had closed, is replaced by a copy with a higher
// number (cshim/host/descriptors.c).
func AboveStandard(file int, err error) (int, error) {
	if err != nil || file < 0 || file >= layout.FirstDescriptor {
		return file, err
	}
	other, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, layout.FirstDescriptor)
	_ = unix.Close(file)
	if err != nil {
		return -1, err
	}
	return other, nil
}
