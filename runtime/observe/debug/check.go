package debug

import (
	"bytes"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// CheckZone tells of a red zone that was written to, and mends it.
func (d *debugging) CheckZone(c *object.Context, e layout.Entry) (damaged bool) {
	return overran(c, e, d.mendZone(e), d.bytesOf(e))
}

// bytesOf is Usable of a slot whose size is to be looked up.
func (d *debugging) bytesOf(e layout.Entry) uint64 { return d.Usable(e, object.Heap().Size(e.Object)) }

// checkLive is CheckZone for an object that another thread may release meanwhile, which
// does not poison the slot while somebody mends its zone (retract).
func (d *debugging) checkLive(c *object.Context, e layout.Entry) (damaged bool) {
	if spoiled(d.zone(e), redZone) < 0 {
		return false
	}
	at, bytes := -1, d.bytesOf(e)
	d.mu.Lock()
	if d.isGuarded(e) {
		at = d.mendZone(e)
	}
	d.mu.Unlock()
	return overran(c, e, at, bytes)
}

func overran(c *object.Context, e layout.Entry, at int, bytes uint64) bool {
	if at >= 0 {
		corrupted(c, object.TextRedZone, e.Object, uint64(at), bytes)
	}
	return at >= 0
}

// mendZone returns the first byte of a red zone that was written to, -1 when none was.
func (d *debugging) mendZone(e layout.Entry) int {
	zone := d.zone(e)
	at := spoiled(zone, redZone)
	if at >= 0 {
		fill(zone, redZone)
	}
	return at
}

// checkPoison tells of a write to a slot that nobody has, and mends it.
func checkPoison(c *object.Context, e layout.Entry) (damaged bool) {
	at := mendPoison(e)
	if at >= 0 {
		corrupted(c, object.TextPoison, e.Object, uint64(at))
	}
	return at >= 0
}

// mendPoison returns the first byte of a slot that was written to, -1 when none was.
func mendPoison(e layout.Entry) int {
	slot := layout.Bytes(e.Object, object.Heap().Size(e.Object))
	at := spoiled(slot, poison)
	if at >= 0 {
		fill(slot, poison)
	}
	return at
}

// checkBefore tells of a write to what stands before a live object, and mends it: the
// last bytes of the slot before. Those are never anybody's; while that object lives they
// are red zone, and else poison, zone or zero, whatever other threads do meanwhile. A
// zone that is damaged from its first byte on was overrun from its own side, and is told
// when it is that object's turn. Nothing of ours stands before the first slot of a slab.
func (d *debugging) checkBefore(c *object.Context, e layout.Entry) (damaged bool) {
	before := object.Heap().Find(e.Object - 1)
	if before.Kind != heap.Interior || object.Heap().PlaceInBlock(e.Record) == 0 ||
		before.Start+uintptr(object.Heap().Size(e.Object)) != e.Object {
		return false
	}
	left := layout.Entry{Object: before.Start, Record: before.Record, Gen: before.Gen}
	guarded := d.isGuarded(left)
	bytes := layout.Bytes(e.Object-smallZone, smallZone)
	at := lastForeign(bytes, guarded)
	if at < 0 || !d.mendBefore(bytes, left, guarded) {
		return false
	}
	corrupted(c, object.TextBefore, e.Object, uint64(smallZone-at))
	return true
}

// mendBefore mends the end of a slot, unless its object has gone meanwhile or has overrun
// it itself.
func (d *debugging) mendBefore(end []byte, of layout.Entry, guarded bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if guarded && (!d.isGuarded(of) || d.zone(of)[0] != redZone) {
		return false
	}
	value := byte(poison)
	if guarded {
		value = redZone
	}
	fill(end, value)
	return true
}

// lastForeign returns the last byte that is not the runtime's own, -1: there is none.
func lastForeign(b []byte, guarded bool) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != redZone && (guarded || b[i] != poison && b[i] != 0) {
			return i
		}
	}
	return -1
}

// isGuarded tells whether a slot holds an object, or the table of a Vec, with a red zone.
func (d *debugging) isGuarded(e layout.Entry) bool {
	r := object.Heap().Record(e.Record)
	inUse := atomic.LoadUint32(&r.Sh)&layout.ShAlive != 0 || atomic.LoadUint32(&r.TypeFlags) == layout.TypeVecData
	return inUse && atomic.LoadUint32(&r.Gen) == e.Gen && atomic.LoadUint32(&d.guard(e.Record).gen) == e.Gen
}

// spoiled returns the first byte that is not what it should be, -1 when all are.
func spoiled(b []byte, value byte) int {
	if len(b) == 0 || b[0] == value && bytes.Equal(b[1:], b[:len(b)-1]) {
		return -1
	}
	for i := range b {
		if b[i] != value {
			return i
		}
	}
	return -1
}

// CheckAll looks at every red zone and at all poison, and returns how many slots are
// damaged; -1 when there are none to look at. Other threads may go on.
func CheckAll(c *object.Context) (damaged int64) {
	d := &guards
	if !d.on() {
		c.Fail(status.Unsupported, object.TextNoDebug, 0)
		return -1
	}
	count := func(found bool) {
		if found {
			damaged++
		}
	}
	object.Heap().Slabs(func(s heap.Slab) {
		for i := s.Slots; i > 0; i-- { // an object before the one to the left of it
			e := s.Slot(i - 1)
			e.Gen = atomic.LoadUint32(&object.Heap().Record(e.Record).Gen)
			if d.isGuarded(e) {
				count(d.checkBefore(c, e))
				count(d.checkLive(c, e))
			}
		}
	})
	for _, w := range d.written() {
		corrupted(c, object.TextPoison, w.object, uint64(w.at))
		damaged++
	}
	for _, b := range d.blocks.overrun() {
		corrupted(c, object.TextRedZone, b.address, uint64(b.at), b.bytes)
		damaged++
	}
	return damaged
}

// written is a write after a release.
type written struct {
	object uintptr
	at     int
}

// written mends what waits in the quarantine, where nobody gets it meanwhile.
func (d *debugging) written() (all []written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.queue[d.first:] {
		if at := mendPoison(e); at >= 0 {
			all = append(all, written{e.Object, at})
		}
	}
	return all
}

// CheckAtEnd is CheckAll for the end of the process, where nobody asks for the status:
// the damage is told at once. It returns how much was found in all.
func CheckAtEnd(c *object.Context) (found int64) {
	c.Error.Function = 0
	CheckAll(c)
	guards.Report(c, 0)
	guards.findings.tellRepeated()
	return guards.findings.count.Load()
}
