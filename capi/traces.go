package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// traceMutex guards the begin and the end of a trace, with the steps that
// follow from them.
var traceMutex sync.Mutex

// startTrace begins a trace, and writes into it what is live already.
func startTrace(o *object.Context, path uintptr) status.Status {
	name, named := text(path)
	if !named || name == "" {
		return fail(o, status.InvalidArgument, "the name of a file is needed, of 1 to %d bytes", maxString-1)
	}
	traceMutex.Lock()
	defer traceMutex.Unlock()
	since := track.Count()
	began, err := openTrace(name)
	switch {
	case err != nil:
		return fail(o, status.InvalidArgument, "the trace could not be written: %v", err)
	case !began:
		return fail(o, status.Busy, "a trace runs already; tl_trace_stop ends it")
	}
	if st := followTrace(o, since); st != status.OK {
		_, _ = endTrace(o) // the file is left as it is
		return st
	}
	return status.OK
}

func openTrace(name string) (began bool, err error) {
	return trace.Start(name, trace.Options{
		Limit:   options.Bytes("TL_TRACE_BYTES"),
		Thread:  threadOf,
		Figures: figures,
		Frames:  codeOf,
		Places:  placesOf,
	})
}

// threadOf returns the system's number of the calling thread, of which the context is given, or 0. A context has the
// number of its thread, but for context 0, which threads share: those ask the system each time.
func threadOf(context uint32) uint32 {
	if context != 0 {
		if number := object.ThreadOf(context); number != 0 {
			return number
		}
	}
	return uint32(syscall.Gettid())
}

// traceFromStart begins the trace that TL_TRACE names, before the first
// allocation. %p is the number of the process, because programs that this one
// starts inherit the option.
func traceFromStart(name string) error {
	if name == "" {
		return nil
	}
	if _, err := openTrace(strings.ReplaceAll(name, "%p", strconv.Itoa(os.Getpid()))); err != nil {
		return fmt.Errorf("TL_TRACE: the trace could not be written: %w", err)
	}
	if st := track.SetTracing(true); st != status.OK {
		_, _ = trace.Stop()
		return errors.New("TL_TRACE: no memory for the tables of tracking: nothing is traced")
	}
	return nil
}

func followTrace(o *object.Context, since uint64) status.Status {
	if st := track.SetTracing(true); st != status.OK {
		return fail(o, st, "no memory for the tables of tracking")
	}
	o.HonourTracking()
	mempool.Chunks(func(c mempool.Chunk) { trace.Chunk(c, true) })
	if st := leak.TraceLive(o, since); st != status.OK {
		return st
	}
	trace.Count()
	return status.OK
}

func endTrace(o *object.Context) (ended bool, err error) {
	ended, err = trace.Stop()
	if ended {
		forgetSources()
		_ = track.SetTracing(false) // asks for no memory
		o.HonourTracking()
	}
	return ended, err
}

func stopTrace(o *object.Context) status.Status {
	traceMutex.Lock()
	defer traceMutex.Unlock()
	held := holders(o)
	ended, err := endTrace(o)
	switch {
	case err != nil:
		return fail(o, status.InvalidArgument, "part of the trace could not be written: %v", err)
	case !ended:
		return fail(o, status.InvalidArgument, "no trace runs; tl_trace_start begins one")
	}
	return held
}

// holders tells the trace that runs who holds what.
func holders(o *object.Context) status.Status {
	if !trace.On() {
		return status.OK
	}
	return leak.TraceHolders(o)
}

// endTraceAtExit tells on standard error what a program that does not end its trace would not learn.
func endTraceAtExit(o *object.Context) {
	traceMutex.Lock()
	defer traceMutex.Unlock()
	_ = holders(o) // a trace without them is whole
	if _, err := endTrace(o); err != nil {
		output.Tell("part of the trace could not be written: %v", err)
	}
}

func markTrace(o *object.Context, name uintptr) status.Status {
	mark, named := text(name)
	if !named || mark == "" {
		return fail(o, status.InvalidArgument, "a mark needs a name of 1 to %d bytes", maxString-1)
	}
	if trace.On() {
		trace.Mark(mark)
	}
	return status.OK
}

// figures are the counters of a trace: those of tl_stats, and what memory pools have
// from their devices.
func figures() []trace.Figure {
	s, reserved := gather(), uint64(0)
	mempool.Chunks(func(c mempool.Chunk) { reserved += c.Bytes })
	return []trace.Figure{
		{Name: "live bytes", Value: s.LiveBytes},
		{Name: "live objects", Value: s.LiveObjects},
		{Name: "registered blocks", Value: s.ForeignLive},
		{Name: "kept tensors bytes", Value: s.PooledBytes},
		{Name: "heap committed bytes", Value: s.CommittedBytes},
		{Name: "pool reserved bytes", Value: reserved},
	}
}

// stamps are those of modules, by path.
var stamps sync.Map

func stampOf(module string) string {
	stamp, known := stamps.Load(module)
	if !known {
		stamp, _ = stamps.LoadOrStore(module, source.Stamp(module))
	}
	return stamp.(string)
}

// placesOf is codeOf by modules and offsets.
func placesOf(site uint32) (all []trace.Frame) {
	at := track.SiteOf(site)
	if at.File != "" {
		all = append(all, trace.Frame{Name: leak.Line(at), File: at.File, Line: int(at.Line)})
	}
	for _, f := range leak.Locate(at.Stack, place) {
		made := trace.Frame{Name: f.Function, File: f.File, Line: f.Line, Module: f.Module, Offset: f.Offset}
		switch {
		case f.Module != "":
			made.Stamp = stampOf(f.Module)
		case !f.Python:
			made.Name = f.Name()
		}
		all = append(all, made)
	}
	return all
}

// codeOf returns the frames of a site; the line that the program gave comes
// first.
func codeOf(site uint32) (all []trace.Frame) {
	at := track.SiteOf(site)
	if at.File != "" {
		all = append(all, trace.Frame{Name: leak.Line(at), File: at.File, Line: int(at.Line)})
	}
	for _, f := range leak.Lines(at.Stack) {
		all = append(all, trace.Frame{Name: f.Place(), File: f.File, Line: f.Line})
	}
	return all
}
