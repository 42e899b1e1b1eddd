package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/track"
)

// What threads that have ended left in open scopes is released by whoever comes next:
// the next slow call, an adopter, tl_shutdown. A report at the end of the process has to
// tell of it all the same, or it would depend on whether such a call came. So the one who
// releases it takes notes, if leaks are looked for.

// LeftOpenGroup is allocations of one type, site and tag.
type LeftOpenGroup struct {
	Type      string
	Site, Tag uint32
	Count     int64
	Bytes     uint64
}

type leftOpenKey struct {
	typ       string
	site, tag uint32
}

var leftOpen struct {
	mu     sync.Mutex // guards groups; taken last, nothing is called under it
	groups map[leftOpenKey]LeftOpenGroup
}

// EachLeftOpen visits the notes.
func EachLeftOpen(visit func(LeftOpenGroup)) {
	leftOpen.mu.Lock()
	defer leftOpen.mu.Unlock()
	for _, g := range leftOpen.groups {
		visit(g)
	}
}

func (c *Context) hasOpenScopes() bool { return c.MarkTop != c.Marks }

// noteLeftOpen notes what ends with the open scopes of an ended thread's context; the
// caller has taken that over. What others hold as well lives on and is theirs.
func (c *Context) noteLeftOpen() {
	if !c.hasOpenScopes() || atomic.LoadUint32(&process.g.LeakCheck) == layout.LeakCheckOff {
		return
	}
	held := map[uintptr]int64{}
	first := c.Entries + uintptr(c.mark(0).Entries)*layout.EntryBytes
	for at := first; at < c.Top; at += layout.EntryBytes {
		e := *layout.At[layout.Entry](at)
		if e.Object == 0 {
			continue
		}
		held[e.Object]++
		if e.Record == layout.Foreign {
			c.noteForeign(e.Object, held[e.Object])
		} else if r := process.heap.Record(e.Record); atomic.LoadUint32(&r.Gen) == e.Gen && references(r) == held[e.Object] {
			note(Live{Ref: objectRef(e), Bytes: c.bytesAnywhere(e), Type: c.TypeName(e)})
		}
	}
}

func (c *Context) noteForeign(p uintptr, held int64) {
	if info, known := process.registry.Info(p); known && int64(info.Count) == held {
		note(Live{Ref: foreignRef(info), Bytes: uint64(info.Bytes), Type: kindName(info)})
	}
}

func note(l Live) {
	e, recorded := track.Find(l.Ref)
	if recorded && e.Bytes > 0 && l.Type == "" {
		l.Bytes = e.Bytes
	}
	k := leftOpenKey{l.Type, e.Site, e.Tag}
	leftOpen.mu.Lock()
	defer leftOpen.mu.Unlock()
	if leftOpen.groups == nil {
		leftOpen.groups = map[leftOpenKey]LeftOpenGroup{}
	}
	g := leftOpen.groups[k]
	leftOpen.groups[k] = LeftOpenGroup{l.Type, e.Site, e.Tag, g.Count + 1, g.Bytes + l.Bytes}
}
