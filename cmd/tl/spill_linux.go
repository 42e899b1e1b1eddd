package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve has the disk keep room for the first bytes of a file, its holes, too.
func reserve(f *os.File, bytes int64) error {
	for bytes > 0 {
		err := unix.Fallocate(int(f.Fd()), 0, 0, bytes)
		switch {
		case errors.Is(err, unix.EOPNOTSUPP):
			return zero(f, bytes)
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}
