package mempool

import (
	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
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
	if address, why, err := p.try(request); err != nil || why == layout.MempoolServed {
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
		case err != nil || why == layout.MempoolServed:
			return address, err
		case why == layout.MempoolNoRecord:
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

func (p *Pool) try(request uint64) (uintptr, core.Outcome, error) {
	address, why := core.Take(p.state, uint64(p.handle), request)
	if why == layout.MempoolGone {
		return 0, why, unknownPool(p.handle)
	}
	p.verifyUnlocked()
	return uintptr(address), why, nil
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
	outcome := core.Give(p.state, uint64(p.handle), address)
	if outcome == layout.MempoolGone {
		return false, unknownPool(p.handle)
	}
	p.verifyUnlocked()
	return outcome == layout.MempoolServed, nil
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
	if i := p.chunkBelow(address); i >= 0 && address-p.chunks.At(uint64(i)).Address < p.chunks.At(uint64(i)).Bytes {
		return refuse(status.UnknownPointer,
			"%#x is memory of this pool, but no live block starts there: it was released already, or lies inside a "+
				"block", address)
	}
	return refuse(status.UnknownPointer, "%#x is no memory of this pool", address)
}
