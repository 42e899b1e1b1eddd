package mempool

import (
	"fmt"

	"tlruntime/runtime/output"
)

// Debug logs every operation of a pool to standard error, one line each. It is set
// before the first pool is made. The fast path logs nothing: it has to be off.
var Debug bool

// logCall writes the line of an operation that has ended.
func logCall(h Handle, err error, format string, args ...any) {
	if !Debug {
		return
	}
	outcome := "ok"
	if err != nil {
		outcome = err.Error()
	}
	output.Tell("pool %#x: %s: %s", uintptr(h), fmt.Sprintf(format, args...), outcome)
}
