// Package track remembers where live memory came from: the call stack, the line if
// the program told it, time, thread, tag and size of each allocation that is
// recorded. It records all of them or, cheap enough for production, a sample by
// bytes; see sample.go.
//
// A record of the heap has a generation that every free changes, and so has an entry
// of the registry. Therefore nothing has to be done when tracked memory is freed: what
// is known of it lapses by itself, since the generations differ. Blocks of memory
// pools have none; whoever frees one says so.
//
//	track.go     what is recorded
//	contexts.go  by whom
//	tags.go      what threads say that they are doing
//	sample.go    which allocations are recorded
//	sites.go     stacks, names and tags, each kept once
//	python.go    frames of Python in stacks
//	marks.go     where scopes and frames were entered
//	records.go   what is known by record
//	table.go     what is known by address
//	totals.go    what was ever made where
//	traced.go    what a trace is told of
//
// Package object knows nothing of this one: it calls hooks (contexts.go). Lock order:
// tracker.mu before the locks of the registry and of tensors' blocks, which ask nothing here.
package track

import (
	"sync"
	"sync/atomic"
	"time"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// Kind tells in which table an allocation stands.
type Kind uint8

// The kinds: objects by their record, foreign blocks and blocks of pools by address.
const (
	Object Kind = iota
	Foreign
	Block
)

func (k Kind) String() string { return [...]string{"object", "registered", "pool block"}[k] }

// BufferKey marks the key of a shared buffer, which is its number.
const BufferKey = 1 << 63

// Ref names an allocation for as long as it lives. Gen is 0 for blocks of pools.
type Ref struct {
	Kind Kind
	Key  uint64
	Gen  uint32
}

// OfObject names the object in a slot.
func OfObject(e layout.Entry) Ref { return Ref{Kind: Object, Key: uint64(e.Record), Gen: e.Gen} }

// OfBuffer names a shared block by its number.
func OfBuffer(id uint64) Ref { return Ref{Kind: Foreign, Key: BufferKey | id} }

// OfForeign names a registered block: a buffer by its number, since any of its addresses
// may go first.
func OfForeign(t *registry.Table, info registry.Info) Ref {
	if info.Link != 0 {
		if d, known := t.Outline(info); known && d.Id != 0 {
			return OfBuffer(d.Id)
		}
	}
	return Ref{Kind: Foreign, Key: uint64(info.Pointer), Gen: info.Gen}
}

// Entry is what is known of an allocation.
type Entry struct {
	Seq    uint64  // number of the recording, from 1; 0 = nothing is known
	Time   uint64  // nanoseconds since 1970
	Bytes  uint64  // as asked for
	Gen    uint32  // of the record or of the registry's entry
	Site   uint32  // where it was allocated, 0 = not told
	Freed  uint32  // where it was released; while TL_DEBUG is on
	Thread uint32  // the system's number
	Tag    uint32  // name of the tags that were pushed, 0 = none
	Weight float32 // how many allocations like it one sample stands for; 1 when all are recorded
}

const (
	entryBytes = 48
	purpose    = "tracking"
)

var tracker struct {
	period  atomic.Uint64 // mean bytes from one sample to the next; 0 = off, 1 = all
	counter uintptr       // where recordings are counted; programs read it
	lost    atomic.Uint64 // recordings for which there was no memory

	mu      sync.Mutex // guards the rest
	marks   uintptr
	records records
	foreign table
	blocks  table
	sites   sites
	pending map[uintptr]*pending // by context: what lacks its stack
	made    map[origin]*Made
	entered map[uintptr][]uint32 // by context: where its marks were opened, 0 = not known
}

// pending is what a call has made and released so far; the stack comes at its end.
type pending struct {
	made    []pendingMade
	freed   []Ref
	entered []uint64 // marks
}

type pendingMade struct {
	ref     Ref
	address uint64
}

// asked is what a program has asked for: of a tensor, which is complete now, its elements; of a cell, what is behind
// its head.
func (p *pendingMade) asked(bytes uint64) uint64 {
	e := layout.Entry{Object: uintptr(p.address), Record: uint32(p.ref.Key), Gen: p.ref.Gen}
	switch {
	case p.ref.Kind != Object:
	case object.IsTensor(e):
		return object.AskedOf(e)
	case object.HasCell(e):
		return bytes - layout.CellOffset
	}
	return bytes
}

func pendingOf(context uintptr) *pending {
	p := tracker.pending[context]
	if p == nil {
		p = &pending{}
		tracker.pending[context] = p
	}
	return p
}

// openTables makes room for the entries of so many records; later calls do nothing.
func openTables(records uint64) status.Status {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if tracker.records != nil {
		return status.OK
	}
	if tables() == 0 {
		return status.OutOfMemory
	}
	tracker.records = newRecords(records)
	tracker.pending = map[uintptr]*pending{}
	tracker.made = map[origin]*Made{}
	tracker.entered = map[uintptr][]uint32{}
	return status.OK
}

// CountAt has recordings counted at an address, which stays where it is. It comes before
// everything else; without it the number stands in memory of the package's own.
func CountAt(address uintptr) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	tracker.counter = address
}

// tables maps the marks and, if nobody has given one, the counter. Marks are
// layout.BlockMarks counters: how many recorded blocks have an address of each mark, so that
// freeing others asks nobody. tracker.mu is held.
func tables() (marks uintptr) {
	if tracker.marks == 0 {
		base, err := memory.Map(layout.SpanBytes, purpose)
		if err != nil {
			return 0
		}
		tracker.marks = base
		if tracker.counter == 0 {
			tracker.counter = base + marksBytes
		}
	}
	return tracker.marks
}

