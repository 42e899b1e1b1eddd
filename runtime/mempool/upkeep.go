package mempool

import (
	"math"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/memory"
)

// Stats are the counters of a pool, exact at the moment of the call.
type Stats struct {
	TotalAllocated, TotalFreed uint64 // bytes of blocks
	CurrentUsage, PeakUsage    uint64
	Allocations, Deallocations uint64
	DeviceAllocations          uint64
	Reserved                   uint64 // bytes of chunks
	LargestFreeBlock           uint64
	FreeBlocks                 uint64
	WaitingBytes               uint64 // of blocks that were given back and wait for streams
	WaitingBlocks              uint64
}

// ReadStats reads the counters; what the LIFO cache holds is free, and joined.
func ReadStats(h Handle) (Stats, error) {
	p, err := find(h)
	if err != nil {
		return Stats{}, err
	}
	if p.ordered.streams != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.collect()
	}
	if !p.look() {
		return Stats{}, unknownPool(h)
	}
	defer unlock(p.state)
	p.verify()
	t := p.state
	return Stats{
		TotalAllocated:    t.TotalAllocated,
		TotalFreed:        t.TotalFreed,
		CurrentUsage:      t.TotalAllocated - t.TotalFreed,
		PeakUsage:         t.Peak,
		Allocations:       t.Allocations,
		Deallocations:     t.Deallocations,
		DeviceAllocations: t.DeviceAllocations,
		Reserved:          t.Reserved,
		LargestFreeBlock:  core.Largest(t),
		FreeBlocks:        uint64(t.FreeBlocks),
		WaitingBytes:      p.ordered.bytes,
		WaitingBlocks:     uint64(len(p.ordered.blocks)),
	}, nil
}

// Reset makes every chunk one free block, when the last wait for a stream is over. What was live counts as freed. When
// nothing can fail any more it calls ready, with the blocks as they are; no chunk goes meanwhile.
func Reset(h Handle, ready func()) error {
	err := with(h, func(p *Pool) error {
		if err := p.awaitAll(); err != nil {
			return err
		}
		ready()
		p.rebuild()
		return nil
	})
	logCall(h, err, "reset")
	return err
}

// rebuild makes every chunk one free block, in tables that have their first size again:
// those of a pool that once had many blocks are spread over more memory than few need.
func (p *Pool) rebuild() {
	old, oldBytes := p.state.Blocks, recordsBytes(p.state.Limit)
	with, smaller := p.smallerTables()
	lock(p.state)
	core.Rebuild(p.state, p.chunks.Slice(), with)
	p.verify()
	unlock(p.state)
	if smaller {
		memory.Unmap(old, oldBytes, purpose)
	}
}

// SetLimit bounds the bytes that the pool reserves of its device, 0 for no bound. Idle
// chunks above it are returned; what is in use stays.
func SetLimit(h Handle, bytes uint64) error {
	return with(h, func(p *Pool) (failed error) {
		p.limit = bytes
		if bytes != 0 && p.state.Reserved > bytes { // changed under the mutex alone
			_, failed = p.trim(math.MaxUint64)
		}
		return failed
	})
}

// Totals sums up the blocks of all pools, those that were destroyed included; exact at
// quiescence.
func Totals() (sum Stats) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	for _, e := range slots.ended {
		sum.TotalAllocated += e.bytes
		sum.Allocations += e.blocks
	}
	sum.TotalFreed, sum.Deallocations = sum.TotalAllocated, sum.Allocations
	for i := range slots.pools {
		p := slots.pools[i].Load()
		if p == nil || !p.look() {
			continue
		}
		t := p.state
		sum.TotalAllocated += t.TotalAllocated
		sum.TotalFreed += t.TotalFreed
		sum.Allocations += t.Allocations
		sum.Deallocations += t.Deallocations
		unlock(p.state)
	}
	return sum
}
