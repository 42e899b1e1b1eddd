//go:build !linux

package memory

// Barrier is not there: cshim/host/alone.c says so.
func Barrier() { panic("memory.Barrier on this system") }
