//go:build !linux

package plans

import "time"

// threadTime is the time of day where there is no other clock.
func threadTime() time.Time { return time.Now() }
