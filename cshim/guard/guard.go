// Package guard is the way into Go and out of it, and what a call finds there: the thread's context, its last
// error, the registry and the memory of the host as the fast path sees them.
package guard

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../../include
*/
import "C"
