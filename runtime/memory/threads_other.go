//go:build !linux

package memory

// StandsStill is not there.
func StandsStill(uint32, func()) bool { return false }

// BlocksSignals is not known.
func BlocksSignals(uint32) bool { return true }
