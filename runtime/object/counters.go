package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// What is counted, and where. Nobody counts on the way of a plain object through a
// magazine but the magazine itself, which knows how many it has handed out:
//
//	came back = Allocs + (Top - Base) + warm places of the class + flushed - refilled
//
// so refills and flushes are counted, which are slow anyway (cshim/heap). What was refilled is counted before the
// magazine's top shows it, and what was flushed when it no longer does: a reader that looks in between misses what came
// back, and never sees more than did. The heap counts large objects. Slots that get a type are
// counted by kind and by type when they get it and when they lose it.

// counters count what passes by every magazine, and every context.
type counters struct {
	gone                 [layout.Classes]atomic.Uint64 // slots that came back
	tensors, tensorBytes atomic.Uint64                 // slots of kept tensors that were evicted
	types                sync.Map                      // type number -> *typeCounters
}

// typeCounters is what is counted of a type beyond those that contexts count.
type typeCounters struct{ made, gone atomic.Uint64 }

func (t *counters) typ(n uint32) *typeCounters {
	if found, ok := t.types.Load(n); ok {
		return found.(*typeCounters)
	}
	found, _ := t.types.LoadOrStore(n, &typeCounters{})
	return found.(*typeCounters)
}

// typeCount is where c counts user type number n, from 0; nil when it does not.
func (c *Context) typeCount(n uint32) *layout.TypeCount {
	if n >= process.g.CountedTypes {
		return nil
	}
	return layout.At[layout.TypeCount](c.address() + uintptr(process.slices.types.offset) +
		uintptr(n)*layout.TypeCountBytes)
}

// countTyped counts a slot that gets a type.
func (c *Context) countTyped(typ uint32, e layout.Entry) {
	switch {
	case typ == layout.TypePlain:
	case typ < layout.Kinds:
		c.Kinds[typ].Made++
		c.Kinds[typ].BytesMade += process.heap.Size(e.Object)
	case typ >= layout.TypeFirstUser:
		if n := c.typeCount(typ - layout.TypeFirstUser); n != nil {
			n.Made++
		} else {
			process.counters.typ(typ - layout.TypeFirstUser).made.Add(1)
		}
	}
}

// countUntyped counts a slot that loses its type.
func (c *Context) countUntyped(typ uint32, e layout.Entry) {
	switch {
	case typ == layout.TypePlain:
	case typ < layout.Kinds:
		c.Kinds[typ].Gone++
		c.Kinds[typ].BytesGone += process.heap.Size(e.Object)
	case typ >= layout.TypeFirstUser:
		if n := c.typeCount(typ - layout.TypeFirstUser); n != nil {
			n.Gone++
		} else {
			process.counters.typ(typ - layout.TypeFirstUser).gone.Add(1)
		}
	}
}

// countDiscarded is countUntyped where there is no context: only kept tensors go that way.
func countDiscarded(typ uint32, e layout.Entry) {
	if typ == layout.TypeTensor {
		process.counters.tensors.Add(1)
		process.counters.tensorBytes.Add(process.heap.Size(e.Object))
	}
}

// giveDirectly gives a free slot back past every magazine.
func giveDirectly(e layout.Entry) {
	class := e.Gen & 0xFF
	if class == layout.ClassLarge {
		process.heap.GiveLarge(e, true)
		return
	}
	process.counters.gone[class].Add(1)
	process.heap.Flush(class, []layout.Entry{e})
}

// retire gives the memory of a dead slot back whose record has had its last generation.
func retire(e layout.Entry) {
	class := e.Gen & 0xFF
	if class == layout.ClassLarge {
		process.heap.GiveLarge(e, false)
		return
	}
	process.counters.gone[class].Add(1)
	process.heap.Retire(e)
}
