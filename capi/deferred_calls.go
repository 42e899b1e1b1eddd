package main

/*
#include <stdint.h>
uintptr_t tlc_deferred_copier(void);
*/
import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func defineDeferred(o *object.Context, description, list, out uintptr) status.Status {
	if !usable(description) || !usable(list) || !usable(out) {
		return fail(o, status.InvalidArgument, "description, list and out_type are all needed")
	}
	d := load[tl_type_desc](description)
	if d.Destructor != 0 {
		return fail(o, status.InvalidArgument, "destructor is %#x; objects on a list have none", d.Destructor)
	}
	if bytes := load[uintptr](list); bytes > d.Size {
		return fail(o, status.InvalidArgument, "%d bytes of each object are more than its %d", bytes, d.Size)
	}
	return defineDescribed(o, d, uintptr(C.tlc_deferred_copier()), list, out)
}
