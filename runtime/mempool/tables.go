package mempool

import (
	"unsafe"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const (
	firstRecords = 1024
	maxRecords   = 1 << 31
	chainBytes   = 4
)

// tables views the memory of a pool. It holds while the lock of the state is held.
type tables struct {
	*layout.MempoolState
	blocks []layout.MempoolBlock
	chains []uint32
	bins   *layout.MempoolBins
}

func view(s *layout.MempoolState) tables {
	return tables{
		MempoolState: s,
		blocks:       layout.Slice[layout.MempoolBlock](s.Blocks, uint64(s.Limit)),
		chains:       layout.Slice[uint32](s.Hash, uint64(s.Limit)),
		bins:         layout.At[layout.MempoolBins](s.Bins),
	}
}

func cacheOf(s *layout.MempoolState, i uint32) *layout.MempoolCache {
	at := layout.Address(s) + layout.MempoolCachesAt + uintptr(i)*layout.MempoolCacheBytes
	return layout.At[layout.MempoolCache](at)
}

func bytesOf(b *layout.MempoolBlock) uint64 { return b.Word & layout.MempoolBytes }
func isFree(b *layout.MempoolBlock) bool    { return b.Word&layout.MempoolFree != 0 }
func isTagged(b *layout.MempoolBlock) bool {
	return b.Word&(layout.MempoolWaits|layout.MempoolLent) != 0
}

var binsBytes = memory.Round(unsafe.Sizeof(layout.MempoolBins{}), memory.PageBytes)

// mapRecords maps a table of records and one of as many chains.
func mapRecords(n uint32) (t core.Tables, ok bool) {
	base, err := memory.Map(recordsBytes(n), purpose)
	if err != nil {
		return core.Tables{}, false
	}
	return core.Tables{Blocks: base, Hash: base + uintptr(n)*layout.MempoolBlockBytes, Limit: n}, true
}

func recordsBytes(n uint32) uintptr {
	return memory.Round(uintptr(n)*(layout.MempoolBlockBytes+chainBytes), memory.PageBytes)
}

// makeTables gives an empty slot tables.
func (p *Pool) makeTables(shift uint32) bool {
	bins, err := memory.Map(binsBytes, purpose)
	if err != nil {
		return false
	}
	records, ok := mapRecords(firstRecords)
	if !ok {
		memory.Unmap(bins, binsBytes, purpose)
		return false
	}
	lock(p.state)
	defer unlock(p.state)
	p.state.Shift, p.state.Bins = shift, bins
	core.Rebuild(p.state, nil, records)
	return true
}

// smallerTables maps tables of the first size, if that is less than the pool has and
// enough for its chunks. Without memory for them the larger ones stay.
func (p *Pool) smallerTables() (t core.Tables, ok bool) {
	if p.state.Limit == firstRecords || p.chunks.Len() >= firstRecords/2 {
		return core.Tables{}, false
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
	larger, ok := mapRecords(2 * old)
	if !ok {
		return refuseTables("no memory for more than %d blocks", old)
	}
	lock(p.state)
	was := p.state.Blocks
	core.Grow(p.state, larger)
	unlock(p.state)
	memory.Unmap(was, recordsBytes(old), purpose)
	return nil
}
