package plans

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long the processor has worked for this thread.
func threadTime() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return time.Now()
	}
	return time.Unix(t.Unix())
}
