// # Tracking
//
// Tracking tells where memory was allocated. With TL_TRACK=1 the runtime
// records the call stack, time, thread and size of every live allocation. With
// TL_TRACK_SAMPLE=512K it records one allocation in so many bytes, which is
// cheap enough to be left on. All kinds of memory are covered: objects, Vecs,
// tensors on every device, registered and adopted pointers, blocks of memory
// pools. The runtime finds call stacks with the exception tables of the code, and
// has frames of Python in them after tl_python_lines; a compiler or another
// interpreter adds its own line with tl_track_site. Tags name what a thread is
// doing, and reports group by them.
//
// A leak is a live allocation that nothing will release any more: its reference
// floats, or was acquired and never released, or it is held by another leak, by
// itself, or by a scope of a thread that has ended. What a scope of a running
// thread holds is not a leak, and neither is memory that was handed back to the
// host.
//
//	TL_TRACK=1 TL_LEAK_CHECK=fail ./program
//
// ends the program with status 23 when something has leaked.
package main

import "C"

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// tl_track_site adds a source line to the record of an allocation that the
// calling thread has just made; tracking knows the call stack already. The
// macros of TL_TRACK_ALLOCATIONS call it for C and C++; compilers and
// interpreters call it, or tl_log_alloc, for their own sources. Without
// tracking, and for an allocation that was not sampled, it does nothing.
//
//	C: void* tl_track_site(void* pointer, const char* file, uint32_t line);
//
// Ownership: none; file is copied.
// Returns: its argument, always.
// Errors: none.
// Cost: fast; about 2 ns where the allocation was not recorded; one cgo call where it was, and, with
// TL_TRACK=1, always.
// Fails: pointer.
// LLVM: returned 0.
//
//export tlgo_track_site
func tlgo_track_site(c, pointer, file uintptr, line uint32) uintptr {
	return guarded(c, pointer, func(*object.Context) uintptr {
		nameSite(pointer, file, line)
		return pointer
	})
}

// tl_track_count returns the address of the number of allocations that were
// recorded so far. The address stays valid, and the number may be read at any
// time; it grows while an allocation is recorded. tl_leak_report_since takes
// the value as a mark.
//
//	C: const uint64_t* tl_track_count(void);
//
// Ownership: the runtime's, for ever.
// Threads: any thread; the number counts the allocations of all threads.
// Returns: the address.
// Errors: none.
// Cost: fast; constant, a few instructions; reading the number costs a load.
// LLVM: nounwind, returns nonnull.
const _ = "tl_track_count"

// tl_tag_push sets a tag for what the calling thread allocates from now on.
// Tags nest: "epoch" and then "load" give "epoch/load". A tag ends with
// tl_tag_pop, or with the scope, function or planned frame in which it was
// pushed.
//
//	C: tl_status tl_tag_push(const char* name);
//
// Ownership: name is copied and kept for ever, so use tags for phases, not for numbers
// of steps.
// Threads: the calling thread's own tags.
// Returns: TL_OK, or why no tag was set.
// Errors: TL_E_INVALID_ARGUMENT (NULL, "", or more than 4095 bytes), TL_E_LIMIT (32
// tags are pushed), TL_E_OUT_OF_MEMORY.
//
//export tlgo_tag_push
func tlgo_tag_push(c, name uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return pushTag(o, name) })
}

// tl_tag_pop removes the newest tag of the calling thread.
//
//	C: tl_status tl_tag_pop(void);
//
// Ownership: none.
// Threads: the calling thread's own tags.
// Returns: TL_OK, or why none was removed.
// Errors: TL_E_SCOPE_UNDERFLOW (no tag is pushed).
//
//export tlgo_tag_pop
func tlgo_tag_pop(c uintptr) int32 {
	return guardedStatus(c, track.PopTag)
}

// tl_mem_allocation_info describes a live allocation of any kind: an object, a
// tensor, a registered pointer, memory of tl_aligned_alloc (with a count of 0
// until it is registered), a block of a memory pool. The fields from `file` on
// hold what tracking recorded of it; they are 0 if the allocation was not
// recorded.
//
//	C: tl_status tl_mem_allocation_info(const void* pointer, tl_alloc_info* out_allocation);
//
// Ownership: none; names and stacks that the struct points to stay valid for ever.
// Threads: any thread; counts are exact while no other changes them.
// Returns: TL_OK, also for NULL, for which all fields are zero; or why nothing was
// written.
// Errors: TL_E_INVALID_ARGUMENT (no out_allocation, struct_size not set),
// TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_UNSUPPORTED (memory
// of a frame or an arena).
// Cost: slow call; linear in the live blocks of memory pools for a pointer that is neither an object nor
// registered.
//
//export tlgo_mem_allocation_info
func tlgo_mem_allocation_info(c, pointer, outAllocation uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return allocationInfo(o, pointer, outAllocation) })
}