const (
	markBits   = 12
	marksBytes = 4 << markBits
)

func mark(address uint64, change uint32) {
	at := tracker.marks + uintptr(address*layout.HashFactor>>(64-markBits))*4
	atomic.AddUint32(layout.At[uint32](at), change)
}

// Count returns the number of recordings so far.
func Count() uint64 {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if tracker.counter == 0 {
		return 0
	}
	return atomic.LoadUint64(layout.At[uint64](tracker.counter))
}

// Lost returns how many recordings there was no memory for.
func Lost() uint64 { return tracker.lost.Load() }

// record notes an allocation of a context's. Its stack follows with settle.
func record(context uintptr, ref Ref, address, bytes uint64, weight float32, tag uint32) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	e := place(ref)
	if e == nil {
		tracker.lost.Add(1)
		return
	}
	*e = Entry{Bytes: bytes, Gen: ref.Gen, Tag: tag, Weight: weight, Time: aboutNow()}
	e.Seq = atomic.AddUint64(layout.At[uint64](tracker.counter), 1)
	p := pendingOf(context)
	p.made = append(p.made, pendingMade{ref, address})
}

// aboutNow is the time in nanoseconds since 1970; while a trace runs that of its newest event, because the trace
// asks for the time when it is told of the allocation.
func aboutNow() uint64 {
	if newest := trace.Newest(); newest != 0 {
		return newest
	}
	return uint64(time.Now().UnixNano())
}

// Released notes that an object was released in this call, for reports about its end.
func Released(context uintptr, ref Ref) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if find(ref) != nil {
		p := pendingOf(context)
		p.freed = append(p.freed, ref)
	}
}

// Forget drops what is known of a block of a pool: it was freed.
func Forget(address uint64) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if e := tracker.blocks.find(address); e != nil && trace.On() {
		traceRelease(0, Block, address, e.Bytes)
	}
	if tracker.blocks.remove(address) {
		mark(address, ^uint32(0))
	}
}

// ForgetBlocks drops what is known of blocks of pools.
func ForgetBlocks() {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	for _, s := range tracker.blocks.all() {
		tracker.blocks.remove(s.key)
		mark(s.key, ^uint32(0))
	}
}

// settle gives what the context has recorded its stack, and returns the number of the site.
func settle(context uintptr, stack []uintptr, thread uint32) (site uint32) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	site = tracker.sites.add(stack, 0, 0)
	all := tracker.pending[context]
	if all == nil {
		return site
	}
	for _, p := range all.made {
		if e := find(p.ref); e != nil {
			e.Site, e.Thread, e.Bytes = site, thread, p.asked(e.Bytes)
			e.count(1)
			if now := traceAllocation(context, p, e); now != 0 {
				e.Time = now
			}
		}
	}
	for _, ref := range all.freed {
		if e := find(ref); e != nil {
			e.Freed = site
		}
	}
	all.settleMarks(context, site)
	all.made, all.freed = all.made[:0], all.freed[:0] // their memory is for the context's next call
	return site
}

// name notes the line of the program at which an allocation was made; false: it is not
// among the recorded ones.
func name(ref Ref, address uint64, file string, line uint32) bool {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	e := find(ref)
	if e == nil {
		return false
	}
	name := tracker.sites.name(file)
	if name == 0 {
		return false
	}
	e.moveTo(address, tracker.sites.add(tracker.sites.stackOf(e.Site), name, line))
	return true
}

// moveTo corrects the site of an allocation that was recorded. tracker.mu is held.
func (e *Entry) moveTo(address uint64, site uint32) {
	e.count(-1)
	e.Site = site
	e.count(1)
	if trace.On() {
		trace.Named(0, address, site)
	}
}

// resize notes that other bytes are asked of a recorded allocation now. To a trace that
// is an end and an allocation.
func resize(context uintptr, ref Ref, address, bytes uint64) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	e := find(ref)
	if e == nil {
		return
	}
	if trace.On() {
		traceRelease(layout.At[layout.Context](context).Id, ref.Kind, address, e.Bytes)
	}
	e.count(-1)
	e.Bytes = bytes
	e.count(1)
	traceAllocation(context, pendingMade{ref, address}, e)
}

// Find returns what is known of an allocation.
func Find(ref Ref) (Entry, bool) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if e := find(ref); e != nil {
		return *e, true
	}
	return Entry{}, false
}

// Last returns what is known of the newest object that had the record, live or not.
func Last(record uint32) (Entry, bool) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	e := tracker.records.find(uint64(record))
	if e == nil {
		return Entry{}, false
	}
	return *e, e.Seq != 0
}

// find returns the entry of an allocation, nil when nothing is known of this life of it.
func find(ref Ref) *Entry {
	var e *Entry
	switch ref.Kind {
	case Object:
		e = tracker.records.find(ref.Key)
	case Foreign:
		e = tracker.foreign.find(ref.Key)
	default:
		e = tracker.blocks.find(ref.Key)
	}
	if e == nil || e.Seq == 0 || e.Gen != ref.Gen {
		return nil
	}
	return e
}

// place returns the entry to be written, nil when there is no memory for it.
func place(ref Ref) *Entry {
	switch ref.Kind {
	case Object:
		return tracker.records.place(ref.Key)
	case Foreign:
		return tracker.foreign.place(ref.Key)
	default:
		known := tracker.blocks.find(ref.Key) != nil
		e := tracker.blocks.place(ref.Key)
		if e != nil && !known {
			mark(ref.Key, 1)
		}
		return e
	}
}

// lapse tells which foreign blocks still have the generation that is known of them;
// those of which it says no are forgotten when room is wanted.
func lapse(current func(key uint64, gen uint32) bool) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	tracker.foreign.current = current
}
