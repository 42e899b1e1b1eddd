// Package debug is TL_DEBUG: red zones, poison and quarantine, in the manner of AddressSanitizer
// (Serebryany, Bruening, Potapenko and Vyukov, "AddressSanitizer: A Fast Address Sanity
// Checker", USENIX ATC 2012), by software alone. Every call takes the slow path.
//
//	slot = | bytes that were asked for | red zone, at least 16 bytes |
//
// What stands before an object is the red zone of the slot before it. When an object
// dies its zone is checked, the slot is filled with poison and waits in the quarantine,
// oldest first out, before it is anybody's again: a pointer to it stays TL_E_NOT_LIVE, and
// poison that changed tells of a write after the release. The tensor pool keeps nothing.
//
//	debug.go   what is done with slots (object.Debugger)
//	check.go   what is looked at, when something is released and on demand
//	misuse.go  what is wrong with references and scopes, and damages nothing yet
//	report.go  how damage is told
//	blocks.go  blocks of memory pools
package debug

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

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

// debugging is object.Debugger. It is off as long as table is 0.
type debugging struct {
	table uintptr // guardInfo by record
	most  uint64  // bytes of the quarantine

	mu    sync.Mutex // guards the rest; the heap's locks are taken under none of it
	first int        // of the queue
	queue []layout.Entry
	bytes uint64
	held  [layout.Classes]int64 // slots in the queue, by class
	large int64                 // spans of large objects there

	findings findings
	blocks   guardedBlocks
}

// guards is the one of this process.
var guards debugging

// Guards returns what guards the heap, for object.Config; so many bytes of released objects
// are kept back, 0 stands for 16 MiB.
func Guards(quarantined uint64) object.Debugger {
	guards.most = cmp.Or(quarantined, quarantine)
	return &guards
}

func (d *debugging) on() bool { return d.table != 0 }

// Open is object.Debugger's, as the other exported methods are.
func (d *debugging) Open() status.Status {
	base, err := memory.Map(uintptr(object.Heap().RecordLimit()*guardInfoBytes), "debugging")
	if err != nil {
		return status.OutOfMemory
	}
	d.table = base
	return status.OK
}

// Close gives the table back. Nothing was guarded.
func (d *debugging) Close() {
	if d.table != 0 {
		memory.Unmap(d.table, uintptr(object.Heap().RecordLimit()*guardInfoBytes), "debugging")
		d.table = 0
	}
}

func (d *debugging) guard(record uint32) *guardInfo {
	return layout.At[guardInfo](d.table + uintptr(record)*guardInfoBytes)
}

// Room adds a red zone to an object of n bytes.
func (d *debugging) Room(n uintptr) uintptr {
	if n%alignedZone == 0 {
		return n + alignedZone
	}
	return n + smallZone
}

// Guard makes what lies behind n bytes of a slot its red zone. Who looks at a live
// object meanwhile sees none (isGuarded).
func (d *debugging) Guard(e layout.Entry, n uintptr) {
	g := d.guard(e.Record)
	atomic.StoreUint32(&g.gen, 0)
	atomic.StoreUint64(&g.bytes, uint64(n))
	size := uintptr(object.Heap().Size(e.Object))
	fill(layout.Bytes(e.Object+n, uint64(size-n)), redZone)
	memory.Shade(e.Object, n, false)
	memory.Shade(e.Object+n, size-n, true)
	atomic.StoreUint32(&g.gen, e.Gen)
}

// Usable returns the bytes of a live object that its holder may write to.
func (d *debugging) Usable(e layout.Entry, size uint64) uint64 {
	if g := d.guard(e.Record); atomic.LoadUint32(&g.gen) == e.Gen {
		return min(atomic.LoadUint64(&g.bytes), size)
	}
	return size
}

func (d *debugging) zone(e layout.Entry) []byte {
	size := object.Heap().Size(e.Object)
	n := d.Usable(e, size)
	return layout.Bytes(e.Object+uintptr(n), size-n)
}

func fill(b []byte, value byte) {
	for i := range b {
		b[i] = value
	}
}

// Bury looks at an object that is dead, and makes poison of it.
func (d *debugging) Bury(c *object.Context, e layout.Entry) {
	d.checkBefore(c, e)
	d.CheckZone(c, e)
	track.Released(layout.Address(c), track.OfObject(e))
	d.retract(e)
	fill(layout.Bytes(e.Object, object.Heap().Size(e.Object)), poison)
	shadeSlot(e, true)
}

// shadeSlot closes a slot to the program while it waits in the quarantine, and opens it afterwards.
func shadeSlot(e layout.Entry, closed bool) {
	memory.Shade(e.Object, uintptr(object.Heap().Size(e.Object)), closed)
}

// Wait queues a slot, unless it is larger than the quarantine, and returns those that have
// waited long enough.
func (d *debugging) Wait(c *object.Context, e layout.Entry) (free []layout.Entry) {
	size := object.Heap().Size(e.Object)
	if size > d.most {
		shadeSlot(e, false)
		return []layout.Entry{e}
	}
	free = d.enter(e, size)
	for _, old := range free {
		checkPoison(c, old)
		shadeSlot(old, false)
	}
	return free
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
		d.count(old, object.Heap().Size(old.Object), -1)
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

// Empty returns all slots that wait, when memory is short, and their bytes. No call can have
// the status of what is found: it is only written.
func (d *debugging) Empty() (waiting []layout.Entry, bytes uint64) {
	d.mu.Lock()
	waiting = d.queue[d.first:]
	bytes, d.queue, d.first = d.bytes, nil, 0
	d.bytes, d.held, d.large = 0, [layout.Classes]int64{}, 0
	d.mu.Unlock()
	for _, e := range waiting {
		if at := mendPoison(e); at >= 0 {
			d.findings.report(object.TextPoison, e.Object, at)
		}
		shadeSlot(e, false)
	}
	return waiting, bytes
}

// Quarantined returns how many slots of each class wait, and the spans of large objects.
func (d *debugging) Quarantined() ([layout.Classes]int64, int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.held, d.large
}

// Check visits the slots that wait, and compares them with what is counted of them.
func (d *debugging) Check(visit func(layout.Entry)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var held [layout.Classes]int64
	bytes := uint64(0)
	for _, e := range d.queue[d.first:] {
		visit(e)
		held[e.Gen&0xFF]++
		bytes += object.Heap().Size(e.Object)
	}
	if held != d.held || bytes != d.bytes || bytes > d.most {
		return fmt.Errorf("a quarantine of %d bytes, counted %d", bytes, d.bytes)
	}
	return nil
}
