// Package cshim is the fast path: the C that answers the common call on the
// shared layout and enters Go for everything else. It holds no policy. The slow
// path's functions are resolved when capi is linked. The rooms below it are in an
// order that tests_go/architecture holds; here are the calls that tools/gen writes.
package cshim

/*
#cgo CFLAGS: -std=gnu11 -Wall -Wextra -fvisibility=hidden -fexceptions -fno-plt -I${SRCDIR}/../include
#cgo full CFLAGS: -DTL_FULL
#cgo LDFLAGS: -lpthread
*/
import "C"

import (
	_ "tlruntime/cshim/base"
	_ "tlruntime/cshim/guard"
	_ "tlruntime/cshim/host"
	_ "tlruntime/cshim/object"
	_ "tlruntime/cshim/pools"
	_ "tlruntime/cshim/python"
	_ "tlruntime/cshim/report"
	_ "tlruntime/cshim/stacks"
	_ "tlruntime/cshim/tensor"
)
