package pool

import (
	"fmt"
	"slices"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Blocks that were given back in the order of streams. Work that was put into a stream
// before may still use such a block, so it waits: its record is neither live (in no
// chain) nor free (in no treap), and a list apart knows which events have to pass. What
// is allocated for the same stream may take it at once, since that is used by later
// work only. The fast door sees a record that it never finds and never joins.
//
// Blocks are looked through in the order in which they came, and there are few of them:
// each time the pool is about to grow, those whose wait is over leave.

// ordered is what a pool knows of them. Guarded by Pool.mu.
type ordered struct {
	streams device.Streams // nil: the device has none
	blocks  []waiting      // oldest first
	bytes   uint64         // of them
	spare   []device.Event // recorded by nobody
}

// waiting is a block that waits.
type waiting struct {
	record         uint32
	address, bytes uint64
	after          *marks
}

// AllocateAsync is Allocate for work that will be put into a stream: a block that waits
// for that stream alone will do. Without streams s is 0, and this is Allocate.
func AllocateAsync(h Handle, n uintptr, s device.Stream) (uintptr, error) {
	p, request, err := ask(h, n)
	if err != nil || request == 0 {
		return 0, err
	}
	if p.ordered.streams == nil {
		if err := p.noStreams(s); err != nil {
			return 0, err
		}
		return Allocate(h, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if address, err := p.takeWaiting(request, s); err != nil || address != 0 {
		return address, err
	}
	return p.allocate(request)
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
		return Deallocate(h, address)
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
	return nil
}

func (p *Pool) orUnknown(err error, address uint64) error {
	if err != nil {
		return err
	}
	return p.tellBlock(address)
}

// isLive reports whether a live block starts at an address. What the front cache was
// given back is not.
func (p *Pool) isLive(address uint64) (bool, error) {
	if !p.enter() {
		return false, unknownPool(p.handle)
	}
	defer unlock(p.state)
	t := view(p.state)
	t.flush()
	return *t.findLive(address) != 0, nil
}

// setAside makes a live block one that waits; false: it is not live any more.
func (p *Pool) setAside(address uint64, after *marks) (bool, error) {
	if !p.enter() {
		return false, unknownPool(p.handle)
	}
	defer unlock(p.state)
	t := view(p.state)
	t.flush()
	link := t.findLive(address)
	record := *link
	if record == 0 {
		return false, nil
	}
	b := &t.blocks[record]
	*link = b.Left
	b.Word |= layout.PoolWaits
	t.forget()
	t.TotalFreed += bytesOf(b)
	t.Deallocations++
	p.ordered.blocks = append(p.ordered.blocks, waiting{record, address, bytesOf(b), after})
	p.ordered.bytes += bytesOf(b)
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

// reuse makes the waiting block i live, cut to what is needed: the rest goes on waiting.
// Address 0: there is no record for the rest.
func (p *Pool) reuse(i int, request uint64) (uintptr, error) {
	if !p.enter() {
		return 0, unknownPool(p.handle)
	}
	defer unlock(p.state)
	t := view(p.state)
	if !t.recordAtHand() {
		return 0, nil
	}
	t.flush()
	t.forget()
	w := p.ordered.blocks[i]
	if rest := w.bytes - request; rest > layout.PoolSplit {
		r := t.cut(w.record, request)
		t.blocks[r].Word = rest | layout.PoolWaits
		p.ordered.blocks[i] = waiting{r, w.address + request, rest, w.after}
		w.bytes = request
	} else {
		p.ordered.blocks = slices.Delete(p.ordered.blocks, i, i+1)
		p.unmark(w.after)
	}
	t.enliven(w.record, w.bytes)
	p.ordered.bytes -= w.bytes
	t.countAllocation(w.bytes)
	p.verify()
	return uintptr(w.address), nil
}

// collect frees the blocks whose wait is over, and tells whether there were any. What
// cannot be found out now is left for later.
func (p *Pool) collect() (any bool) {
	var busy []device.Stream
	p.ordered.blocks = slices.DeleteFunc(p.ordered.blocks, func(w waiting) bool {
		if !p.passed(w.after, &busy) {
			return false
		}
		p.endWait(w)
		any = true
		return true
	})
	return any
}

// endWait frees a block whose events have passed; the caller takes it off the list.
func (p *Pool) endWait(w waiting) {
	lock(p.state)
	t := view(p.state)
	t.flush()
	t.forget()
	t.release(w.record)
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

// awaitAll waits for all blocks, and frees them.
func (p *Pool) awaitAll() error {
	for len(p.ordered.blocks) > 0 {
		w := p.ordered.blocks[0]
		if err := p.await(w.after); err != nil {
			return deviceError(err, status.Device)
		}
		p.ordered.blocks = slices.Delete(p.ordered.blocks, 0, 1)
		p.endWait(w)
	}
	return nil
}

// endOrder waits for all blocks and closes all events: the memory goes back to the
// device next, whatever became of the waits.
func (p *Pool) endOrder() (failed error) {
	for _, w := range p.ordered.blocks {
		if err := p.await(w.after); err != nil {
			failed = deviceError(err, status.Device)
		}
		p.unmark(w.after)
	}
	p.ordered.blocks, p.ordered.bytes = nil, 0
	p.closeSpare(0)
	return failed
}

// checkOrder verifies that the list and the tables know the same blocks. Under both locks.
func (p *Pool) checkOrder() error {
	t, bytes := view(p.state), uint64(0)
	for _, w := range p.ordered.blocks {
		b := &t.blocks[w.record]
		if !waits(b) || b.Address != w.address || bytesOf(b) != w.bytes {
			return fmt.Errorf("record %d does not wait as it should: %#x at %#x", w.record, b.Word, b.Address)
		}
		bytes += w.bytes
	}
	marked := 0
	for i := range t.blocks[:t.Fresh] {
		if waits(&t.blocks[i]) {
			marked++
		}
	}
	if marked != len(p.ordered.blocks) || bytes != p.ordered.bytes {
		return fmt.Errorf("%d blocks of %d bytes wait, %d of %d are known", marked, p.ordered.bytes, len(p.ordered.blocks), bytes)
	}
	return nil
}
