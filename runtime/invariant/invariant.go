// Package invariant is what the checkers of the other packages share. A checker walks
// memory and recomputes what operations maintain; each thing that should hold is one Want.
//
// Checkers are called Check and are part of every build: tests call them. A build with
// -tags tlcheck runs them by itself while it works (runtime/consistency/calls_on.go).
package invariant

import (
	"errors"
	"fmt"
)

// most is how many violations are told: what follows from them is rarely new.
const most = 10

// Found are the violations that a checker has found. The zero value has none.
type Found struct{ errs []error }

// Want notes what is wrong unless it holds.
func (f *Found) Want(holds bool, format string, args ...any) {
	if !holds && len(f.errs) < most {
		f.errs = append(f.errs, fmt.Errorf(format, args...))
	}
}

// Err returns the violations as one error, nil when there are none.
func (f *Found) Err() error { return errors.Join(f.errs...) }
