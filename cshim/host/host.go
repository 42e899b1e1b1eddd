// Package host is how the library lives in a process: Go's start, its threads, memory, stacks and signals, the
// environment, descriptors, the program's malloc, and output.
package host

// A library that memcheck looks at keeps no call stacks: memcheck would report the words of the stack that are compared
// before anybody has written to them.

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
#cgo valgrind CFLAGS: -DTLC_MEMCHECK
*/
import "C"
