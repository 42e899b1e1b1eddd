// Package content reads files that a graph lies in, whoever wrote them: what is no file is
// refused, and so is what the system has no memory for.
package content

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Room tells whether the system would give so many more bytes. Go ends the process when it gets
// none, so it is asked before. nil: there is room for everything.
type Room func(bytes uint64) bool

// MemoryError is what there is no room for.
type MemoryError struct {
	What  string
	Bytes int64
}

// Error returns the whole sentence.
func (e *MemoryError) Error() string {
	return fmt.Sprintf("the system refuses the memory for %s of %d bytes", e.What, e.Bytes)
}

// Take returns a *MemoryError when there is no room for something of so many bytes, which takes
// need bytes.
func (r Room) Take(what string, bytes int64, need uint64) error {
	if r == nil || r(need) {
		return nil
	}
	return &MemoryError{what, bytes}
}

// Open opens a file. A pipe would have the caller wait for its writer, and a device has no end.
func Open(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	about, err := f.Stat()
	if err == nil && !about.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file with content (%v); copy what it holds into one", path, about.Mode().Type())
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, about.Size(), nil
}

// inMemory is how often a graph is in memory while it is read: as content, as messages and as
// tensors.
const inMemory = 3

// Read returns what is in the file of a graph.
func Read(path string, room Room) ([]byte, error) {
	f, bytes, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := room.Take("a graph", bytes, inMemory*uint64(bytes)); err != nil {
		return nil, err
	}
	data := make([]byte, bytes)
	_, err = io.ReadFull(f, data)
	return data, err
}
