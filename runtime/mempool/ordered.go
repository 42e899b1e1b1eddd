package mempool

import (
	"fmt"
	"slices"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Blocks that were given back in the order of streams. Work that was put into a stream
// before may still use such a block, so it waits: its record is neither live (in no
// chain) nor free (in no treap), and a list apart knows which events have to pass. The
// fast path sees a record that it never finds and never joins.
//
// An allocation for the same stream may have such a block at once, because only
// later work will use it. The block is then lent: whichever call gives it back,
// it waits again for the same events, unless they have passed meanwhile or a
// new event of the same stream replaces them.
//
// The list is searched in the order in which the blocks came. It is short,
// because blocks whose wait is over leave it each time the pool is about to
// grow.

// ordered is what a pool knows of them. Guarded by Pool.mu.
type ordered struct {
	streams device.Streams     // nil: the device has none
	blocks  []waiting          // oldest first
	bytes   uint64             // of them
	lent    map[uint64]waiting // by address
	spare   []device.Event     // that nobody waits for
	many    int                // at so many blocks those whose wait is over are collected anyway
}

// manyWait is how many blocks wait before the first such collection.
const manyWait = 64

// waiting is a block that waits.
type waiting struct {
	record         uint32
	address, bytes uint64
	after          marks
}

// AllocateAsync is Allocate for work that will be put into a stream: a block that waits
// for that stream alone will do. Without streams s is 0, and this is Allocate.
func AllocateAsync(h Handle, n uintptr, s device.Stream) (uintptr, error) {
	address, err := allocateAsync(h, n, s)
	logCall(h, err, "allocate %d bytes for stream %#x = %#x", n, uintptr(s), address)
	return address, err
}

func allocateAsync(h Handle, n uintptr, s device.Stream) (uintptr, error) {
	p, request, err := ask(h, n)
	if err != nil || request == 0 {
		return 0, err
	}
	if p.ordered.streams == nil {
		if err := p.noStreams(s); err != nil {
			return 0, err
		}
		return allocate(h, n)
	}
	p.mu.Lock()
	address, err := p.takeWaiting(request, s)
	p.mu.Unlock()
	if err != nil || address != 0 {
		return address, err
	}
	return p.serve(request)
}

// noStreams refuses streams of a device that has none.
func (p *Pool) noStreams(streams ...device.Stream) error {
	for _, s := range streams {
		if s != 0 {
			return refuse(status.Unsupported, "%s has no streams; pass NULL", p.device.Name())
		}
	}
	return nil
}

// DeallocateAsync takes a block back that work in those streams may still use.
func DeallocateAsync(h Handle, address uintptr, streams ...device.Stream) error {
	err := deallocateAsync(h, address, streams...)
	logCall(h, err, "deallocate %#x after streams %#x", address, streams)
	return err
}

func deallocateAsync(h Handle, address uintptr, streams ...device.Stream) error {
	p, err := find(h)
	if err != nil {
		return err
	}
	if address == 0 {
		return nil
	}
	if p.ordered.streams == nil {
		if err := p.noStreams(streams...); err != nil {
			return err
		}
		return deallocate(h, address)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, err := p.isLive(uint64(address)); err != nil || !known {
		return p.orUnknown(err, uint64(address))
	}
	after, failed := p.mark(streams)
	if failed != nil {
		return failed
	}
	if known, err := p.setAside(uint64(address), after); err != nil || !known {
		p.unmark(after)
		return p.orUnknown(err, uint64(address))
	}
	if n := len(p.ordered.blocks); n >= max(p.ordered.many, manyWait) {
		p.collect()
		p.ordered.many = 2 * len(p.ordered.blocks)
	}
	return nil
}

func (p *Pool) orUnknown(err error, address uint64) error {
	if err != nil {
		return err
	}
	return p.unknownBlock(address)
}

// isLive reports whether a live block starts at an address. What the LIFO cache was
// given back is not.
func (p *Pool) isLive(address uint64) (bool, error) {
	if !p.enter() {
		return false, unknownPool(p.handle)
	}
	defer unlock(p.state)
	_, isLent := p.ordered.lent[address]
	return isLent || core.Lends(p.state, address) != 0, nil
}

// setAside makes a live block one that waits; false: it is not live. Without marks of its
// own it has to be one that was lent.
func (p *Pool) setAside(address uint64, after marks) (bool, error) {
	if !p.enter() {
		return false, unknownPool(p.handle)
	}
	defer unlock(p.state)
	w, isLent := p.ordered.lent[address]
	if !isLent && after == nil {
		return false, nil
	}
	record := core.SetAside(p.state, address, w.record)
	if record == 0 {
		return false, nil
	}
	if isLent {
		delete(p.ordered.lent, address)
		after = p.add(after, w.after)
	}
	bytes := bytesOf(&view(p.state).blocks[record])
	p.ordered.blocks = append(p.ordered.blocks, waiting{record, address, bytes, after})
	p.ordered.bytes += bytes
	p.verify()
	return true, nil
}

// takeWaiting gives out the block that fits best of those which wait for stream s alone:
// the smallest, of several the one at the lowest address. Address 0: none fits.
func (p *Pool) takeWaiting(request uint64, s device.Stream) (uintptr, error) {
	best := -1
	for i, w := range p.ordered.blocks {
		if w.bytes < request || !w.after.isOf(s) {
			continue
		}
		if best < 0 || w.bytes < p.ordered.blocks[best].bytes ||
			w.bytes == p.ordered.blocks[best].bytes && w.address < p.ordered.blocks[best].address {
			best = i
		}
	}
	if best < 0 {
		return 0, nil
	}
	for {
		if address, err := p.reuse(best, request); err != nil || address != 0 {
			return address, err
		}
		if err := p.growTables(); err != nil {
			return 0, err
		}
	}
}

// reuse lends the waiting block i, cut to what is needed: the rest goes on waiting.
// Address 0: there is no record for the rest.
func (p *Pool) reuse(i int, request uint64) (uintptr, error) {
	if !p.enter() {
		return 0, unknownPool(p.handle)
	}
	defer unlock(p.state)
	w := p.ordered.blocks[i]
	rest, done := core.Lend(p.state, w.record, request)
	if !done {
		return 0, nil
	}
	if rest != 0 {
		p.ordered.blocks[i] = waiting{rest, w.address + request, w.bytes - request, w.after.share()}
		w.bytes = request
	} else {
		p.ordered.blocks = slices.Delete(p.ordered.blocks, i, i+1)
	}
	p.ordered.bytes -= w.bytes
	if p.ordered.lent == nil {
		p.ordered.lent = map[uint64]waiting{}
	}
	p.ordered.lent[w.address] = w
	p.verify()
	return uintptr(w.address), nil
}

// collect frees the blocks whose wait is over, and tells whether there were any. What
// cannot be found out now is left for later.
func (p *Pool) collect() (any bool) {
	if p.ordered.streams == nil { // nothing waits, and ReadStats looks without the lock
		return false
	}
	var busy []device.Stream
	p.ordered.blocks = slices.DeleteFunc(p.ordered.blocks, func(w waiting) bool {
		if !p.passed(w.after, &busy) {
			return false
		}
		p.endWait(w)
		any = true
		return true
	})
	for _, w := range p.ordered.lent {
		if p.passed(w.after, &busy) {
			p.settle(w)
		}
	}
	return any
}

// settle makes a lent block one like any other: what it waited for has passed.
func (p *Pool) settle(w waiting) {
	lock(p.state)
	core.Settle(p.state, w.record)
	p.verify()
	unlock(p.state)
	delete(p.ordered.lent, w.address)
	p.unmark(w.after)
}

// endWait frees a block whose events have passed; the caller takes it off the list.
func (p *Pool) endWait(w waiting) {
	lock(p.state)
	core.EndWait(p.state, w.record)
	p.verify()
	unlock(p.state)
	p.ordered.bytes -= w.bytes
	p.unmark(w.after)
}

// awaitOldest waits for the block that was given back first, and frees it; false: there
// is none, or its events cannot be waited for.
func (p *Pool) awaitOldest() bool {
	if len(p.ordered.blocks) == 0 {
		return false
	}
	w := p.ordered.blocks[0]
	if p.await(w.after) != nil {
		return false
	}
	p.ordered.blocks = slices.Delete(p.ordered.blocks, 0, 1)
	p.endWait(w)
	return true
}

// awaitAll waits for all that blocks wait for, and forgets the blocks, of which the
// tables are about to do the same. On failure nothing is forgotten.
func (p *Pool) awaitAll() error {
	for _, w := range p.ordered.blocks {
		if err := p.await(w.after); err != nil {
			return err
		}
	}
	for _, w := range p.ordered.lent {
		if err := p.await(w.after); err != nil {
			return err
		}
	}
	p.forgetOrder()
	return nil
}

func (p *Pool) forgetOrder() {
	for _, w := range p.ordered.blocks {
		p.unmark(w.after)
	}
	for _, w := range p.ordered.lent {
		p.unmark(w.after)
	}
	p.ordered.blocks, p.ordered.lent, p.ordered.bytes = nil, nil, 0
}

// endOrder waits for all blocks and closes all events: the memory goes back to the
// device next, whatever became of the waits.
func (p *Pool) endOrder() (failed error) {
	for _, w := range p.ordered.blocks {
		if err := p.await(w.after); err != nil {
			failed = err
		}
	}
	p.forgetOrder()
	p.closeSpare(0)
	return failed
}

// checkOrder verifies that lists and tables know the same blocks. Under both locks.
func (p *Pool) checkOrder() error {
	t, bytes, tags := view(p.state), uint64(0), map[uint32]uint64{}
	for _, w := range p.ordered.blocks {
		tags[w.record] = w.bytes | layout.MempoolWaits
		bytes += w.bytes
	}
	for _, w := range p.ordered.lent {
		tags[w.record] = w.bytes | layout.MempoolLent
	}
	for i := range t.Fresh {
		b := &t.blocks[i]
		if want, known := tags[i]; known && b.Word != want || !known && b.Word != 0 && isTagged(b) {
			return fmt.Errorf("record %d is %#x, the list has %#x", i, b.Word, want)
		}
		delete(tags, i)
	}
	if len(tags) != 0 || bytes != p.ordered.bytes {
		return fmt.Errorf("%d records are none; %d bytes wait, counted %d", len(tags), bytes, p.ordered.bytes)
	}
	return nil
}
