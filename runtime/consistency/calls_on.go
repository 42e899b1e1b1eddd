//go:build tlcheck

package consistency

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// The checked build verifies the runtime's books when a call leaves Go, and ends the
// process at the first thing that does not hold. So that nothing moves meanwhile, the
// checkers run while no other call is in Go. The fast path of other threads goes on: what
// it touches without a lock is verified while no other thread has a context.

// Each call pays for a fixed amount of checking: a check that takes a hundred
// times as long runs once in a hundred calls. A process that makes very many
// calls checks more rarely.
const (
	atFirst = 20 * time.Microsecond
	later   = time.Microsecond
	many    = 200_000
)

// exitStatus tells a process that the checkers have ended.
const exitStatus = 97

var (
	inside atomic.Int64 // calls that are in Go; -1 while the checkers run
	calls  atomic.Int64
	due    atomic.Int64 // the number of the call after which they run
)

// Entered is told that a call has entered Go.
func Entered() {
	for {
		if n := inside.Load(); n >= 0 && inside.CompareAndSwap(n, n+1) {
			return
		}
		runtime.Gosched()
	}
}

// Left is told that a call is about to leave Go.
func Left(c *object.Context) {
	if n := calls.Add(1); c == nil || n < due.Load() || !inside.CompareAndSwap(1, -1) {
		inside.Add(-1)
		return
	}
	began := time.Now()
	err := check(c)
	perCall := atFirst
	if calls.Load() > many {
		perCall = later
	}
	due.Store(calls.Load() + int64(time.Since(began)/perCall))
	inside.Store(0)
	if err != nil {
		end("after "+status.Function(c.Error.Function), err)
	}
}

func check(c *object.Context) error {
	if object.Alone(c) && c.Draining.Active == 0 {
		return Check()
	}
	return CheckBeside(c)
}

// ReportDefect ends the process where other builds contain a panic.
func ReportDefect(cause any) { end("a panic", fmt.Errorf("%v\n%s", cause, debug.Stack())) }

func end(when string, err error) {
	output.Tell("tlcheck: %s: %v", when, err)
	os.Exit(exitStatus)
}
