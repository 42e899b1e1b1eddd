package main

/*
#include <stdint.h>
#include "../cshim/host/allocator.h"
#include "../cshim/host/environment.h"

// Setting i of the environment, 0 behind the last one.
static uintptr_t tlc_setting_at(uintptr_t i) { return (uintptr_t)tlc_environment()[i]; }
static uintptr_t tlc_malloc(uintptr_t bytes) { return (uintptr_t)tlc_host.malloc(bytes); }
static void tlc_free(uintptr_t p) { tlc_host.free((void*)p); }
static void tlc_free_aligned(uintptr_t p) { tlc_host.free_aligned((void*)p); }
uintptr_t tlc_deleter_of(uint32_t kind);
void tlc_free_new(uintptr_t p, uint32_t kind);
extern uint64_t tlc_recorded;
static uintptr_t tlc_recorded_at(void) { return (uintptr_t)&tlc_recorded; }

static uintptr_t tlc_aligned_alloc(uintptr_t bytes, uintptr_t alignment)
{
	void* p = NULL;
	return tlc_host.aligned(&p, alignment, bytes) == 0 ? (uintptr_t)p : 0;
}
static uintptr_t tlc_malloc_alignment(void) { return tlc_host.misaligned + 1; }
static _Bool tlc_malloc_tells(void) { return tlc_host.tells; }
_Bool tlc_usable_size(uintptr_t p, uint64_t* bytes);
_Bool tlc_has_barrier(void);
uint64_t tlc_descriptors_before(void);
*/
import "C"

