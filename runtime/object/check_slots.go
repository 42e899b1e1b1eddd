package object

import (
	"errors"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
)

// Check verifies what the contexts and the heap have between them, each by a way of its
// own:
//
//	every slot that was ever handed out is in use, dying, in a depot, in a magazine, in a warm
//	place, in the quarantine, kept by the tensor pool or retired, and in one of these alone
//	the words of a live object's record are ones that the counting protocol can write
//	every node is free or in one inbox; what waits there is what is counted as waiting; every pending deleter call is free or in one list
//	stacks and indexes of all contexts are whole (CheckStacks)
//	counters are what CheckStats finds
//	the registry is what its own checker wants
//
// kept are the records of the tensors that are at rest. No context but the caller's may
// act meanwhile, and that one may not be in the middle of the drain.
func Check(kept map[uint32]bool) error {
	process.resting.mu.Lock()
	defer process.resting.mu.Unlock()
	c := slotChecker{kept: kept, free: map[uint32]string{}}
	inHeap := process.heap.Check(func(record uint32) { c.found(record, "a depot") })
	c.quarantined()
	inboxes, deleterCalls := c.lists()
	stats := readStats()
	c.Want(c.waiting == stats.WaitingObjects && c.waitingUnits*layout.NodeUnit == stats.WaitingBytes,
		"%d objects of %d bytes are counted as waiting, there are %d of %d units", stats.WaitingObjects,
		stats.WaitingBytes, c.waiting, c.waitingUnits)
	EachContext(func(x *Context) {
		for class := uint32(1); class < layout.ClassLarge; class++ {
			c.magazine(x, class)
		}
		c.warm(x)
		c.dying(x)
	})
	c.slots()
	c.nodes(inboxes)
	c.deleterCalls(deleterCalls)
	all := []error{inHeap, c.Err(), checkStats(), process.registry.CheckBeside()}
	EachContext(func(x *Context) { all = append(all, x.CheckStacks()) })
	return errors.Join(all...)
}

// Alone reports whether c is the only context that a thread or a goroutine has.
func Alone(c *Context) bool {
	others := 0
	EachContext(func(x *Context) {
		if x != c && x.Id != 0 && atomic.LoadUint64(&x.Word)&layout.CtxState == layout.CtxActive {
			others++
		}
	})
	return others == 0
}

// slotChecker knows where each slot that nobody uses was found.
type slotChecker struct {
	invariant.Found
	kept    map[uint32]bool
	free    map[uint32]string
	retired [layout.Classes]int64

	waiting, waitingUnits uint64 // objects that wait for their owners
}

func (c *slotChecker) found(record uint32, where string) {
	c.Want(c.free[record] == "", "record %d is in %s and in %s", record, c.free[record], where)
	c.free[record] = where
}

// unused checks an entry of a slot that nobody has.
func (c *slotChecker) unused(e layout.Entry, class uint32, where string) {
	if layout.IsCellClass(class) {
		at, live := process.heap.CellAt(e.Object)
		c.Want(at == class && !live, "%s: class %d, %#x is a slot of class %d, with a cell: %v", where, class, e.Object, at, live)
		c.found(process.heap.Find(e.Object).Record, where)
		return
	}
	r, at := process.heap.Record(e.Record), process.heap.Find(e.Object)
	c.Want(at.Record == e.Record && at.Start == e.Object && at.Kind == heap.Dead && e.Gen&0xFF == class,
		"%s: class %d, %+v is at %+v", where, class, e, at)
	c.Want(r.Gen == e.Gen && r.Sh == 0 && r.Loc == 0 && r.TypeFlags == layout.TypePlain, "%s: %+v has the record %+v",
		where, e, *r)
	c.found(e.Record, where)
}

