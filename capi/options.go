package main

import (
	"sync/atomic"

	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// onErrorAction masks the action in layout.Globals.OnError; the bit above it
// tells of the callback.
const onErrorAction = 3

func setOnError(action string) {
	wanted := map[string]uint32{"ignore": 0, "log": 1, "abort": 2}[action]
	word := &object.Globals().OnError
	for {
		old := atomic.LoadUint32(word)
		if atomic.CompareAndSwapUint32(word, old, old&^onErrorAction|wanted) {
			return
		}
	}
}

// configure sets the option that the caller's strings name, after the first use.
func configure(o *object.Context, key, value uintptr) status.Status {
	name, named := text(key)
	wanted, given := text(value)
	if !named || !given {
		return fail(o, status.InvalidArgument, "key and value are both needed")
	}
	fixed, err := options.Check(name, wanted)
	if err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	if fixed {
		return fail(o, status.Busy, "%s is fixed by the first use of the library; set it before", name)
	}
	before := options.Word(name)
	if err := options.Set(name, wanted, "tl_configure"); err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	switch name {
	case "TL_ON_ERROR":
		setOnError(wanted)
	case "TL_DEVICE":
		tellDefaultDevice()
	case "TL_LEAK_CHECK":
		setLeakCheck(wanted)
	case "TL_FAIL_MEMORY":
		memory.FailAfter(options.Count(name))
	}
	st := configureLimits(o, name)
	if st == status.OK {
		st = configureTracking(o, name)
	}
	if st != status.OK {
		_ = options.Set(name, before, "tl_configure") // it was a value before
	}
	return st
}
