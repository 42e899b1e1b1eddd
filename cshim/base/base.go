// Package base is what every other room of cshim includes: the layout that both languages read and write, locks, the Go
// functions that C calls, and the probes. It calls no function of the other rooms, and none of Go's.
package base

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
