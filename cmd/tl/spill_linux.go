package main

import (
	"errors"
	"os"
	"syscall"
)

// reserve has the disk keep room for the first bytes of a file, its holes, too.
func reserve(f *os.File, bytes int64) error {
	for bytes > 0 {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, bytes)
		switch {
		case errors.Is(err, syscall.EOPNOTSUPP):
			return zero(f, bytes)
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}
