package object

import (
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

// traceGone tells the trace that an object has died.
func (c *Context) traceGone(e layout.Entry) {
	track.Gone(c.address(), track.OfObject(e), uint64(e.Object))
}

// traceForeignGone tells it that a registered block is no longer there.
func (c *Context) traceForeignGone(p, bytes uintptr) {
	trace.Free(c.Id, trace.Event{Kind: track.Foreign.String(), Address: uint64(p), Bytes: uint64(bytes)})
}

// traceResting tells it of a tensor that dies or will rest in the pool, from which others
// may take it at once.
func (c *Context) traceResting(e layout.Entry) {
	c.traceGone(e)
	track.Undo(track.OfObject(e))
}

// typeOf names the type of an allocation that was just made.
func typeOf(ref track.Ref, address uint64) string {
	if ref.Kind == track.Object {
		return TypeName(uint32(ref.Key))
	}
	if info, known := process.registry.Info(uintptr(address)); known {
		return info.TypeName()
	}
	return ""
}
