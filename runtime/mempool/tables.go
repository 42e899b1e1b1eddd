package mempool

import (
	"math/bits"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const (
	firstRecords = 1024
	maxRecords   = 1 << 31
	chainBytes   = 4
)

var binsBytes = memory.Round(unsafe.Sizeof(layout.MempoolBins{}), memory.PageBytes)

// mapRecords maps a table of records and one of as many chains.
func mapRecords(n uint32) (blocks, chains uintptr, ok bool) {
	base, err := memory.Map(recordsBytes(n), purpose)
	return base, base + uintptr(n)*layout.MempoolBlockBytes, err == nil
}

func recordsBytes(n uint32) uintptr {
	return memory.Round(uintptr(n)*(layout.MempoolBlockBytes+chainBytes), memory.PageBytes)
}

// makeTables gives an empty slot tables. Counters of the pool that was there before end.
func (p *Pool) makeTables(shift uint32) bool {
	bins, err := memory.Map(binsBytes, purpose)
	if err != nil {
		return false
	}
	blocks, chains, ok := mapRecords(firstRecords)
	if !ok {
		memory.Unmap(bins, binsBytes, purpose)
		return false
	}
	lock(p.state)
	defer unlock(p.state)
	p.useTables(blocks, chains, firstRecords)
	p.state.Shift, p.state.Bins = shift, bins
	p.state.Fresh = 1 // record 0 is nobody's
	return true
}

// useTables puts tables of n records in the place of what was there.
func (p *Pool) useTables(blocks, chains uintptr, n uint32) {
	s := p.state
	s.Blocks, s.Hash, s.Limit, s.HashShift = blocks, chains, n, uint32(64-bits.TrailingZeros32(n))
}

// smallerTables maps tables of the first size, if that is less than the pool has and
// enough for its chunks. Without memory for them the larger ones stay.
func (p *Pool) smallerTables() (blocks, chains uintptr, ok bool) {
	if p.state.Limit == firstRecords || p.chunks.Len() >= firstRecords/2 {
		return 0, 0, false
	}
	return mapRecords(firstRecords)
}

// dropTables leaves an empty slot.
func (p *Pool) dropTables() {
	lock(p.state)
	defer unlock(p.state)
	s := p.state
	memory.Unmap(s.Bins, binsBytes, purpose)
	memory.Unmap(s.Blocks, recordsBytes(s.Limit), purpose)
	*s = layout.MempoolState{Lock: 1}
}

// growTables doubles the records. Only holders of p.mu change the tables' place, so the
// memory is obtained before the lock of the state is.
func (p *Pool) growTables() error {
	old := p.state.Limit
	if old >= maxRecords {
		return refuse(status.Limit, "the pool has %d blocks, as many as there can be", old)
	}
	blocks, chains, ok := mapRecords(2 * old)
	if !ok {
		return refuseTables("no memory for more than %d blocks", old)
	}
	lock(p.state)
	was := p.state.Blocks
	copy(layout.Slice[layout.MempoolBlock](blocks, uint64(2*old)), view(p.state).blocks)
	p.useTables(blocks, chains, 2*old)
	view(p.state).chainAll()
	unlock(p.state)
	memory.Unmap(was, recordsBytes(old), purpose)
	return nil
}

// chainAll puts every live block into the chains, which are empty.
func (t tables) chainAll() {
	for i := uint32(1); i < t.Fresh; i++ {
		if b := &t.blocks[i]; b.Word != 0 && !isFree(b) && !isTagged(b) {
			chain := t.chain(b.Address)
			b.Left = *chain
			*chain = i
		}
	}
}
