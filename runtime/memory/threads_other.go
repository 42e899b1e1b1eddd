//go:build !linux

package memory

// StandsStill is not there.
func StandsStill(uint32, func()) bool { return false }
