// Package cshim is the fast path: the C that answers the common call on the
// shared layout and enters Go for everything else. It holds no policy. The slow
// path's functions are resolved when capi is linked.
package cshim

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../include
#cgo LDFLAGS: -lpthread
*/
import "C"
