//go:build !tlcheck

package consistency

import "tlruntime/runtime/object"

// Nothing is checked; build with -tags tlcheck for the checkers while the library works.

// Entered is told that a call has entered Go.
func Entered() {}

// Left is told that a call is about to leave Go.
func Left(*object.Context) {}

// ReportDefect is told of a panic that is contained.
func ReportDefect(any) {}
