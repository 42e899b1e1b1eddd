package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/output"
)

// Debug logs every tensor that the pool gives out, misses, keeps or has no room for
// to standard error, one line each. It is set before the first tensor is made. The fast
// path logs nothing: it has to be off.
var Debug bool

func logTake(k key, e layout.Entry) {
	what := "hit"
	if e.Object == 0 {
		what = "miss"
	}
	logKeep(k, e, what)
}

func logKeep(k key, e layout.Entry, what string) {
	if Debug {
		output.Tell("tensor pool: %s: %d elements of %s on device %d, %#x", what, k.elements,
			dtypeNames[dtypeOf(k.kind)], deviceOf(k.kind), e.Object)
	}
}