// tl_leak_report looks for leaks now and writes a report to a file, or to
// standard error for NULL, in the layout of LeakSanitizer. The report groups
// leaks by site, type and tag, the largest first. Then it lists memory that was
// handed back to the host, which is not a leak. If there is neither, the file
// becomes empty, and nothing is written to standard error. Figures are exact,
// also where only samples have sites.
//
//	C: int64_t tl_leak_report(const char* path);
//
// Ownership: none; the string is not kept.
// Threads: any thread. Objects that others use meanwhile may be missing or too many.
// Returns: how many allocations leaked, -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written), TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in the memory in use; symbols are looked up in files.
// Fails: -1.
//
//export tlgo_leak_report
func tlgo_leak_report(c, path uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return leakReport(o, path, leak.All, nil) })
}

// tl_leak_report_since is tl_leak_report for the recorded allocations since a
// mark. A test runs with TL_TRACK=1 and reads the mark (tl_track_count) before
// its work.
//
//	C: int64_t tl_leak_report_since(const char* path, uint64_t mark);
//
// Ownership: none; the string is not kept.
// Threads: as tl_leak_report.
// Returns: how many allocations leaked, -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written; or nothing is being
// recorded), TL_E_OUT_OF_MEMORY.
// Cost: slow call; as tl_leak_report.
// Fails: -1.
//
//export tlgo_leak_report_since
func tlgo_leak_report_since(c, path uintptr, mark uint64) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return leakReportSince(o, path, mark, nil) })
}

// tl_leak_report_except is tl_leak_report_since for a caller that knows of
// references that it holds itself: a binding of a language whose variables hold
// objects. An object of which held has the address, once for each reference, is
// no leak by these, nor is what it refers to; it counts as what scopes hold.
// Addresses without a live object are passed over. With a mark of UINT64_MAX the
// report has all allocations, and nothing need be recorded.
//
//	C: int64_t tl_leak_report_except(const char* path, uint64_t mark, void* const* held, size_t n);
//
// Ownership: none; path and held are not kept.
// Threads: as tl_leak_report; no other thread drops a reference of held during the call.
// Returns: how many allocations leaked, -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written; nothing is being
// recorded, and the mark is not UINT64_MAX; held is NULL, and n is not 0),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; as tl_leak_report, and linear in n.
// Fails: -1.
//
//export tlgo_leak_report_except
func tlgo_leak_report_except(c, path uintptr, mark uint64, held, n uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return leakReportExcept(o, path, mark, nil, held, n) })
}

// tl_leak_holders tells tl_leak_report_asking which references the caller holds: it
// writes the address of an array of them to out_held and returns how many there are.
// The array is read before tl_leak_report_asking returns. The function runs on the
// thread of that call, with no lock held, and may call any function of the library. It
// neither throws nor longjmps.
//
//	C: typedef size_t (*tl_leak_holders)(void* ctx, void* const** out_held);
const _ = "tl_leak_holders"

// tl_leak_report_asking is tl_leak_report_except for a program whose other threads
// go on meanwhile. The call first lists what is live and held by no scope, then asks
// the caller for the references that it holds, and reports what of that list nothing
// explains. So what was allocated, or left its scope, after the call began is no leak,
// whether the caller knew of it or not. It counts as what scopes hold. If something is
// left the caller is asked once more, since it may have missed what a thread was moving,
// and what either answer explains is no leak.
//
//	C: int64_t tl_leak_report_asking(const char* path, uint64_t mark, tl_leak_holders ask, void* ctx);
//
// Ownership: none; path is not kept, ctx is passed to ask as it is.
// Threads: any thread. What ask has returned keeps its references until it is called again
// or the call ends.
// Returns: how many allocations leaked, -1 on failure.
// Errors: TL_E_INVALID_ARGUMENT (no ask; the file cannot be written; nothing is being
// recorded, and the mark is not UINT64_MAX; the array is NULL, and not empty),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; three times that of tl_leak_report_except, and of ask, once or twice.
// Fails: -1.
const _ = "tl_leak_report_asking"

// tl_mem_check_all checks, with TL_DEBUG=1, the red zones of all live objects
// and blocks, and the poison in memory that was released and not given out
// again yet. It reports each damage on standard error and repairs it, so that
// each is reported once; the last one is the error of the call, TL_E_CORRUPTED.
// tl_shutdown and the end of the process check as well.
//
//	C: int64_t tl_mem_check_all(void);
//
// Ownership: none.
// Threads: any thread; what others allocate or release meanwhile may be left out.
// Returns: how many slots are damaged, -1 without TL_DEBUG.
// Errors: TL_E_UNSUPPORTED (TL_DEBUG is off), TL_E_CORRUPTED (something is damaged).
// Cost: slow call; linear in the memory in use.
// Fails: -1.
//
//export tlgo_mem_check_all
func tlgo_mem_check_all(c uintptr) int64 {
	return guarded(c, -1, debug.CheckAll)
}

