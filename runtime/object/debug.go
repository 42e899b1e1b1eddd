package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// TL_DEBUG: red zones, poison and quarantine, in the manner of AddressSanitizer
// (Serebryany, Bruening, Potapenko and Vyukov, "AddressSanitizer: A Fast Address Sanity
// Checker", USENIX ATC 2012), by software alone. Every call takes the slow path.
//
//	slot = | bytes that were asked for | red zone, at least 16 bytes |
//
// What stands before an object is the red zone of the slot before it. When an object
// dies its zone is checked, the slot is filled with poison and waits in the quarantine,
// oldest first out, before it is anybody's again: a pointer to it stays TL_E_NOT_LIVE, and
// poison that changed tells of a write after the release. The tensor pool keeps nothing.
const (
	redZone     = 0xFB
	poison      = 0xDD
	smallZone   = 16
	alignedZone = 64 // of sizes whose objects are aligned to 64 bytes
	quarantine  = 16 << 20
	leastBytes  = 256 // quarantine for one block: so many wait at once at most
)

type guardInfo struct {
	gen   uint32
	spare uint32
	bytes uint64 // as asked for
}

const guardInfoBytes = 16

// debugging is off as long as guards is 0.
type debugging struct {
	guards uintptr // guardInfo by record
	most   uint64  // bytes of the quarantine

	mu    sync.Mutex // guards the rest; the heap's locks are taken under none of it
	first int        // of the queue
	queue []layout.Entry
	bytes uint64
	held  [layout.Classes]int64 // slots in the queue, by class
	large int64                 // spans of large objects there

	findings findings
	blocks   guardedBlocks
}

func (d *debugging) on() bool { return d.guards != 0 }

func (d *debugging) open() status.Status {
	base, err := memory.Map(uintptr(process.heap.RecordLimit()*guardInfoBytes), "debugging")
	if err != nil {
		return status.OutOfMemory
	}
	d.guards, d.most = base, process.cfg.Quarantine
	if d.most == 0 {
		d.most = quarantine
	}
	return status.OK
}

// close gives the guards back. Nothing was guarded.
func (d *debugging) close() {
	if d.guards != 0 {
		memory.Unmap(d.guards, uintptr(process.heap.RecordLimit()*guardInfoBytes), "debugging")
		d.guards = 0
	}
}

func (d *debugging) guard(record uint32) *guardInfo {
	return layout.At[guardInfo](d.guards + uintptr(record)*guardInfoBytes)
}

// withZone is what is asked of the heap for an object of n bytes.
func withZone(n uintptr) uintptr {
	if n%alignedZone == 0 {
		return n + alignedZone
	}
	return n + smallZone
}

// obtainGuarded is obtain with a red zone behind the object.
func (c *Context) obtainGuarded(n uintptr) (e layout.Entry, zero bool, st status.Status) {
	if uint64(n) > process.g.HeapBytes {
		return e, false, status.OutOfMemory
	}
	if e, zero, st = c.obtainSlot(withZone(n), n); st == status.OK {
		c.setGuard(e, n)
	}
	return e, zero, st
}

// setGuard makes what lies behind n bytes of a slot its red zone. Who looks at a live
// object meanwhile sees none (isGuarded).
func (c *Context) setGuard(e layout.Entry, n uintptr) {
	g := process.debug.guard(e.Record)
	atomic.StoreUint32(&g.gen, 0)
	atomic.StoreUint64(&g.bytes, uint64(n))
	fill(layout.Bytes(e.Object+n, process.heap.Size(e.Object)-uint64(n)), redZone)
	atomic.StoreUint32(&g.gen, e.Gen)
}

// usable returns the bytes of a live object that its holder may write to.
func usable(e layout.Entry) uint64 {
	size := process.heap.Size(e.Object)
	if !process.debug.on() {
		return size
	}
	if g := process.debug.guard(e.Record); atomic.LoadUint32(&g.gen) == e.Gen {
		return min(atomic.LoadUint64(&g.bytes), size)
	}
	return size
}

func zoneOf(e layout.Entry) []byte {
	n := usable(e)
	return layout.Bytes(e.Object+uintptr(n), process.heap.Size(e.Object)-n)
}

func fill(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// bury is recycle with a check and a wait; the object is dead.
func (c *Context) bury(r *layout.Record, e layout.Entry) {
	c.checkBefore(e)
	c.checkZone(e)
	c.countUntyped(r.TypeFlags&layout.TypeMask, e)
	track.Released(c.address(), track.OfObject(e))
	c.Pending |= pendingSome
	size := process.heap.Size(e.Object)
	process.debug.retract(e)
	fill(layout.Bytes(e.Object, size), poison)
	e, left := renew(r, e)
	if !left {
		return
	}
	if size > process.debug.most {
		c.giveSlot(e)
		return
	}
	for _, old := range process.debug.enter(e, size) {
		c.checkPoison(old)
		c.giveSlot(old)
	}
}

// retract ends what is said of a red zone, before there is poison in its place: whoever
// checks the slot of another thread (checkLive) sees no zone from here on.
func (d *debugging) retract(e layout.Entry) {
	d.mu.Lock()
	atomic.StoreUint32(&d.guard(e.Record).gen, 0)
	d.mu.Unlock()
}

// enter queues a slot and returns those that have waited long enough.
func (d *debugging) enter(e layout.Entry, size uint64) (done []layout.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue = append(d.queue, e)
	d.count(e, size, 1)
	for d.bytes > d.most || uint64(len(d.queue)-d.first) > d.most/leastBytes {
		old := d.queue[d.first]
		d.first++
		d.count(old, process.heap.Size(old.Object), -1)
		done = append(done, old)
	}
	if 2*d.first > len(d.queue) {
		d.queue = append([]layout.Entry(nil), d.queue[d.first:]...)
		d.first = 0
	}
	return done
}

func (d *debugging) count(e layout.Entry, size uint64, sign int64) {
	class := e.Gen & 0xFF
	d.bytes += size * uint64(sign)
	d.held[class] += sign
	if class == layout.ClassLarge {
		d.large += sign * int64(size>>layout.SpanShift)
	}
}

// empty gives all slots that wait back to the heap, when memory is short, and returns
// their bytes. No call can have the status of what is found: it is only written.
func (d *debugging) empty() (freed uint64) {
	d.mu.Lock()
	waiting := d.queue[d.first:]
	freed, d.queue, d.first = d.bytes, nil, 0
	d.bytes, d.held, d.large = 0, [layout.Classes]int64{}, 0
	d.mu.Unlock()
	for _, e := range waiting {
		if at := mendPoison(e); at >= 0 {
			d.findings.report(textPoison, e.Object, at)
		}
		giveDirectly(e)
	}
	return freed
}

// quarantined returns how many slots of each class wait, and the spans of large objects.
func (d *debugging) quarantined() ([layout.Classes]int64, int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.large
}
