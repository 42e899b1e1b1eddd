package leak

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// TraceLive tells a trace of what is live already, and has its end told later. since is
// what track.Count was when the trace began: what is newer was told.
func TraceLive(c *object.Context, since uint64) status.Status {
	Blocks(func(l Live) {
		e, recorded := track.Find(l.Ref)
		traceLive(c, l, e, recorded)
	})
	return EachLive(c, func(l Live) {
		e, recorded := track.Find(l.Ref)
		if l.Reason != HandedBack && (!recorded || e.Seq <= since) {
			traceLive(c, l, e, recorded)
		}
	})
}

func traceLive(c *object.Context, l Live, e track.Entry, recorded bool) {
	if !recorded {
		e = track.Adopt(l.Ref, l.Bytes)
	}
	trace.Alloc(c.Id, trace.Allocation{
		Event:  trace.Event{Kind: l.Ref.Kind.String(), Address: uint64(l.Address), Bytes: e.Bytes, Site: e.Site},
		Type:   l.Type,
		Tag:    track.NameOf(e.Tag),
		Thread: e.Thread,
		Before: true,
	})
}
