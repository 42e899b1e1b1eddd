package memory

import (
	"time"

	"golang.org/x/sys/unix"
)

// Of linux/membarrier.h.
const barrierPrivateExpedited, barrierRegisterPrivateExpedited = 1 << 3, 1 << 4

// Barrier has every thread of the process pass a memory barrier before it returns. The process has registered for it
// (cshim/entry_alone.c). A kernel that refuses now, by a filter that was installed since, gets no second way that is as
// certain: then a pause gives every processor time to write its store buffer, which takes it less than a microsecond.
func Barrier() {
	if !membarrier(barrierPrivateExpedited) &&
		!(membarrier(barrierRegisterPrivateExpedited) && membarrier(barrierPrivateExpedited)) {
		time.Sleep(time.Millisecond)
	}
}

func membarrier(command uintptr) bool {
	_, _, err := unix.Syscall(unix.SYS_MEMBARRIER, command, 0, 0)
	return err == 0
}
