package output

import (
	"fmt"
	"syscall"
)

// System is how bytes reach descriptors. The library puts functions of C here, which keep
// signals from the program (cshim/host/output.c); a program that is not the library
// writes as usual.
var System = struct {
	Tell  func(text []byte)                                      // to standard error
	Write func(file int, text []byte, offset int64) (int, error) // offset -1: where the descriptor is
}{
	Tell:  func(text []byte) { _, _ = write(syscall.Stderr, text, -1) }, // nobody could be told
	Write: write,
}

// Tell writes a line to standard error.
func Tell(format string, args ...any) { TellText(fmt.Sprintf("tl_runtime: "+format+"\n", args...)) }

// TellText writes whole lines to standard error.
func TellText(text string) {
	if text != "" {
		System.Tell([]byte(text))
	}
}

func write(file int, text []byte, offset int64) (done int, err error) {
	for done < len(text) {
		var n int
		if offset < 0 {
			n, err = syscall.Write(file, text[done:])
		} else {
			n, err = syscall.Pwrite(file, text[done:], offset+int64(done))
		}
		if err != nil && err != syscall.EINTR {
			return done, err
		}
		done += max(n, 0)
	}
	return done, nil
}
