package memory

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	futexWait = 0 | 128 // FUTEX_WAIT, FUTEX_PRIVATE_FLAG
	futexWake = 1 | 128
)

// WaitWhileZero returns when the word is not zero.
func WaitWhileZero(word *uint32) {
	for atomic.LoadUint32(word) == 0 {
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, 0, 0, 0, 0)
	}
}

// Wake wakes who waits for a change of the word.
func Wake(word *uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1, 0, 0, 0)
}
