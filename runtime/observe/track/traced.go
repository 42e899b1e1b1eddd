package track

import (
	"slices"
	"sync/atomic"
	"time"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/trace"
)

// traceAllocation reports an allocation whose site is known now, and returns when, as trace.Alloc. tracker.mu is held.
func traceAllocation(context uintptr, p pendingMade, e *Entry) (nanos uint64) {
	if !trace.On() {
		return 0
	}
	return trace.Alloc(layout.At[layout.Context](context).Id, trace.Allocation{
		Event:  trace.Event{Kind: p.ref.Kind.String(), Address: p.address, Bytes: e.Bytes, Site: e.Site},
		Type:   typeOf(p.ref, p.address),
		Tag:    tracker.sites.nameOf(e.Tag),
		Thread: e.Thread,
	})
}

func traceRelease(context uint32, kind Kind, address, bytes uint64) {
	trace.Free(context, trace.Event{Kind: kind.String(), Address: address, Bytes: bytes})
}

// gone reports an object that has died to a trace, if its allocation was reported: of one
// that dies in the call that made it nothing is reported.
func gone(context uintptr, ref Ref, address uint64) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	e := find(ref)
	if e == nil {
		return
	}
	if p := tracker.pending[context]; p != nil && slices.ContainsFunc(p.made, func(m pendingMade) bool {
		return m.ref == ref
	}) {
		e.Seq = 0
		return
	}
	traceRelease(layout.At[layout.Context](context).Id, ref.Kind, address, e.Bytes)
}

// Drop drops what is known of an allocation: it was taken back in the call that made it,
// before anybody could know of it, its end was told already, or nobody will tell it.
func Drop(ref Ref) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if e := find(ref); e != nil {
		e.Seq = 0
	}
}

// Adopt notes an allocation of which nothing was recorded, so that a trace is told of
// its end.
func Adopt(ref Ref, bytes uint64) Entry {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	now := Entry{Bytes: bytes, Gen: ref.Gen, Weight: 1, Time: uint64(time.Now().UnixNano())}
	e := place(ref)
	if e == nil {
		tracker.lost.Add(1)
		return now
	}
	now.Seq = atomic.AddUint64(layout.At[uint64](tracker.counter), 1)
	*e = now
	return now
}
