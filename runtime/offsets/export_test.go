package offsets

import "time"

// SetClock replaces the clock until the function that it returns is called.
func SetClock(clock func() time.Time) (restore func()) {
	before := now
	now = clock
	return func() { now = before }
}
