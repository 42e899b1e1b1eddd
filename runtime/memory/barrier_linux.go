package memory

import (
	"time"

	"golang.org/x/sys/unix"
)

const privateExpedited = 1 << 3 // of linux/membarrier.h

// Barrier has every thread of the process pass a memory barrier before it returns. The process has registered for it
// (cshim/host/alone.c). A kernel that refuses now has got a filter since, and no other way is as certain. Then a pause
// gives every processor time to write its store buffer, which takes it less than a microsecond.
func Barrier() {
	if _, _, err := unix.Syscall(unix.SYS_MEMBARRIER, privateExpedited, 0, 0); err != 0 {
		time.Sleep(time.Millisecond)
	}
}
