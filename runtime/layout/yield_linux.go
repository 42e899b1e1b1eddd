package layout

import "syscall"

// yieldThread lets another thread of the machine run. Raw: the caller is about
// to try again, so telling Go's scheduler would cost more than it gives.
func yieldThread() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
