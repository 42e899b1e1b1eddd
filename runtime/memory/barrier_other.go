//go:build !linux

package memory

// Barrier is not there: cshim/entry_alone.c says so.
func Barrier() { panic("memory.Barrier on this system") }
