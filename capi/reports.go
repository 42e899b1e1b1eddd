package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/registry"
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
		Guard:   func(write func()) { contained(false, func() bool { write(); return true }) },
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
	held := leak.TraceHolders(o)
	ended, err := endTrace(o)
	switch {
	case err != nil:
		return fail(o, status.InvalidArgument, "part of the trace could not be written: %v", err)
	case !ended:
		return fail(o, status.InvalidArgument, "no trace runs; tl_trace_start begins one")
	}
	return held
}

// endTraceAtExit tells on standard error what a program that does not end its trace would not learn.
func endTraceAtExit(o *object.Context) {
	traceMutex.Lock()
	defer traceMutex.Unlock()
	_ = leak.TraceHolders(o) // the trace is complete without them
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

// stamps has the stamps of modules by path, until the trace ends.
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

// leakLists are the lists of calls that are asking their callers, by number.
var leakLists struct {
	mu    sync.Mutex // guards the rest; nothing is called under it
	lists map[uint64]leak.List
	last  uint64
}

func listLeaks(o *object.Context, asks bool) uint64 {
	if !asks {
		fail(o, status.InvalidArgument, "ask is needed; tl_leak_report_except takes the references themselves")
		return 0
	}
	list, st := leak.ListOf(o, nil)
	if st != status.OK {
		return 0
	}
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	if leakLists.lists == nil {
		leakLists.lists = map[uint64]leak.List{}
	}
	leakLists.last++
	leakLists.lists[leakLists.last] = list
	return leakLists.last
}

// narrowLeaks takes off a list what the caller holds, and returns how much is left; -1 is a failure and ends the list.
func narrowLeaks(o *object.Context, number uint64, held, n uintptr) int64 {
	list := takeLeaks(number)
	known, st := addresses(o, held, n)
	if st == status.OK {
		list, st = leak.ListOf(o, list, known...)
	}
	if st != status.OK {
		return -1
	}
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	leakLists.lists[number] = list
	return int64(len(list))
}

func takeLeaks(number uint64) leak.List {
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	list := leakLists.lists[number]
	delete(leakLists.lists, number)
	return list
}

// leakReportExcept reports what the caller does not hold; of a list if there is one.
func leakReportExcept(o *object.Context, path uintptr, mark uint64, of leak.List, held, n uintptr) int64 {
	known, st := addresses(o, held, n)
	switch {
	case st != status.OK:
		return -1
	case mark == leak.All:
		return leakReport(o, path, leak.All, of, known...)
	}
	return leakReportSince(o, path, mark, of, known...)
}

// leakReport writes what has leaked since a mark, and returns how much.
func leakReport(o *object.Context, path uintptr, since uint64, of leak.List, held ...uintptr) int64 {
	if path != 0 {
		if _, st := textOf(o, path, "path"); st != status.OK {
			return -1
		}
	}
	report, st := leak.CollectOf(o, since, of, held...)
	if st != status.OK {
		return -1
	}
	defer forgetSources()
	reportMutex.Lock()
	defer reportMutex.Unlock()
	if printText(o, path, report.Text()) != status.OK {
		return -1
	}
	return report.Count
}

func leakReportSince(o *object.Context, path uintptr, mark uint64, of leak.List, held ...uintptr) int64 {
	if track.Period() == 0 {
		fail(o, status.InvalidArgument, "nothing is recorded, so a mark tells nothing; set TL_TRACK to 1 first")
		return -1
	}
	return leakReport(o, path, min(mark, leak.All-1), of, held...)
}

// leaksAtExit reports on standard error, if there is anything to report. When
// the search fails it returns -1 and reports why.
func leaksAtExit(o *object.Context) int64 {
	report, st := leak.Collect(o, leak.All)
	if st != status.OK {
		output.Tell("TL_LEAK_CHECK: leaks could not be looked for: %s", o.Message())
		return -1
	}
	report.AddLeftOpen()
	open, ofThreads := leak.OpenAtEnd(o)
	if open != "" {
		output.Tell("TL_LEAK_CHECK: %s", open)
	}
	if report.Count > 0 {
		reportMutex.Lock()
		defer reportMutex.Unlock()
		output.TellText(report.Text())
	}
	return report.Count + ofThreads
}

func registryInfo(o *object.Context, pointer, out uintptr) status.Status {
	d, st := o.Describe(pointer)
	if st != status.OK {
		return st
	}
	return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
		return withType(pointer, describedInfo(pointer, d))
	})
}

