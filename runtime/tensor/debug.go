package tensor

import (
	"fmt"
	"os"

	"tlruntime/runtime/layout"
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
		fmt.Fprintf(os.Stderr, "tl_runtime: tensor pool: %s: %d elements of %s on device %d, %#x\n", what, k.elements,
			dtypeNames[dtypeOf(k.kind)], deviceOf(k.kind), e.Object)
	}
}