func (c *slotChecker) magazine(x *Context, class uint32) {
	m := &x.Magazines[class]
	full := m.Base + uintptr(process.slices.magazines[class]-uint32(x.Taken[class]))*layout.EntryBytes
	if m.Base > m.Top || m.Top > m.Limit || m.Limit > full || (m.Top-m.Base)%layout.EntryBytes != 0 {
		c.Want(false, "context %d, class %d: a magazine of %#x, %#x, %#x, at most %#x", x.Id, class, m.Base, m.Top,
			m.Limit, full)
		return
	}
	for at := m.Base; at < m.Top; at += layout.EntryBytes {
		c.unused(*layout.At[layout.Entry](at), class, "a magazine")
	}
}

func (c *slotChecker) warm(x *Context) {
	if x.Warm < x.End || x.Warm > x.endOfEntries() {
		return // CheckStacks says so, or there is none
	}
	for at := x.End; at < x.Warm; at += layout.EntryBytes {
		e := *layout.At[layout.Entry](at)
		c.Want(e.Gen&0xFF <= layout.WarmClasses, "context %d: a warm place has class %d", x.Id, e.Gen&0xFF)
		c.unused(e, e.Gen&0xFF, "a warm place")
	}
}

func (c *slotChecker) quarantined() {
	if process.debug == nil {
		return
	}
	err := process.debug.Check(func(e layout.Entry) { c.unused(e, e.Gen&0xFF, "the quarantine") })
	c.Want(err == nil, "%v", err)
}

// dying walks the list of dead objects whose fields are still to be released.
func (c *slotChecker) dying(x *Context) {
	last := uint32(0)
	for record := x.Draining.DestroyFirst; record != 0; {
		r := process.heap.Record(record)
		object := process.heap.Locate(record, r.Loc&0xFFFF, r.Gen&0xFF)
		c.Want(r.Sh&layout.ShAlive == 0 && process.heap.Find(object).Record == record, "dying record %d is %+v, at %#x",
			record, *r, object)
		if c.free[record] != "" {
			c.Want(false, "record %d is dying and in %s", record, c.free[record])
			return
		}
		c.free[record] = "a destruction queue"
		last, record = record, nextToDestroy(r)
	}
	c.Want(x.Draining.DestroyFirst == 0 || last == x.Draining.DestroyLast, "context %d: the destruction queue ends with %d, not %d", x.Id,
		last, x.Draining.DestroyLast)
}

// slots walks everything that was ever handed out.
func (c *slotChecker) slots() {
	process.heap.Slabs(func(s heap.Slab) {
		for i := range s.Slots {
			record := s.Slot(i).Record
			r := process.heap.Record(record)
			where := c.free[record]
			if s.Cells {
				c.cell(s, i, r, where)
				continue
			}
			typ := atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask
			switch {
			case r.Sh&layout.ShAlive != 0:
				c.Want(where == "", "record %d is alive and in %s", record, where)
				c.live(record, r, typ)
			case c.kept[record]:
				c.Want(where == "" && typ == layout.TypeTensor, "record %d is kept and in %s: %+v", record, where, *r)
			case where != "" || typ == layout.TypeVecData:
				c.Want(where == "" || typ != layout.TypeVecData, "the table at record %d is in %s", record, where)
			default:
				c.Want(r.Gen >= layout.GenLast, "record %d is nowhere: %+v", record, *r)
				c.retired[r.Gen&0xFF]++
			}
		}
	})
	c.Want(c.retired == process.heap.Retired(), "%d slots are retired, counted %d", c.retired, process.heap.Retired())
}

// cell checks a slot of a class of cells, whose record never tells of a life.
func (c *slotChecker) cell(s heap.Slab, i uint32, r *layout.Record, where string) {
	c.Want(r.Sh == 0 && r.TypeFlags == layout.TypePlain, "the record of a slot for cells is %+v", *r)
	if s.IsRetired(i) {
		c.retired[process.heap.ClassOf(s.Slot(i).Object)]++
		return
	}
	c.Want(s.HasCell(i) == (where == ""), "the cell at %#x lives: %v, and is in %s", s.Slot(i).Object, s.HasCell(i), where)
}

