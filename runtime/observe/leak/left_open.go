package leak

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
)

// What threads that have ended left in open scopes is released by whoever comes next:
// the next slow call, an adopter, tl_shutdown. A report at the end of the process has to
// tell of it all the same, or it would depend on whether such a call came. So the one who
// releases it takes notes, if leaks are looked for.

// leftOpenGroup is allocations of one type, site and tag.
type leftOpenGroup struct {
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
	mu     sync.Mutex // guards the rest; taken last, nothing but track is called under it
	groups map[leftOpenKey]leftOpenGroup
	marks  marks
}

// eachLeftOpen visits the notes.
func eachLeftOpen(visit func(leftOpenGroup)) {
	leftOpen.mu.Lock()
	defer leftOpen.mu.Unlock()
	for _, g := range leftOpen.groups {
		visit(g)
	}
}

func init() { object.SetLeftOpen(noteLeftOpen) }

// noteLeftOpen notes what ends with the open scopes of a context. What others hold as well
// lives on and is theirs.
func noteLeftOpen(c *object.Context) {
	leftOpen.mu.Lock()
	leftOpen.marks.add(c, &leftOpen.marks.ofThreads)
	leftOpen.mu.Unlock()
	held := map[uintptr]int64{}
	for at := c.OpenEntries(); at < c.Top; at += layout.EntryBytes {
		e := *layout.At[layout.Entry](at)
		if e.Object == 0 {
			continue
		}
		held[e.Object]++
		if e.Record == layout.Foreign {
			noteForeign(e.Object, held[e.Object])
		} else {
			noteObject(e, held[e.Object])
		}
	}
}

func noteObject(e layout.Entry, held int64) {
	r := object.Heap().Record(e.Record)
	if atomic.LoadUint32(&r.Gen) != e.Gen {
		return
	}
	if n, _, _ := object.CountsOf(r); n == held {
		note(Live{Ref: track.OfObject(e), Bytes: object.AskedOf(e), Type: object.TypeAnywhere(e)})
	}
}

func noteForeign(p uintptr, held int64) {
	if info, known := object.Registry().Info(p); known && int64(info.Count) == held {
		note(Live{Ref: track.OfForeign(object.Registry(), info), Bytes: uint64(info.Bytes),
			Type: object.BlockTypeName(info)})
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
		leftOpen.groups = map[leftOpenKey]leftOpenGroup{}
	}
	g := leftOpen.groups[k]
	leftOpen.groups[k] = leftOpenGroup{l.Type, e.Site, e.Tag, g.Count + 1, g.Bytes + l.Bytes}
}
