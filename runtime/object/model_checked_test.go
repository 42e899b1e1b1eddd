//go:build tlcheck

package object_test

import (
	"time"

	"tlruntime/runtime/object"
)

// perCall is how much checking a call of a sequence pays for.
const perCall = 20 * time.Microsecond

var callsMade, checkDue int64

// checkBooks runs the checkers between the calls of a sequence, too.
func checkBooks() {
	if callsMade++; callsMade < checkDue {
		return
	}
	began := time.Now()
	if err := object.Check(nil); err != nil {
		panic(err)
	}
	checkDue = callsMade + int64(time.Since(began)/perCall)
}
