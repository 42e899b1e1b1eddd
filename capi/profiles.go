// # Profiles
//
// These functions write where memory goes, in formats of existing tools. A heap
// profile is for pprof, which shows live and allocated bytes by call stack. It
// needs tracking (TL_TRACK=1, or TL_TRACK_SAMPLE for samples) to know call
// stacks.
//
// A trace shows what happens over time: counters, scopes, tags, every allocation and
// release, chunks of memory pools, limits and pressure, in the trace event format that
// Perfetto and chrome://tracing read; `tl report` makes a page of it. While a
// trace runs, all calls take the slow path and allocations are recorded as with
// TL_TRACK=1; when none runs, traces cost nothing. A thread joins the trace at
// its next slow call: what the thread does on the fast path until then is not
// in the trace.
//
// A snapshot is for https://pytorch.org/memory_viz.
//
// Several processes may be told to write one file: a child inherits TL_TRACE,
// workers run the same code. The first process that opens the file has it until
// that process closes the file or ends; no other process writes to it or
// truncates it meanwhile. The other processes write to files beside it: process
// 1234 writes trace-1234.json for trace.json. A file that no process has open
// is replaced: the new one is written beside it and renamed, with mode and owner
// of the old one, so a failure leaves the old one as it was. All files are written
// by this rule, those of tl_leak_report and tl_stats_print too. No call waits for a
// reader: the name of a pipe that no process reads is TL_E_INVALID_ARGUMENT. No file
// raises a signal: TL_E_INVALID_ARGUMENT says "file too large" (RLIMIT_FSIZE) or
// "broken pipe".
package main

import "C"

import (
	"io"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/profile"
	"tlruntime/runtime/observe/snapshot"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// tl_profile_write writes live allocations by call stack, as a heap profile
// that `go tool pprof FILE` and other tools of pprof read. Values are
// inuse_space and inuse_objects, and for what was recorded alloc_space and
// alloc_objects; labels are type, kind, tag, thread and bytes. With samples,
// figures are estimates of the whole. Functions and lines of C and C++ come
// from the debugging information of their files.
//
//	C: tl_status tl_profile_write(const char* path);
//
// Ownership: none; the string is not kept.
// Threads: any thread. Objects that others use meanwhile may be missing or too many.
// Returns: TL_OK, or why the profile is not complete.
// Errors: TL_E_INVALID_ARGUMENT (no path, the file cannot be written, or it is a pipe that
// no process reads), TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in the memory in use; symbols and lines are looked up in files.
//
//export tlgo_profile_write
func tlgo_profile_write(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return writeProfile(o, path) })
}

// tl_trace_start begins to write a trace to a file, as TL_TRACE does with the first call.
// The end of the process completes the file if tl_trace_stop has not. The file
// is valid JSON however the process ends, but has no call stacks until it is
// completed. TL_TRACE_BYTES bounds the file; the file counts what is left out
// beyond the bound, or because the disk is full. A pipe or a device gets the parts one
// after the other, and is valid JSON when the trace has ended. The child of fork()
// writes no trace. While another process writes to that file, the trace goes to one
// beside it, see above.
//
//	C: tl_status tl_trace_start(const char* path);
//
// Ownership: none; the string is not kept.
// Threads: any thread. The trace is of all threads.
// Returns: TL_OK, or why no trace was begun.
// Errors: TL_E_INVALID_ARGUMENT (no path, or the file cannot be written), TL_E_BUSY (a
// trace runs already), TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in the memory in use. While a trace runs an allocation or release takes about 3
// microseconds and 140 bytes of the file.
// Path: fast.
//
//export tlgo_trace_start
func tlgo_trace_start(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return startTrace(o, path) })
}

// tl_trace_stop ends the trace and completes its file, with who holds what is live. The end
// of a process whose trace is not complete says so on standard error.
//
//	C: tl_status tl_trace_stop(void);
//
// Ownership: none.
// Returns: TL_OK, or why the file is not complete.
// Errors: TL_E_INVALID_ARGUMENT (no trace runs; or part of the file could not be
// written: the message says how many events were lost), TL_E_OUT_OF_MEMORY (the file is
// complete, but does not say who holds what).
// Cost: slow call; linear in the memory in use and in the call stacks of the trace; symbols are
// looked up in files.
// Path: fast.
//
//export tlgo_trace_stop
func tlgo_trace_stop(c uintptr) int32 {
	return guardedStatus(c, stopTrace)
}

// tl_trace_mark writes a mark with a name into the trace, and the counters as they are
// now: those of tl_stats. Without a trace it does nothing.
//
//	C: tl_status tl_trace_mark(const char* name);
//
// Ownership: none; the string is copied.
// Returns: TL_OK, also without a trace, or why no mark was written.
// Errors: TL_E_INVALID_ARGUMENT (NULL, "", or more than 4095 bytes).
// Cost: slow call; that of tl_stats_get while a trace runs.
//
//export tlgo_trace_mark
func tlgo_trace_mark(c, name uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return markTrace(o, name) })
}

// tl_snapshot_write writes where memory lies now, for
// https://pytorch.org/memory_viz, as a pickle like that of
// torch.cuda.memory._dump_snapshot. Segments are chunks of memory pools, the
// heap and registered blocks; the CPU is device 0. While a trace runs, its
// newest 65536 events become the history that the page plots. Sites are those
// that tracking knows.
//
//	C: tl_status tl_snapshot_write(const char* path);
//
// Ownership: none; the string is not kept.
// Threads: any thread. Memory that others use meanwhile may be missing or too much.
// Returns: TL_OK, or why the file is not complete.
// Errors: TL_E_INVALID_ARGUMENT (no path, or the file cannot be written).
// Cost: slow call; linear in the memory in use; symbols are looked up in files.
//
//export tlgo_snapshot_write
func tlgo_snapshot_write(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return writeSnapshot(o, path) })
}

// What the shim asks for. None of it is public.

// tlentry_end_trace completes the trace that runs at the end of the process.
//
//export tlentry_end_trace
func tlentry_end_trace(c uintptr) {
	guarded(c, 0, func(o *object.Context) int { endTraceAtExit(o); return 0 })
}

// writeProfile writes a heap profile to the file that the caller's string names.
func writeProfile(o *object.Context, path uintptr) status.Status {
	return toFile(o, path, func() (func(io.Writer) error, status.Status) {
		p, st := profile.Collect(o)
		return func(to io.Writer) error {
			return p.Write(to, new(source.Files))
		}, st
	})
}

// writeSnapshot writes where memory lies, for PyTorch's page.
func writeSnapshot(o *object.Context, path uintptr) status.Status {
	return toFile(o, path, func() (func(io.Writer) error, status.Status) {
		defer forgetSources()
		text := snapshot.Take(codeOf).Pickle()
		return func(to io.Writer) error {
			_, err := to.Write(text)
			return err
		}, status.OK
	})
}

// toFile collects what is to be written, then creates the file, and writes.
func toFile(o *object.Context, path uintptr, collect func() (func(io.Writer) error, status.Status)) status.Status {
	name, named := text(path)
	if !named || name == "" {
		return fail(o, status.InvalidArgument, "the name of a file is needed, of 1 to %d bytes", maxString-1)
	}
	write, st := collect()
	if st != status.OK {
		return st
	}
	if err := output.Write(name, write); err != nil {
		return fail(o, status.InvalidArgument, "the file could not be written: %v", err)
	}
	return status.OK
}