// live checks the words of a live object.
func (c *slotChecker) live(record uint32, r *layout.Record, typ uint32) {
	s, owner := layout.UnpackSh(r.Sh), layout.LocOwner(r.Loc)
	known := typ == layout.TypePlain || typ == layout.TypeVec || typ == layout.TypeTensor || typ == layout.TypeSparse ||
		process.types.get(typ) != nil
	c.Want(known && r.TypeFlags == typ, "record %d is of type %#x", record, r.TypeFlags)
	if s.Has(layout.ShMerged) {
		c.Want((r.Loc == 0 || IsCell(r)) && s.Claims == 0, "record %d is merged and has a local word: %+v", record, *r)
	} else {
		c.Want(owner >= 1 && owner <= min(process.slices.created.Load(), layout.MaxOwner), "record %d is of context %d",
			record, owner)
	}
	// Another thread that lets a reference float cannot see how many the owner counts.
	if s.Flags&(layout.ShImmortal|layout.ShQueued) != 0 || !s.Has(layout.ShMerged) && layout.LocFloatsOf(r.Loc) == 0 {
		return
	}
	// More references may be noted as floating than exist: sums takes the
	// number of references as correct.
	references, floats := sums(r.Loc, s)
	c.Want(floats >= 0, "record %d: %d floats of %d references, %+v", record, floats, references, *r)
}

// waits counts an object that takes so many units and waits for its owner.
func (c *slotChecker) waits(units uint32) {
	if units != 0 {
		c.waiting++
		c.waitingUnits += uint64(units)
	}
}

// lists counts the nodes in inboxes and the pending deleter calls in lists, of all contexts.
func (c *slotChecker) lists() (inboxes uint32, deleterCalls uint64) {
	pending := process.registry.Pending()
	EachContext(func(x *Context) {
		for _, first := range [...]uint64{atomic.LoadUint64(&x.Word) >> 2, x.Waiting} {
			for i := uint32(first); i != 0 && inboxes < process.nodes.fresh; i = nodeAt(i).Next {
				inboxes++
				c.waits(nodeAt(i).Chain)
				c.waits(process.late.of(nodeAt(i).Record))
			}
		}
		inboxes += c.chain(x.Nodes.First, x.Nodes.Count, "its first chain") + c.chain(x.Nodes.Full, layout.NodeChain,
			"its full chain")
		last := uint32(0)
		for i := x.Draining.DeleterFirst; i != 0 && deleterCalls <= pending; i = waiting(i).Next {
			c.Want(waiting(i).State == layout.BlockPending, "context %d: record %d is no pending deleter call", x.Id, i)
			deleterCalls++
			last = i
		}
		c.Want(last == x.Draining.DeleterLast || x.Draining.DeleterFirst == 0, "context %d: pending deleter calls end with %d, not %d",
			x.Id, last, x.Draining.DeleterLast)
	})
	return inboxes, deleterCalls
}

// chain counts the nodes of a free chain, 0 for none.
func (c *slotChecker) chain(first, want uint32, name string) (count uint32) {
	for i := first; i != 0 && count < layout.NodeChain; i = nodeAt(i).Next {
		count++
	}
	if first != 0 || name == "its first chain" {
		c.Want(count == want, "%s of free nodes has %d, not %d", name, count, want)
	}
	return count
}

func (c *slotChecker) nodes(used uint32) {
	n := &process.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := uint32(process.g.NodeChains); i != 0 && used < n.fresh; i = nodeAt(i).Chain {
		used += c.chain(i, layout.NodeChain, "a chain")
	}
	spares := uint32(0)
	for _, r := range n.spare {
		spares += r.end - r.first
	}
	c.Want(spares == n.spares, "%d spare nodes are counted, and there are %d", n.spares, spares)
	used += spares
	c.Want(used+1 == n.fresh, "%d nodes of %d are free or in an inbox", used, n.fresh-1)
}

func (c *slotChecker) deleterCalls(used uint64) {
	pending := process.registry.Pending()
	c.Want(used == pending, "%d pending deleter calls of %d are in a list", used, pending)
}
