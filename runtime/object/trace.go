package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// While a trace runs, every allocation is recorded as with a tracking period of 1, and
// every call takes the slow path, which tells package trace of what begins and ends.

// SetTracing makes all contexts record for a trace, or ends that; those of other threads
// follow at their next slow call.
func SetTracing(on bool) status.Status {
	process.recording.Lock()
	defer process.recording.Unlock()
	return setRecording(TrackingPeriod(), on)
}

// TraceLive tells the trace of what is live already, and has its end told later. since
// is what track.Count was when the trace began: what is newer was told.
func (c *Context) TraceLive(since uint64) status.Status {
	return c.Leaks(func(l Live) {
		e, recorded := track.Find(l.Ref)
		switch {
		case l.Reason == HandedBack || recorded && e.Seq > since:
			return
		case !recorded:
			e = track.Adopt(l.Ref, l.Bytes)
		}
		c.traceLive(l, e)
	})
}

// TraceBlock is what TraceLive does with a block of a memory pool.
func (c *Context) TraceBlock(l Live) {
	e, recorded := track.Find(l.Ref)
	if !recorded {
		e = track.Adopt(l.Ref, l.Bytes)
	}
	c.traceLive(l, e)
}

func (c *Context) traceLive(l Live, e track.Entry) {
	trace.Alloc(c.Id, trace.Allocation{
		Event:  trace.Event{Kind: l.Ref.Kind.String(), Address: uint64(l.Address), Bytes: e.Bytes, Site: e.Site},
		Type:   l.Type,
		Tag:    track.NameOf(e.Tag),
		Thread: e.Thread,
		Before: true,
	})
}

// traceGone tells the trace that an object has died.
func (c *Context) traceGone(e layout.Entry) { track.Gone(c.address(), objectRef(e), uint64(e.Object)) }

// traceForeignGone tells it that a registered block is no longer there.
func (c *Context) traceForeignGone(p, bytes uintptr) {
	trace.Free(c.Id, trace.Event{Kind: track.Foreign.String(), Address: uint64(p), Bytes: uint64(bytes)})
}

// traceResting tells it of a tensor that dies or will rest in the pool, from which others
// may take it at once.
func (c *Context) traceResting(e layout.Entry) {
	c.traceGone(e)
	track.Undo(objectRef(e))
}

// typeOf names the type of an allocation that was just made.
func typeOf(ref track.Ref, address uint64) string {
	if ref.Kind == track.Object {
		r := process.heap.Record(uint32(ref.Key))
		return typeName(atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask)
	}
	if info, known := process.registry.Info(uintptr(address)); known {
		return kindName(info)
	}
	return ""
}