// withType adds the name of a type to what is known of a block that was registered with one.
func withType(p uintptr, info tl_alloc_info) tl_alloc_info {
	if block, live := object.Registry().TypedAt(p); live {
		info.Type = track.NameAddress(track.Intern(object.BlockTypeName(block.Info)))
	}
	return info
}

func allocationInfo(o *object.Context, pointer, out uintptr) status.Status {
	if a, live := o.DescribeObject(pointer); live {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return objectInfo(pointer, a) })
	}
	if bytes := blockBytes(pointer); bytes != 0 {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
			info := tl_alloc_info{Block: pointer, Bytes: bytes, Count: 1, BlockCount: 1, Addresses: 1}
			return recorded(info, track.Ref{Kind: track.Block, Key: uint64(pointer)})
		})
	}
	if d, unheld := alignedBlock(pointer); unheld {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return describedInfo(pointer, d) })
	}
	if st := o.Check(pointer); st != status.OK {
		return st
	}
	return registryInfo(o, pointer, out)
}

// alignedBlock describes memory of tl_aligned_alloc that nobody has registered: it is
// live with a count of 0.
func alignedBlock(p uintptr) (d registry.Described, unheld bool) {
	info, known := object.Registry().Info(p)
	if !known || info.Count != 0 || info.HandedBack || info.Kind != layout.ForeignAligned {
		return d, false
	}
	return registry.Described{Real: p, Bytes: info.Bytes, Kind: info.Kind, Aliases: 1}, true
}

// blockBytes returns the size of the memory pools' block that starts at an
// address; 0 if none does.
func blockBytes(p uintptr) (found uintptr) {
	if p == 0 || object.Heap().Contains(p) || object.Registry().Count(p) >= 0 {
		return 0
	}
	mempool.Live(func(_ mempool.Handle, address, bytes uintptr) {
		if address == p {
			found = bytes
		}
	})
	return found
}

func objectInfo(p uintptr, a object.Allocation) tl_alloc_info {
	info := tl_alloc_info{Block: p, Bytes: uintptr(a.Bytes), Count: uint64(a.Count), BlockCount: uint64(a.Count),
		Addresses: 1,
		Type:      track.NameAddress(track.Intern(a.Type))}
	return recorded(info, track.Ref{Kind: track.Object, Key: uint64(a.Entry.Record), Gen: a.Entry.Gen})
}

// describedInfo is what the registry and tracking know of a pointer; zeros for
// NULL.
func describedInfo(p uintptr, d registry.Described) tl_alloc_info {
	info := tl_alloc_info{Block: d.Real, Bytes: d.Bytes, Count: d.Count, BlockCount: d.References, Addresses: d.Aliases,
		BufferId: d.Id, Kind: int64(d.Kind)}
	if d.Id != 0 { // recorded by its number, whatever address is asked for
		return recorded(info, track.OfBuffer(d.Id))
	}
	for _, at := range []uintptr{p, d.Real} {
		if ref, ok := track.RefOf(at); ok && at != 0 && info.Number == 0 {
			info = recorded(info, ref)
		}
	}
	return info
}

// recorded adds what tracking knows.
func recorded(info tl_alloc_info, ref track.Ref) tl_alloc_info {
	e, known := track.Find(ref)
	if !known {
		return info
	}
	if e.Bytes != 0 && info.Type == 0 {
		info.Bytes = uintptr(e.Bytes)
	}
	site := track.SiteOf(e.Site)
	info.Number, info.Time, info.Thread, info.Tag = e.Seq, e.Time, uint64(e.Thread), track.NameAddress(e.Tag)
	file, line := site.Told()
	info.File, info.Line = track.NameAddress(track.Intern(file)), uint64(line)
	if info.Frames = uint64(len(site.Stack)); info.Frames > 0 {
		info.Stack = layout.Address(&site.Stack[0])
	}
	return info
}

func numPointers() uintptr {
	sum := object.Registry().Totals()
	return uintptr(sum.Pointers - min(sum.Pointers, sum.HandedBack+sum.Zeros))
}