// What the shim asks for. None of it is public.

// tlentry_sampled records what the fast path has made.
//
//export tlentry_sampled
func tlentry_sampled(c uintptr, kind uint32, address uintptr, bytes uint64) {
	guarded(c, 0, func(o *object.Context) int { track.RecordSample(o, track.Kind(kind), address, bytes); return 0 })
}

// tlentry_settle adds the stack to what the context has recorded.
//
//export tlentry_settle
func tlentry_settle(c, stack uintptr, frames uint64) {
	guarded(c, 0, func(o *object.Context) int {
		track.Settle(o, layout.Slice[uintptr](stack, frames), o.ThreadNumber)
		return 0
	})
}

// tlentry_python_name keeps the name of a function of Python and of its file, and returns their number; 0: there is no
// memory for them.
//
//export tlentry_python_name
func tlentry_python_name(function, file uintptr) uint32 {
	return contained(0, func() uint32 {
		return track.PythonName(beginning(function), beginning(file))
	})
}

// tlentry_python_site gives an allocation a stack with frames of Python.
//
//export tlentry_python_site
func tlentry_python_site(c, pointer, stack uintptr, frames uint64) {
	guarded(c, 0, func(*object.Context) int {
		track.SitePython(pointer, layout.Slice[uintptr](stack, frames))
		return 0
	})
}

// tlentry_forget_block drops the record of a block that is being freed.
//
//export tlentry_forget_block
func tlentry_forget_block(address uintptr) {
	contained(0, func() int { track.Forget(uint64(address)); return 0 })
}

// tlentry_leak_list lists what leaks unless the caller of tl_leak_report_asking holds it, and returns its number;
// 0: it could not be made.
//
//export tlentry_leak_list
func tlentry_leak_list(c uintptr, asks bool) uint64 {
	return guarded(c, 0, func(o *object.Context) uint64 { return listLeaks(o, asks) })
}

// tlentry_leak_narrow takes off a list what the caller holds, and returns how much is left.
//
//export tlentry_leak_narrow
func tlentry_leak_narrow(c uintptr, list uint64, held, n uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return narrowLeaks(o, list, held, n) })
}

// tlentry_leak_report reports what of a list the caller does not hold, and ends the list.
//
//export tlentry_leak_report
func tlentry_leak_report(c uintptr, list uint64, path uintptr, mark uint64, held, n uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 {
		return leakReportExcept(o, path, mark, takeLeaks(list), held, n)
	})
}

// tlentry_check_at_end reports, at the end of the process, damage that no call
// has found.
//
//export tlentry_check_at_end
func tlentry_check_at_end(c uintptr) int64 {
	return guarded(c, 0, debug.CheckAtEnd)
}

// tlentry_leaks reports at the end of the process and returns how much leaked,
// -1 when the search failed.
//
//export tlentry_leaks
func tlentry_leaks(c uintptr) int64 {
	return guarded(c, -1, leaksAtExit)
}

// startTracking applies TL_TRACK and TL_TRACK_SAMPLE.
func startTracking() status.Status {
	period := options.Bytes("TL_TRACK_SAMPLE")
	if options.Flag("TL_TRACK") || options.Flag("TL_DEBUG") {
		period = 1
	}
	if period == track.WantedPeriod() {
		return status.OK
	}
	return track.SetPeriod(period)
}

func configureTracking(o *object.Context, name string) status.Status {
	if name != "TL_TRACK" && name != "TL_TRACK_SAMPLE" {
		return status.OK
	}
	if st := startTracking(); st != status.OK {
		return fail(o, st, "no memory for the tables of tracking")
	}
	o.HonourTracking()
	return status.OK
}

func setLeakCheck(value string) {
	wanted := map[string]uint32{"off": layout.LeakCheckOff, "report": layout.LeakCheckReport,
		"fail": layout.LeakCheckFail}[value]
	atomic.StoreUint32(&object.Globals().LeakCheck, wanted)
}

// nameSite records a source line that the program gave.
func nameSite(pointer, file uintptr, line uint32) {
	if name, named := text(file); named {
		track.NameSite(pointer, name, line)
	}
}

func pushTag(o *object.Context, name uintptr) status.Status {
	tag, named := text(name)
	if !named || tag == "" {
		return fail(o, status.InvalidArgument, "a tag needs a name of 1 to %d bytes", maxString-1)
	}
	return track.PushTag(o, tag)
}
