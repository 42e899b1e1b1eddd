//go:build valgrind

package cshim

// A library that memcheck looks at keeps no call stacks (report_stacks.c): memcheck would report the
// words of the stack that are compared before anybody has written to them.

// #cgo CFLAGS: -DTLC_MEMCHECK
import "C"
