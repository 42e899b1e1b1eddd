// Package output makes the files that the runtime writes for people: traces, profiles,
// snapshots, reports. Processes share names: a child inherits the environment, and workers
// run the same code. A file belongs to the process that opened it first, for as long as
// it has it open. Others write files of their own beside it, named by their numbers, and
// what nobody writes any more is replaced. A process holds a file by a lock of the system,
// so that it is free when the process has ended, however.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// File is a file that no other process replaces.
type File struct{ *os.File }

// errHeld tells of a file that somebody else may be writing.
var errHeld = errors.New("another process is writing it")

// flock is the system's, which tests replace by one that has no locks.
var flock = syscall.Flock

// mostNames bounds the search for a free name. Processes of several containers have the
// same number.
const mostNames = 1000

// Create makes the file with a name, or one beside it: trace-1234.json for process 1234
// and trace.json, then trace-1234-2.json. Close lets go of it.
func Create(path string) (*File, error) {
	f, err := hold(path)
	for n := 1; errors.Is(err, errHeld) && n < mostNames; n++ {
		f, err = hold(Beside(path, n))
	}
	return f, err
}

// Beside returns the nth name that this process gives to a file beside path.
func Beside(path string, n int) string {
	folder, name := filepath.Split(path)
	stem, rest := name, ""
	if dot := strings.Index(name, "."); dot > 0 {
		stem, rest = name[:dot], name[dot:]
	}
	own := fmt.Sprintf("%s-%d", stem, os.Getpid())
	if n > 1 {
		own = fmt.Sprintf("%s-%d", own, n)
	}
	return folder + own + rest
}

// hold makes a file empty and this process's, unless it is held.
func hold(path string) (*File, error) {
	f, made, err := open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() { // of a pipe or a terminal everybody may have a part
		err = lock(f, path, info, made)
	}
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{f}, nil
}

// open opens a file for writing, and tells whether it was not there before. It waits for
// nobody: a pipe that no process reads is an error (fifo(7)), where open would wait for a
// reader, and with it every other report of the process.
func open(path string) (f *os.File, made bool, err error) {
	const flags = os.O_WRONLY | os.O_CREATE | syscall.O_NONBLOCK
	f, err = os.OpenFile(path, flags|os.O_EXCL, 0o666)
	if !errors.Is(err, os.ErrExist) {
		return f, err == nil, err
	}
	f, err = os.OpenFile(path, flags, 0o666)
	if errors.Is(err, syscall.ENXIO) && isPipe(path) {
		err = fmt.Errorf("%s is a pipe that no process reads: %w", path, err)
	}
	return f, false, err
}

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// lock takes the lock of an open file. Where the file system has no locks, a file that
// was there before counts as held: nobody can tell.
func lock(f *os.File, path string, info os.FileInfo, made bool) error {
	err := flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && (!made || errors.Is(err, syscall.EWOULDBLOCK)) {
		return fmt.Errorf("%s: %w", path, errHeld)
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(named, info) {
		return fmt.Errorf("%s: %w", path, errHeld) // removed or replaced since it was opened
	}
	return nil
}

// Close closes the file and lets go of it, also where a child of fork has it open.
func (f *File) Close() error {
	_ = flock(int(f.Fd()), syscall.LOCK_UN) // nothing is held where there are no locks
	return f.File.Close()
}

var writing sync.Mutex // one file at a time is written at once

// Write makes a file and writes all of it.
func Write(path string, content func(io.Writer) error) error {
	writing.Lock()
	defer writing.Unlock()
	f, err := Create(path)
	if err != nil {
		return err
	}
	err = content(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// WriteText is Write of a text.
func WriteText(path, text string) error {
	return Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
