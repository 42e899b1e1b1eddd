package track

import (
	"runtime"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/status"
)

// What contexts have recorded. Package object counts down to the next sample and asks the recorder with it. While a
// trace runs, every allocation is recorded as with a period of 1, and every call takes the slow path, which tells
// package trace of what begins and ends.

// recorder is object.Recorder.
type recorder struct{}

func init() { object.SetRecorder(recorder{}) }

// Open gives the fast path the marks.
func (recorder) Open(g *layout.Globals) status.Status {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if g.BlockMarks = tables(); g.BlockMarks == 0 {
		return status.OutOfMemory
	}
	return status.OK
}

func (recorder) Object(c *object.Context, e layout.Entry, bytes, drawn uint64) {
	recordSample(c, OfObject(e), e.Object, bytes, Weight(drawn))
}

func (recorder) Foreign(c *object.Context, p uintptr, bytes uint64) {
	if info, known := object.Registry().Info(p); known {
		recordSample(c, OfForeign(object.Registry(), info), p, bytes, Weight(bytes))
	}
}

func (recorder) Resized(c *object.Context, e layout.Entry, bytes uint64) {
	resize(layout.Address(c), OfObject(e), uint64(e.Object), bytes)
}

func (recorder) Retracted(p uintptr, gen uint32) { Drop(Ref{Kind: Foreign, Key: uint64(p), Gen: gen}) }

func (recorder) Opened(c *object.Context, kind string) { trace.Begin(c.Id, kind, NameOf(Tag(c))) }

func (recorder) Closed(c *object.Context) { dropTags(c); trace.End(c.Id) }

func (recorder) Abandoned(c *object.Context) { trace.End(c.Id) }

func (recorder) Died(c *object.Context, e layout.Entry) {
	gone(layout.Address(c), OfObject(e), uint64(e.Object))
}

func (r recorder) Rested(c *object.Context, e layout.Entry) { r.Died(c, e); Drop(OfObject(e)) }

func (recorder) ForeignGone(c *object.Context, p, bytes uintptr) {
	traceRelease(c.Id, Foreign, uint64(p), uint64(bytes))
}

var wanted struct {
	mu      sync.Mutex    // guards the next two, and what follows from them
	period  atomic.Uint64 // as set; a trace records all the same
	tracing bool
}

// SetPeriod records allocations from now on: one in so many bytes; 1 all, 0 none.
// Other contexts follow at their next slow call. While a trace runs all are recorded.
func SetPeriod(bytes uint64) status.Status {
	wanted.mu.Lock()
	defer wanted.mu.Unlock()
	return setRecording(bytes, wanted.tracing)
}

// WantedPeriod returns what SetPeriod has set.
func WantedPeriod() uint64 { return wanted.period.Load() }

// SetTracing makes all contexts record for a trace, or ends that; those of other threads
// follow at their next slow call.
func SetTracing(on bool) status.Status {
	wanted.mu.Lock()
	defer wanted.mu.Unlock()
	return setRecording(WantedPeriod(), on)
}

// setRecording does what both options say together. wanted.mu is held.
func setRecording(bytes uint64, tracing bool) status.Status {
	period := bytes
	if tracing {
		period = 1
	}
	if period != 0 {
		if st := openTables(object.Heap().RecordLimit()); st != status.OK {
			return st
		}
		lapse(isCurrent)
	}
	mode := uint32(layout.TrackingSample)
	switch period {
	case 0:
		mode = layout.TrackingOff
		ForgetBlocks()
	case 1:
		mode = layout.TrackingAll
	}
	if tracing {
		mode = layout.TrackingTrace
	}
	tracker.period.Store(period)
	wanted.period.Store(bytes)
	wanted.tracing = tracing
	object.Tracing.Store(tracing)
	g := object.Globals()
	atomic.StoreUint32(&g.Tracking, (atomic.LoadUint32(&g.Tracking)+layout.TrackingOne)&^layout.TrackingMode|mode)
	return status.OK
}

// recordSample notes an allocation; whoever leaves the slow path adds the stack.
func recordSample(c *object.Context, ref Ref, p uintptr, bytes uint64, weight float32) {
	c.Tracking.Sampled = p
	record(layout.Address(c), ref, uint64(p), bytes, weight, Tag(c))
	if object.Settles() {
		c.Tracking.Pending |= object.PendingRecords
	} else {
		settle(layout.Address(c), goStack(), 0)
	}
}

// goStack is the stack of a Go program, which has no entry guard that would take it, from
// whoever has called the caller of recordSample on.
func goStack() []uintptr {
	var frames [32]uintptr
	return frames[:runtime.Callers(4, frames[:])]
}

func recordBlock(c *object.Context, address uintptr, bytes uint64) {
	recordSample(c, Ref{Kind: Block, Key: uint64(address)}, address, bytes, Weight(bytes))
}

// SpendBlock records a block of a memory pool when it is a sample.
func SpendBlock(c *object.Context, address, bytes uintptr) {
	if address != 0 && c.Spend(uint64(bytes)) {
		recordBlock(c, address, uint64(bytes))
	}
}

// RecordSample records an allocation that the fast path has just made and that
// is a sample.
func RecordSample(c *object.Context, kind Kind, p uintptr, bytes uint64) {
	c.Tracking.Left = recorder{}.NextBytes()
	if Period() == 0 {
		return
	}
	switch kind {
	case Object:
		if at := object.Heap().Find(p); at.Start == p {
			recorder{}.Object(c, layout.Entry{Object: p, Record: at.Record, Gen: at.Gen}, bytes, bytes)
		}
	case Foreign:
		recorder{}.Foreign(c, p, bytes)
	default:
		recordBlock(c, p, bytes)
	}
}

// Settle gives what the call has recorded its stack.
func Settle(c *object.Context, stack []uintptr, thread uint32) {
	c.Settled(settle(layout.Address(c), stack, thread))
}

// RefOf names the allocation that p is the start of; false: there is none that could be
// recorded.
func RefOf(p uintptr) (Ref, bool) {
	if object.Heap().Contains(p) {
		at := object.Heap().Find(p)
		return Ref{Kind: Object, Key: uint64(at.Record), Gen: at.Gen}, at.Start == p
	}
	if info, known := object.Registry().Info(p); known {
		return OfForeign(object.Registry(), info), true
	}
	return Ref{Kind: Block, Key: uint64(p)}, p != 0
}

// NameSite notes the line at which p was allocated, if that was recorded.
func NameSite(p uintptr, file string, line uint32) {
	if ref, ok := RefOf(p); ok {
		name(ref, uint64(p), file, line)
	}
}

// typeOf names the type of an allocation that was just made.
func typeOf(ref Ref, address uint64) string {
	if ref.Kind == Object {
		return object.TypeName(uint32(ref.Key))
	}
	if info, known := object.Registry().Info(uintptr(address)); known {
		return object.BlockTypeName(info)
	}
	return ""
}

// isCurrent tells whether what is known of a registered block holds still.
func isCurrent(key uint64, gen uint32) bool {
	if key&BufferKey != 0 {
		return object.Registry().HasShared(key &^ BufferKey)
	}
	info, known := object.Registry().Info(uintptr(key))
	return known && info.Gen == gen
}
