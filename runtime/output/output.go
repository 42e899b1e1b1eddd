// Package output writes what the runtime tells people: files (traces, profiles, snapshots,
// reports) and lines on standard error. Nothing else in the library writes to descriptors.
//
// Processes share names: a child inherits the environment, and workers run the same code.
// A file belongs to the process that opened it first, for as long as it has it open. Others
// write files of their own beside it, named by their numbers, and what nobody writes any
// more is replaced. A process holds a file by a lock of the system, so that it is free when
// the process has ended, however.
//
// A file that is replaced stays as it was until the new one is complete: that is written
// under another name (replace.go).
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/memory"
)

// File is a file that no other process replaces. It has its name from Publish on; one that
// is closed before has changed nothing.
type File struct {
	name      string
	target    string // where the links of the name lead
	fd        int    // what is written
	held      int    // what had the name, locked; fd itself where that is written
	temporary string // the name of fd while it is another file than held
	made      bool   // the name was free
	stream    bool
}

// errHeld tells of a file that somebody else may be writing; errReplaced of one that is not
// the one that has the name any more.
var (
	errHeld     = errors.New("another process is writing it")
	errReplaced = errors.New("another process has replaced it")
)

// flock is the system's, which tests replace by one that has no locks.
var flock = syscall.Flock

const (
	mostNames    = 1000 // in the search for a free one: processes of several containers have the same number
	mostReplaced = 100  // times that a file is found replaced
)

// Create makes the file with a name, or one beside it: trace-1234.json for process 1234
// and trace.json, then trace-1234-2.json.
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

// hold makes a file this process's, unless it is held.
func hold(path string) (f *File, err error) {
	for range mostReplaced {
		if f, err = holdOnce(path); !errors.Is(err, errReplaced) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s: %w", path, errHeld)
}

func holdOnce(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	var info unix.Stat_t
	err = unix.Fstat(f.fd, &info)
	regular := info.Mode&unix.S_IFMT == unix.S_IFREG
	f.stream = f.stream || !regular // of a pipe or a terminal everybody may have a part
	if err == nil && f.stream {
		err = unix.SetNonblock(f.fd, false)
	} else if err == nil {
		if err = f.lock(&info); err == nil {
			err = f.begin(&info)
		}
	}
	if err != nil {
		closeFile(f.fd)
		return nil, err
	}
	return f, nil
}

// open opens a file for writing. It waits for nobody: a pipe that no process reads is an
// error (fifo(7)), where open would wait for a reader, and with it every other report of
// the process. A name like /dev/stderr stands for a descriptor, which goes on where it is.
func open(path string) (*File, error) {
	target, descriptor := follow(path)
	const flags, anybody = unix.O_WRONLY | unix.O_NONBLOCK, 0o666 // whom the umask lets
	if descriptor {
		fd, err := openFile(path, flags|unix.O_APPEND, 0)
		return &File{name: path, target: path, fd: fd, held: fd, stream: true}, err
	}
	fd, err := openFile(target, flags|unix.O_CREAT|unix.O_EXCL, anybody)
	made := err == nil
	if errors.Is(err, os.ErrExist) {
		fd, err = openFile(target, flags|unix.O_CREAT, anybody)
	}
	if errors.Is(err, syscall.ENXIO) && isPipe(path) {
		err = fmt.Errorf("%s is a pipe that no process reads: %w", path, err)
	}
	return &File{name: path, target: target, fd: fd, held: fd, made: made}, err
}

func openFile(path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := memory.AboveStandard(unix.Open(path, flags|unix.O_CLOEXEC, mode))
		if err == nil {
			return fd, nil
		}
		if err != syscall.EINTR {
			return -1, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// closeFile gives a descriptor up; what was written is told by Publish.
func closeFile(fd int) { _ = unix.Close(fd) }

// follow returns where the links of a name lead, and whether to a descriptor of a process:
// such a link of the system's is no name of the file that it leads to.
func follow(path string) (target string, descriptor bool) {
	const most = 40 // as the system
	for range most {
		to, err := os.Readlink(path)
		if err != nil {
			return path, false
		}
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return path, false
		}
		if strings.HasPrefix(folder, "/proc/") {
			return path, true
		}
		if !filepath.IsAbs(to) {
			to = folder + "/" + to
		}
		path = to
	}
	return path, false
}

func isPipe(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// lock takes the lock of an open file. Where the file system has no locks, a file that
// was there before counts as held: nobody can tell.
func (f *File) lock(info *unix.Stat_t) error {
	err := flock(f.fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && (!f.made || errors.Is(err, syscall.EWOULDBLOCK)) {
		return fmt.Errorf("%s: %w", f.name, errHeld)
	}
	if !hasName(f.target, info) {
		return fmt.Errorf("%s: %w", f.name, errReplaced)
	}
	return nil
}

func hasName(path string, info *unix.Stat_t) bool {
	var named unix.Stat_t
	return unix.Stat(path, &named) == nil && named.Dev == info.Dev && named.Ino == info.Ino
}

// Name returns the name of the file, once it is published.
func (f *File) Name() string { return f.name }

// Streams tells that the file is a pipe, a terminal or the like: what is written stays, and
// has no offset.
func (f *File) Streams() bool { return f.stream }

// Write appends.
func (f *File) Write(text []byte) (int, error) { return f.WriteAt(text, -1) }

// WriteAt writes at an offset.
func (f *File) WriteAt(text []byte, offset int64) (int, error) {
	n, err := System.Write(f.fd, text, offset)
	return n, f.problem("write", err)
}

// Truncate ends the file after so many bytes, of those that it has.
func (f *File) Truncate(size int64) error { return f.problem("truncate", unix.Ftruncate(f.fd, size)) }

func (f *File) problem(what string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: what, Path: f.name, Err: err}
}

// Close lets go of the file, also where a child of fork has it open. It removes one that
// was not published.
func (f *File) Close() {
	f.discard()
	if f.held != f.fd {
		f.letGo(f.held)
	}
	f.letGo(f.fd)
}

func (f *File) letGo(fd int) {
	_ = flock(fd, syscall.LOCK_UN) // nothing is held where there are no locks
	closeFile(fd)
}

var writing sync.Mutex // one file at a time is written at once

// Write makes a file and writes all of it. A failure leaves the one that was there before.
func Write(path string, content func(io.Writer) error) error {
	const part = 64 << 10
	writing.Lock()
	defer writing.Unlock()
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buffer := bufio.NewWriterSize(f, part)
	if err = content(buffer); err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = f.Publish()
	}
	return err
}

// WriteBytes is Write of bytes.
func WriteBytes(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteText is Write of a text.
func WriteText(path, text string) error { return WriteBytes(path, []byte(text)) }