import (
	"syscall"
	"time"

	_ "tlruntime/cshim" // the fast path, which is C and calls this package
	"tlruntime/runtime/config"
	"tlruntime/runtime/consistency"
	"tlruntime/runtime/device"
	"tlruntime/runtime/headroom"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/stats"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// What the shim itself asks of Go (cshim/base/go.h). None of it is public.

var options = config.New()

// contained runs body for callers without a context: a panic becomes failed.
func contained[R any](failed R, body func() R) (result R) {
	headroom.Reserve()
	consistency.Entered()
	defer func() {
		if cause := recover(); cause != nil {
			consistency.ReportDefect(cause)
			result = failed
		}
		consistency.Left(nil)
	}()
	return body()
}

// environment reads the settings from C, because Go's copy lacks those that the
// host has set since its start.
func environment() (settings []string) {
	for i := uintptr(0); ; i++ {
		at := uintptr(C.tlc_setting_at(C.uintptr_t(i)))
		if at == 0 {
			return settings
		}
		if setting, ok := text(at); ok {
			settings = append(settings, setting)
		}
	}
}

// tlentry_open starts the runtime with the options that tl_configure has set and those of the environment. A
// setting that is not understood leaves the default; this function, tl_init and
// tl_config_dump report it. After a failure a later call may try again, with
// the environment of that moment.
//
//export tlentry_open
func tlentry_open(out uintptr) int32 {
	return contained(int32(status.Internal), func() int32 {
		for _, complaint := range options.ReadEnvironment(environment()) {
			output.Tell("%s", complaint)
		}
		holdDescriptors()
		track.CountAt(uintptr(C.tlc_recorded_at()))
		memory.FailAfter(options.Count("TL_FAIL_MEMORY"))
		st := mempool.Open()
		if st != status.OK {
			return int32(st)
		}
		st = object.Open(object.Config{
			HeapReserve:    options.Bytes("TL_HEAP_RESERVE"),
			HugePages:      func() bool { return options.Word("TL_HUGE_PAGES") != "0" },
			ArenaBytes:     options.Bytes("TL_ARENA_BYTES"),
			RegistryShards: int(options.Count("TL_REGISTRY_SHARDS")),
			SlowOnly:       !options.Flag("TL_FASTPATH") || options.Flag("TL_DEBUG") || options.Flag("TL_POOL_DEBUG"),
			Debug:          debugger(),
			Settles:        true,
			Malloc:         func(bytes uintptr) uintptr { return uintptr(C.tlc_malloc(C.uintptr_t(bytes))) },
			Free:           func(p uintptr) { C.tlc_free(C.uintptr_t(p)) },
			MallocAlign:    uintptr(C.tlc_malloc_alignment()),
			AlignedAlloc:   alignedAlloc,
			AlignedFree:    func(p uintptr) { C.tlc_free_aligned(C.uintptr_t(p)) },
			Deleter:        func(kind uint8) uintptr { return uintptr(C.tlc_deleter_of(C.uint32_t(kind))) },
			FreeNew:        func(p uintptr, kind uint8) { C.tlc_free_new(C.uintptr_t(p), C.uint32_t(kind)) },
			UsableSize:     usableSize,
			MallocTells:    bool(C.tlc_malloc_tells()),
			HasBarrier:     bool(C.tlc_has_barrier()),
		})
		if st == status.OK {
			tensorsOnDevices()
			publishDefaultDevice()
			object.Globals().Pools = mempool.Table()
			device.WithStandardFilled = withStandardFilled
			openLimits()
			logPoolOperations()
			setOnError(options.Word("TL_ON_ERROR"))
			setLeakCheck(options.Word("TL_LEAK_CHECK"))
			publishFlags()
			if startTracking() != status.OK {
				output.Tell("no memory for the tables of tracking: nothing is recorded")
			}
			if err := traceFromStart(options.Word("TL_TRACE")); err != nil {
				output.Tell("%v", err)
			}
			store(out, layout.Address(object.Globals()))
		}
		return int32(st)
	})
}

// debugger is what TL_DEBUG asks for, nil when it is off.
func debugger() object.Debugger {
	if !options.Flag("TL_DEBUG") {
		return nil
	}
	return debug.Guards(max(options.Bytes("TL_QUARANTINE"), 1)) // 0 stands for the default there
}

func usableSize(p uintptr) (bytes uintptr, ok bool) {
	var n C.uint64_t
	ok = bool(C.tlc_usable_size(C.uintptr_t(p), &n))
	return uintptr(n), ok
}

// alignedAlloc requests at least a pointer's alignment, as posix_memalign
// requires.
func alignedAlloc(bytes, alignment uintptr) uintptr {
	return uintptr(C.tlc_aligned_alloc(C.uintptr_t(bytes), C.uintptr_t(max(alignment, 16))))
}

// tlentry_attach returns a context for the calling thread, 0 when it has to use the
// shared one.
//
//export tlentry_attach
func tlentry_attach() uintptr {
	return contained(0, func() uintptr {
		c, st := object.NewContext()
		if st != status.OK {
			return 0
		}
		return layout.Address(c)
	})
}

// tlentry_shared returns the context of threads without one; the shim holds its lock.
//
//export tlentry_shared
func tlentry_shared() uintptr {
	return contained(0, func() uintptr { return layout.Address(object.Shared()) })
}

// tlentry_refuse fails a call that has not begun: Go is short of memory.
//
//export tlentry_refuse
func tlentry_refuse(c uintptr) int32 { return guardedStatus(c, (*object.Context).FailShort) }

// tlentry_poll handles the inbox and requests of other threads.
//
//export tlentry_poll
func tlentry_poll(c uintptr) {
	guarded(c, 0, func(o *object.Context) int { o.Poll(); return 0 })
}

// tlentry_drain_step works on the deferred-destruction queue; true: the caller
// has to call the callback that the context names, and then this function
// again.
//
//export tlentry_drain_step
func tlentry_drain_step(c uintptr) bool { return guarded(c, false, (*object.Context).DrainStep) }

// tlentry_close continues to close marks.
//
//export tlentry_close
func tlentry_close(c uintptr, target uint64) {
	guarded(c, 0, func(o *object.Context) int { o.Close(target); return 0 })
}

// tlentry_release_entry releases what a scope held.
//
//export tlentry_release_entry
func tlentry_release_entry(c, pointer uintptr, record, gen uint32) {
	guarded(c, 0, func(o *object.Context) int {
		o.ReleaseEntry(layout.Entry{Object: pointer, Record: record, Gen: gen})
		return 0
	})
}

// tlentry_drop_field releases a reference that a dying object held.
//
//export tlentry_drop_field
func tlentry_drop_field(c, pointer uintptr) {
	guarded(c, 0, func(o *object.Context) int { o.DropField(pointer); return 0 })
}

// tlentry_cool takes the free slots out of the scope stack.
//
//export tlentry_cool
func tlentry_cool(c uintptr) {
	guarded(c, 0, func(o *object.Context) int { o.Cool(); return 0 })
}

// tlentry_recycle takes the slot of a dead object back.
//
//export tlentry_recycle
func tlentry_recycle(c, pointer uintptr, record, gen uint32) {
	guarded(c, 0, func(o *object.Context) int {
		o.Recycle(layout.Entry{Object: pointer, Record: record, Gen: gen})
		return 0
	})
}

// tlentry_trim gives the emptied part of the scope stack back.
//
//export tlentry_trim
func tlentry_trim(c uintptr) {
	guarded(c, 0, func(o *object.Context) int { o.Trim(); return 0 })
}

// tlentry_configure sets an option before the first use, which takes it over the environment's.
//
//export tlentry_configure
func tlentry_configure(key, value uintptr) int32 {
	return contained(int32(status.Internal), func() int32 {
		name, named := text(key)
		wanted, given := text(value)
		if !named || !given {
			return int32(status.InvalidArgument)
		}
		fixed, err := options.Check(name, wanted)
		if err != nil {
			return int32(status.InvalidArgument)
		}
		if fixed == config.FixedByLoad {
			return int32(status.Busy)
		}
		options.Expect(name, wanted)
		return int32(status.OK)
	})
}

// tlentry_show_stats prints the statistics at the end of the process, without a context and without a callback.
//
//export tlentry_show_stats
func tlentry_show_stats() {
	contained(0, func() int {
		output.TellText(stats.Read(stats.All).Table())
		return 0
	})
}

// What Go does to its process that a library may not do to its host.

// Go raises the soft limit of descriptors to the hard one. A host that calls select has set
// it low, and its children inherit it.
func init() {
	var limit syscall.Rlimit
	before := uint64(C.tlc_descriptors_before())
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && before < limit.Cur {
		limit.Cur = before
		// It lowers a limit of the process's own, which is always allowed.
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
}

// tlentry_wait returns when Go is ready for calls, its initialisation included.
//
//export tlentry_wait
func tlentry_wait() {}

// holdDescriptors makes Go create the descriptors of its timers. Otherwise Go
// creates them with its first timer, and ends the process if none are left by
// then.
func holdDescriptors() { time.AfterFunc(time.Hour, func() {}).Stop() }

// guarded runs body with the context at c and is the one place that stops
// panics before they reach C, where they would abort the host. A panic becomes
// TL_E_INTERNAL with its text, and guarded returns failed.
func guarded[R any](c uintptr, failed R, body func(*object.Context) R) (result R) {
	headroom.Reserve()
	context := object.At(c)
	consistency.Entered()
	defer func() {
		if cause := recover(); cause != nil {
			consistency.ReportDefect(cause)
			fail(context, status.Internal, "a defect of this library was contained: %v", cause)
			result = failed
		}
		consistency.Left(context)
	}()
	result = body(context)
	if trace.Due() {
		trace.Count()
	}
	return result
}

// guardedStatus is guarded for functions that return a tl_status.
func guardedStatus(c uintptr, body func(*object.Context) status.Status) int32 {
	return int32(guarded(c, status.Internal, body))
}

// fail records an error for which package object has no text.
func fail(o *object.Context, st status.Status, format string, args ...any) status.Status {
	return o.Failf(st, format, args...)
}

// lastError renders the last error and returns where the text stands.
func lastError(o *object.Context) uintptr {
	o.Message()
	return layout.Address(&o.Context.Error.Message)
}
