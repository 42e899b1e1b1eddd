package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// A table may be filled to 2/3: an unsuccessful search then takes five probes on
// average, at half of that two. Small tables double; large ones grow by half.
const (
	loadOver    = 2
	loadUnder   = 3
	doubleBelow = 512
	maxCells    = 1 << 31
)

func limitOf(cells uint32) uint32 { return uint32(uint64(cells) * loadOver / loadUnder) }

// nextCapacity returns the capacity with room for `used` cells.
func nextCapacity(cells, used uint32) uint64 {
	n := uint64(cells)
	for n < maxCells && n*loadOver/loadUnder < uint64(used) {
		if n < doubleBelow {
			n *= 2
		} else {
			n += n / 2
		}
	}
	return n
}

// makeRoom makes a block fit: it grows the tables of its shards and their memory for lists.
// False when the system refuses the memory.
func (t *Table) makeRoom(p, bytes uintptr) bool {
	var b extent
	b.cut(t, p, bytes)
	units, chunk := b.needs()
	for _, i := range b.shards[:b.locks] {
		if !t.growShard(&t.shards[i], units) || !t.reserve(&t.shards[i], chunk) {
			return false
		}
	}
	return true
}

// growShard makes room for more cells in one table. It holds no lock while it obtains the
// memory.
func (t *Table) growShard(s *layout.Shard, more uint32) bool {
	lock(s)
	old, used, fits := s.Capacity, s.Used, uint64(s.Used)+uint64(more) <= uint64(s.Limit)
	unlock(s)
	if fits {
		return true
	}
	next := nextCapacity(old, used+more)
	if next >= maxCells {
		return false
	}
	bytes := memory.Round(uintptr(next)*layout.RegionBytes, memory.PageBytes)
	table, ok := t.obtain(bytes)
	if !ok {
		return false
	}
	lock(s)
	outgrown := s.Table
	if s.Capacity >= uint32(next) {
		outgrown = table // somebody else was faster
	} else {
		old = s.Capacity
		rehash(s, table, uint32(next))
	}
	unlock(s)
	if outgrown == table {
		old = uint32(next)
	}
	memory.Purge(outgrown, memory.Round(uintptr(old)*layout.RegionBytes, memory.PageBytes))
	return true
}

// rehash moves the cells of a locked shard to an empty table. Homes have the same order in
// both, so that one pass in order fills the new table.
func rehash(s *layout.Shard, table uintptr, capacity uint32) {
	from := *s
	next := layout.Shard{Table: table, Capacity: capacity}
	for i := range from.Capacity {
		r := cell(&from, i)
		if r.Key != 0 {
			at, _ := probe(&next, r.Key)
			*cell(&next, at) = *r
		}
	}
	install(s, table, capacity)
}

// install makes a table that of a shard. Readers without the lock compare the
// version before they use the pair.
func install(s *layout.Shard, table uintptr, capacity uint32) {
	atomic.StoreUintptr(&s.Table, table)
	atomic.StoreUint32(&s.Capacity, capacity)
	s.Limit = limitOf(capacity)
}

// reserve makes sure that a shard has that many bytes for lists. It obtains an eighth of what
// the shard has, or twice the need.
func (t *Table) reserve(s *layout.Shard, need uintptr) bool {
	lock(s)
	enough, bytes := s.ChunkEnd-s.Chunk >= need, memory.Round(uintptr(s.ChunkBytes/8), firstChunk)
	unlock(s)
	if enough {
		return true
	}
	bytes = max(bytes, memory.Round(2*need, memory.PageBytes))
	chunk, ok := t.obtain(bytes)
	if !ok {
		return false
	}
	lock(s)
	giveChunk(s, chunk, bytes)
	unlock(s)
	return true
}
