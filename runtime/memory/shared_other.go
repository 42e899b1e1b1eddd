//go:build !linux

package memory

import "os"

var pageSize = uintptr(os.Getpagesize())

func newSharedFile(uintptr) (int, error)                  { return -1, ErrNoSharing }
func unmapFile(uintptr, uintptr)                          {}
func mapFile(int, uint64, uintptr, bool) (uintptr, error) { return 0, ErrNoSharing }

// InspectShared refuses every descriptor: only Linux seals memory.
func InspectShared(int) (SharedFile, error) { return SharedFile{}, ErrNoSharing }

// SealReadOnly is not there.
func SealReadOnly(int) error { return ErrNoSharing }

// DuplicateFile is not there.
func DuplicateFile(int) (int, error) { return -1, ErrNoSharing }

// CloseFile is not there.
func CloseFile(int) {}
