//go:build !linux

package main

import "os"

// reserve has the disk keep room for the first bytes of a file, its holes, too.
func reserve(f *os.File, bytes int64) error { return zero(f, bytes) }
