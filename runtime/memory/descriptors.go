package memory

import (
	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// AboveStandard takes the answer of a call that makes a descriptor. Where a program has closed standard input, output or
// error the descriptor may stand in its place; then this returns a copy that does not, and closes it
// (cshim/entry_descriptors.c).
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
