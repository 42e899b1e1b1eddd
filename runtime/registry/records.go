package registry

import (
	"math/bits"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Records of blocks; cshim/registry/blocks.h explains them and their states.

const (
	firstRecord  = 1 << layout.RecordLevel0
	fewRecords   = 16 // that a shard gets at once; the more it has, the more it gets
	manyRecords  = 1024
	recordBytes  = layout.BlockRecordBytes
	mostRecords  = 1 << layout.RecordLevels
	noGeneration = layout.BlockLastGeneration
)

func generation(life uint64) uint32 { return uint32(life >> layout.BlockGenerationShift) }
func names(life uint64) uint32      { return uint32(life) }
func lifeOf(generation, names uint32) uint64 {
	return uint64(generation)<<layout.BlockGenerationShift | uint64(names)
}

// record returns the record of a number that an entry or a list has.
func (t *Table) record(number uint32) *layout.BlockRecord {
	row := atomic.LoadUintptr(&t.header.Records[bits.Len32(number)-1])
	return layout.At[layout.BlockRecord](row + uintptr(number)*recordBytes)
}

func realOf(b *layout.BlockRecord) uintptr { return uintptr(atomic.LoadUint64(&b.Real)) }

func blockBytes(b *layout.BlockRecord) uintptr {
	return uintptr(atomic.LoadUint64(&b.Block) & layout.ForeignBytes)
}

func blockKind(b *layout.BlockRecord) uint8 {
	return uint8(atomic.LoadUint64(&b.Block) >> layout.ForeignKindShift)
}

// reserveRecord makes sure that a shard has a free record. False when the system refuses the
// memory.
func (t *Table) reserveRecord(s *layout.Shard) bool {
	lock(s)
	enough, n := s.FreeRecord != 0, min(max(s.Records, fewRecords), manyRecords)
	unlock(s)
	if enough {
		return true
	}
	first, n := t.newRecords(n)
	if n == 0 {
		return false
	}
	for i := first; i < first+n-1; i++ {
		t.record(i).Next = i + 1
	}
	lock(s)
	t.record(first + n - 1).Next = s.FreeRecord
	s.FreeRecord = first
	s.Records += n
	unlock(s)
	return true
}

// newRecords returns up to n records that never were a shard's; 0 without memory.
func (t *Table) newRecords(n uint32) (first, count uint32) {
	t.growing.Lock()
	defer t.growing.Unlock()
	level := bits.Len64(t.fresh) - 1
	if t.fresh >= mostRecords {
		return 0, 0
	}
	if t.header.Records[level] == 0 {
		base, ok := t.obtain(recordBytes << level)
		if !ok {
			return 0, 0
		}
		atomic.StoreUintptr(&t.header.Records[level], base-recordBytes<<level)
	}
	first = uint32(t.fresh)
	count = uint32(min(uint64(n), 2<<level-t.fresh))
	t.fresh += uint64(count)
	return first, count
}

// Waiting returns the record of a call that waits, by which its list is linked.
func (t *Table) Waiting(number uint32) *layout.BlockRecord { return t.record(number) }

// Pending returns how many records are in lists of calls that wait. Nothing may run beside it.
func (t *Table) Pending() (n uint64) {
	t.eachRecord(func(_ uint32, b *layout.BlockRecord) { n += uint64(count(b.State == layout.BlockPending)) })
	return n
}

// eachRecord visits the records that shards were given.
func (t *Table) eachRecord(visit func(number uint32, b *layout.BlockRecord)) {
	t.growing.Lock()
	fresh := t.fresh
	t.growing.Unlock()
	for i := uint64(firstRecord); i < fresh; i++ {
		visit(uint32(i), t.record(uint32(i)))
	}
}
