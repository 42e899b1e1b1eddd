package memory

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"

	"tlruntime/runtime/layout"
)

// StandsStill calls look, and tells whether the thread with a number has executed nothing meanwhile and sleeps in
// a system call. A thread that runs and then sleeps has been switched out once more. So it did not run if it
// sleeps afterwards and the count of switches is that from before. What the thread wrote before is certain to be seen
// once look has passed a memory barrier of all threads. The file `syscall` shows a call if the thread
// is off its processor; a page fault has the number -1. Nothing is known where the files are hidden, and where
// standard descriptors are closed, since the program may be about to open files in their place.
func StandsStill(thread uint32, look func()) bool {
	for standard := range uintptr(layout.FirstDescriptor) {
		if _, err := unix.FcntlInt(standard, unix.F_GETFD, 0); err != nil {
			return false
		}
	}
	before := switchesOf(thread)
	if before == nil {
		return false
	}
	look()
	call := taskFile(thread, "syscall")
	return len(call) > 0 && '0' <= call[0] && call[0] <= '9' && bytes.Equal(switchesOf(thread), before)
}

// switchesOf returns how often a thread was switched out, of its own will and not, as text; nil when it is not known.
func switchesOf(thread uint32) []byte {
	text := taskFile(thread, "status")
	at := bytes.Index(text, []byte("voluntary_ctxt_switches"))
	if at < 0 {
		return nil
	}
	return text[at:]
}

// taskFile returns what a file says about a thread, by system calls that docs/threads-and-fork.md lists.
func taskFile(thread uint32, name string) []byte {
	path := "/proc/self/task/" + strconv.FormatUint(uint64(thread), 10) + "/" + name
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(file)
	text := make([]byte, 16<<10)
	n, err := unix.Read(file, text)
	if err != nil {
		return nil
	}
	return text[:n]
}
