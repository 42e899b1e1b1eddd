// Package sealed tells files of the cache that are as they were written from those that were
// cut or changed: a full disk, a crash and a copy that broke off leave files that a later run
// must not map. A sealed file ends with a checksum of what comes before, which loaders of
// programs and shared objects pass over.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"syscall"
)

// mark stands before the checksum.
var mark = []byte("\nsealed by tl\n")

// Seal ends a file with its checksum, and takes the rights of others from it.
func Seal(path string) error {
	sum, err := sumOf(path, -1)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(append(bytes.Clone(mark), sum...))
	if err == nil {
		err = file.Chmod(0o700)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// WhyNotOurs tells why what is in a file or folder may be somebody else's; "" where it is this user's
// or root's alone.
func WhyNotOurs(about os.FileInfo) string {
	status := about.Sys().(*syscall.Stat_t)
	if status.Uid != 0 && int(status.Uid) != os.Geteuid() {
		return fmt.Sprintf("belongs to user %d", status.Uid)
	}
	if mode := status.Mode & 0o7777; mode&0o022 != 0 {
		return fmt.Sprintf("may be written by others (mode %04o)", mode)
	}
	return ""
}

// IsWhole tells whether a file is there as it was sealed, and nobody else may have written it.
func IsWhole(path string) bool {
	about, err := os.Stat(path)
	body := int64(0)
	if err == nil {
		body = about.Size() - int64(len(mark)) - sha256.Size
	}
	if body < 0 || err != nil || WhyNotOurs(about) != "" {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	end := make([]byte, len(mark)+sha256.Size)
	if _, err := file.ReadAt(end, body); err != nil {
		return false
	}
	sum, err := sumOf(path, body)
	return err == nil && bytes.Equal(end, append(bytes.Clone(mark), sum...))
}

// sumOf returns the checksum of the first n bytes of a file, of all for -1.
func sumOf(path string, n int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var from io.Reader = file
	if n >= 0 {
		from = io.LimitReader(file, n)
	}
	sum := sha256.New()
	_, err = io.Copy(sum, from)
	return sum.Sum(nil), err
}
