package mempool

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

// outcome tells why takeBlock gave no block.
type outcome int

const (
	served outcome = iota
	noRecord
	noBlock
)

// Allocate returns a block of at least n bytes; 0 bytes are address 0, which is no
// error.
func Allocate(h Handle, n uintptr) (uintptr, error) {
	address, err := allocate(h, n)
	logCall(h, err, "allocate %d bytes = %#x", n, address)
	return address, err
}

func allocate(h Handle, n uintptr) (uintptr, error) {
	p, request, err := ask(h, n)
	if err != nil || request == 0 {
		return 0, err
	}
	if address, why, err := p.try(request); err != nil || why == served {
		return address, err
	}
	return p.serve(request)
}

// serve returns a block for a request, with the help of every cache if need be. No lock
// is held.
func (p *Pool) serve(request uint64) (address uintptr, err error) {
	err = p.reclaimed(request, func() (why error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		address, why = p.allocate(request)
		return why
	})
	limit.Settle(p.account)
	return address, err
}

// ask returns the pool of a handle and what a block for n bytes has to have.
func ask(h Handle, n uintptr) (p *Pool, request uint64, err error) {
	p, unknown := find(h)
	switch {
	case unknown != nil:
		return nil, 0, unknown
	case n > maxBytes:
		return nil, 0, refuse(status.Overflow, "%d bytes are more than any block can have", n)
	}
	return p, roundUp(uint64(n), p.granule), nil
}

// allocate grows what is too small until there is a block: others may take what it has
// just obtained. Before the device is asked blocks whose wait is over are collected;
// when it has nothing the oldest wait is sat out.
func (p *Pool) allocate(request uint64) (uintptr, error) {
	for {
		address, why, err := p.try(request)
		switch {
		case err != nil || why == served:
			return address, err
		case why == noRecord:
			err = p.growTables()
		case p.collect():
		default:
			if err = p.grow(request); err != nil && shortage(err) != nil && p.awaitOldest() {
				err = nil
			}
		}
		if err != nil {
			return 0, err
		}
	}
}

func (p *Pool) try(request uint64) (uintptr, outcome, error) {
	if !p.enter() {
		return 0, noBlock, unknownPool(p.handle)
	}
	defer unlock(p.state)
	address, why := view(p.state).takeBlock(request)
	p.verify()
	return uintptr(address), why, nil
}

// takeBlock returns the address of a block for a request, a multiple of the granule.
// When there is none, nothing but the log has changed.
func (t tables) takeBlock(request uint64) (uint64, outcome) {
	if x := t.lifo(t.Live); t.Live != t.High && x.Request == request {
		t.Live++
		t.countAllocation(x.Bytes)
		return x.Address, served
	}
	t.flush()
	if !t.recordAtHand() {
		return 0, noRecord
	}
	record := t.fit(request)
	if record == 0 {
		return 0, noBlock
	}
	t.occupy(record, request)
	b := &t.blocks[record]
	t.push(request, b)
	t.countAllocation(bytesOf(b))
	return b.Address, served
}

func (t tables) countAllocation(bytes uint64) {
	t.Allocations++
	t.TotalAllocated += bytes
	t.Peak = max(t.Peak, t.TotalAllocated-t.TotalFreed)
}

// Deallocate takes a block back. Address 0 is no block, and no error.
func Deallocate(h Handle, address uintptr) error {
	err := deallocate(h, address)
	logCall(h, err, "deallocate %#x", address)
	return err
}

func deallocate(h Handle, address uintptr) error {
	p, err := find(h)
	if err != nil {
		return err
	}
	if address == 0 {
		return nil
	}
	if known, err := p.giveBack(uint64(address)); err != nil || known {
		return err
	}
	return p.takeLent(uint64(address))
}

func (p *Pool) giveBack(address uint64) (known bool, err error) {
	if !p.enter() {
		return false, unknownPool(p.handle)
	}
	defer unlock(p.state)
	known = view(p.state).returnBlock(address)
	p.verify()
	return known, nil
}

// returnBlock takes a block back; false: no live block starts there, and nothing but
// the log has changed.
func (t tables) returnBlock(address uint64) bool {
	x := t.lifo(t.Live - 1)
	bytes := x.Bytes
	if t.Live != t.Low && x.Address == address {
		t.Live--
	} else {
		t.flush()
		link := t.findLive(address)
		if *link == 0 {
			return false
		}
		bytes = bytesOf(&t.blocks[*link])
		t.vacate(link)
		t.forget()
	}
	t.TotalFreed += bytes
	t.Deallocations++
	return true
}

// takeLent takes back a block that the chains do not know: one that was lent to a stream
// waits on for what it has waited for.
func (p *Pool) takeLent(address uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, err := p.setAside(address, nil); err != nil || known {
		return err
	}
	return p.unknownBlock(address)
}

// unknownBlock tells what an address is that no live block starts at. p.mu is held.
func (p *Pool) unknownBlock(address uint64) error {
	if i := p.chunkBelow(address); i >= 0 && address-p.chunks.At(uint64(i)).address < p.chunks.At(uint64(i)).bytes {
		return refuse(status.UnknownPointer,
			"%#x is memory of this pool, but no live block starts there: it was released already, or lies inside a "+
				"block", address)
	}
	return refuse(status.UnknownPointer, "%#x is no memory of this pool", address)
}
