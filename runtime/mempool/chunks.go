package mempool

import (
	"errors"
	"math"
	"sort"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

// grow obtains a chunk for a request that no free block can hold: a large one, else what
// is needed alone. At the pool's own limit its idle chunks are returned; what others
// can do is the business of reclaim.
func (p *Pool) grow(request uint64) error {
	err := p.obtainFor(request)
	if e := shortage(err); e != nil && e.own {
		if trimmed, _ := p.trim(math.MaxUint64); trimmed > 0 {
			err = p.obtainFor(request)
		}
	}
	return err
}

func (p *Pool) obtainFor(request uint64) error {
	most := uint64(maxBytes) &^ (p.granule - 1)
	want := max(p.growth, request, min(2*request, most))
	err := p.obtain(want)
	if shortage(err) != nil && request < want {
		err = p.obtain(request)
	}
	return err
}

// obtain asks the device for a chunk and makes it a free block.
func (p *Pool) obtain(bytes uint64) error {
	if left := p.limit - min(p.limit, p.state.Reserved); p.limit != 0 && bytes > left {
		e := refuse(status.Limit, "%d bytes more than the %d reserved would pass the pool's limit of %d", bytes,
			p.state.Reserved, p.limit)
		e.own = true
		return e
	}
	if !p.chunks.Push(layout.MempoolChunk{}) { // room for it, before the device is asked
		return refuseTables("no memory for the table of chunks")
	}
	p.chunks.Pop()
	if st := limit.Charge(p.account, bytes); st != status.OK {
		return refuse(st, "more than a limit allows")
	}
	err := p.obtainCharged(bytes)
	if err != nil {
		limit.Credit(p.account, bytes)
	}
	return err
}

func (p *Pool) obtainCharged(bytes uint64) error {
	address, err := p.device.Allocate(uintptr(bytes))
	if err != nil {
		return deviceError(err, status.OutOfMemory)
	}
	if address == 0 {
		return refuse(status.OutOfMemory, "%s has no %d bytes", p.device.Name(), bytes)
	}
	c := layout.MempoolChunk{Address: uint64(address), Bytes: bytes}
	if err := p.admit(c); err != nil {
		return err
	}
	p.reportChunk(c, true)
	if err := p.install(c); err != nil {
		_ = p.device.Deallocate(address, uintptr(bytes)) // what went wrong is reported already
		p.reportChunk(c, false)
		return err
	}
	return nil
}

var onChunk []func(c Chunk, obtained bool)

// OnChunk adds who is told of a chunk that a device has granted, or that goes back to it.
// For init functions.
func OnChunk(f func(c Chunk, obtained bool)) { onChunk = append(onChunk, f) }

// reportChunk tells of a chunk. The lock of the state is not held.
func (p *Pool) reportChunk(c layout.MempoolChunk, obtained bool) {
	for _, f := range onChunk {
		f(p.describeChunk(c), obtained)
	}
}

// deviceError keeps the status of a device's own error.
func deviceError(err error, otherwise status.Status) *Error {
	var e *device.Error
	if errors.As(err, &e) {
		return refuse(e.Status, "%s", e.Text)
	}
	return refuse(otherwise, "%v", err)
}

// admit refuses memory that the device cannot have meant. What overlaps an earlier chunk
// is not given back: that would end the chunk.
func (p *Pool) admit(c layout.MempoolChunk) error {
	name := p.device.Name()
	if c.Address+c.Bytes < c.Address {
		return refuse(status.Device, "%s returned %#x for %d bytes, which is beyond the address space", name, c.Address,
			c.Bytes)
	}
	below := p.chunkBelow(c.Address + c.Bytes - 1)
	if below >= 0 {
		if b := p.chunks.At(uint64(below)); b.Address+b.Bytes > c.Address {
			return refuse(status.Device, "%s returned %#x for %d bytes, which overlaps its chunk of %d bytes at %#x",
				name,
				c.Address, c.Bytes, b.Bytes, b.Address)
		}
	}
	if c.Address&(p.granule-1) != 0 {
		_ = p.device.Deallocate(uintptr(c.Address), uintptr(c.Bytes)) // what went wrong is reported already
		return refuse(status.Device, "%s returned %#x, which is not aligned to %d", name, c.Address, p.granule)
	}
	return nil
}

// chunkBelow returns the last chunk that starts at or below an address, -1 for none.
func (p *Pool) chunkBelow(address uint64) int {
	return sort.Search(int(p.chunks.Len()), func(i int) bool { return p.chunks.At(uint64(i)).Address > address }) - 1
}

// install makes a chunk a free block.
func (p *Pool) install(c layout.MempoolChunk) error {
	for !p.tryInstall(c) {
		if err := p.growTables(); err != nil {
			return err
		}
	}
	return nil
}

// tryInstall finds the place of a chunk among the others; false: there is no record.
func (p *Pool) tryInstall(c layout.MempoolChunk) bool {
	lock(p.state)
	defer unlock(p.state)
	c.First = uint64(core.AddChunk(p.state, c.Address, c.Bytes))
	if c.First == 0 {
		return false
	}
	p.chunks.Push(c) // obtain has made room
	for i := p.chunks.Len() - 1; i > 0 && p.chunks.At(i-1).Address > c.Address; i-- {
		*p.chunks.At(i), *p.chunks.At(i - 1) = *p.chunks.At(i - 1), c
	}
	return true
}

// Trim returns the chunks without a live block to the device.
func Trim(h Handle) error {
	err := with(h, func(p *Pool) error {
		_, failed := p.trim(math.MaxUint64)
		return failed
	})
	logCall(h, err, "trim")
	return err
}

// trim returns idle chunks until it has returned that many bytes, and tells how many. A
// chunk that the device does not take back is gone all the same: nobody knows what it is
// now.
func (p *Pool) trim(enough uint64) (trimmed uint64, failed error) {
	p.collect()
	for i := uint64(0); i < p.chunks.Len() && trimmed < enough; i++ {
		c := *p.chunks.At(i)
		if !p.takeIdle(p.chunks.At(i)) {
			continue
		}
		trimmed += c.Bytes
		p.reportChunk(c, false)
		if err := p.device.Deallocate(uintptr(c.Address), uintptr(c.Bytes)); err != nil {
			failed = deviceError(err, status.Device)
		}
		limit.Credit(p.account, c.Bytes)
	}
	p.dropEmpty()
	if p.chunks.Len() == 0 {
		p.rebuild()
	}
	return trimmed, failed
}

// takeIdle takes a chunk without a live block out of the tables and leaves it empty.
func (p *Pool) takeIdle(c *layout.MempoolChunk) bool {
	lock(p.state)
	defer unlock(p.state)
	if !core.TakeChunk(p.state, uint32(c.First)) {
		return false
	}
	c.Bytes = 0
	return true
}

// dropEmpty removes the empty ones from the array of chunks.
func (p *Pool) dropEmpty() {
	lock(p.state)
	defer unlock(p.state)
	kept := uint64(0)
	for i := range p.chunks.Len() {
		if c := *p.chunks.At(i); c.Bytes != 0 {
			*p.chunks.At(kept) = c
			kept++
		}
	}
	for p.chunks.Len() > kept {
		p.chunks.Pop()
	}
}

// returnChunks returns all chunks of a pool that nobody can use any more.
func (p *Pool) returnChunks() (failed error) {
	for p.chunks.Len() > 0 {
		c := p.chunks.Pop()
		p.reportChunk(c, false)
		if err := p.device.Deallocate(uintptr(c.Address), uintptr(c.Bytes)); err != nil {
			failed = deviceError(err, status.Device)
		}
		limit.Credit(p.account, c.Bytes)
	}
	p.chunks.Free()
	return failed
}
