//go:build full

package main

import (
	"unsafe"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// addressList is an array of addresses, or of handles, that a caller passes.
type addressList struct{ at, n uintptr }

// entry is an address in it.
func (l addressList) entry(i int) uintptr {
	return load[uintptr](l.at + uintptr(i)*unsafe.Sizeof(l.at))
}

// check refuses an array that is none, or too long.
func (l addressList) check(o *object.Context, what string) status.Status {
	if l.n > mostArguments || l.n > 0 && !usable(l.at) {
		return fail(o, status.InvalidArgument, "an array of %d %s is needed, of up to %d; %#x is none", l.n, what,
			mostArguments, l.at)
	}
	return status.OK
}
