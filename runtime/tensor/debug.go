package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/output"
)

// Debug logs every tensor that a cache gives out, misses, keeps or has no room for
// to standard error, one line each. It is set before the first tensor is made.
var Debug bool

func log(k key, e layout.Entry, what string) {
	if Debug {
		output.Tell("tensor pool: %s: %d elements of %s on device %d, %#x", what, k.elements, k.dtype,
			k.device, e.Object)
	}
}
