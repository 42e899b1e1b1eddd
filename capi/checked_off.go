//go:build !tlcheck

package main

import "tlruntime/runtime/object"

// Nothing is checked; build with -tags tlcheck for the checkers while the library works.

func entered() {}

func left(*object.Context) {}

func reportDefect(any) {}
