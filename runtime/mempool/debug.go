package mempool

import (
	"fmt"
	"os"
)

// Debug has every operation of a pool told on standard error, one line each. It is set
// before the first pool is made. The fast path tells nothing: it has to be off.
var Debug bool

// tell writes the line of an operation that has ended.
func tell(h Handle, err error, format string, args ...any) {
	if !Debug {
		return
	}
	outcome := "ok"
	if err != nil {
		outcome = err.Error()
	}
	fmt.Fprintf(os.Stderr, "tl_runtime: pool %#x: %s: %s\n", uintptr(h), fmt.Sprintf(format, args...), outcome)
}
