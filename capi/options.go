package main

import (
	"strings"
	"sync/atomic"

	"tlruntime/runtime/config"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// onErrorAction masks the action in layout.Globals.OnError; the bit between is
// set while there is a callback.
const onErrorAction = 11

func setOnError(action string) {
	wanted := map[string]uint32{"ignore": 0, "log": 1, "abort": 2, "fail": 9}[action]
	word := &object.Globals().OnError
	for {
		old := atomic.LoadUint32(word)
		if atomic.CompareAndSwapUint32(word, old, old&^onErrorAction|wanted) {
			return
		}
	}
}

// publishFlag copies the value of a flag to the shim.
func publishFlag(word *uint32, name string) {
	flag := uint32(0)
	if options.Flag(name) {
		flag = 1
	}
	atomic.StoreUint32(word, flag)
}

// publishFlags does this for the flags that may change.
func publishFlags() {
	publishFlag(&object.Globals().ShowStats, "TL_SHOW_STATS")
	publishFlag(&object.Globals().MemLog, "TL_MEM_LOG")
}

// configure sets the option that the caller's strings name, after the first use.
func configure(o *object.Context, key, value uintptr) status.Status {
	name, st := textOf(o, key, "key")
	if st != status.OK {
		return st
	}
	wanted, st := textOf(o, value, "value")
	if st != status.OK {
		return st
	}
	fixed, err := options.Check(name, wanted)
	if err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	if fixed != config.NotFixed {
		return fail(o, status.Busy, "%s is fixed by the %s of the library; set it before", name, fixed)
	}
	before, source := options.Word(name), options.Source(name)
	if err := options.Set(name, wanted, config.FromCall); err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	switch name {
	case "TL_ON_ERROR":
		setOnError(wanted)
	case "TL_DEVICE":
		publishDefaultDevice()
	case "TL_LEAK_CHECK":
		setLeakCheck(options.Word(name))
	case "TL_SHOW_STATS", "TL_MEM_LOG":
		publishFlags()
	case "TL_FAIL_MEMORY":
		memory.FailAfter(options.Count(name))
	}
	st = configureLimits(o, name)
	if st == status.OK {
		st = configureTracking(o, name)
	}
	if st != status.OK {
		_ = options.Set(name, before, source) // it was a value before
	}
	return st
}

// ready reports settings of the environment that were not understood when the
// library started.
func ready(o *object.Context) status.Status {
	if complaints := options.Complaints(); len(complaints) > 0 {
		return fail(o, status.InvalidArgument, "%s", strings.Join(complaints, "; "))
	}
	return status.OK
}

// logPoolOperations applies TL_POOL_DEBUG, before the first pool.
func logPoolOperations() {
	mempool.Debug = options.Flag("TL_POOL_DEBUG")
	tensor.Debug = mempool.Debug
}
