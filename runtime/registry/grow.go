package registry

import (
	core "tlruntime/cshim/registry"
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
	for {
		shard, units := core.Lacks(p, bytes)
		if shard < 0 {
			return true
		}
		s, chunk := &t.shards[shard], uintptr(units)*layout.UnitReserve+layout.EntryReserve
		if !t.growShard(s, units) || !t.reserve(s, chunk) {
			return false
		}
	}
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
	outgrown, cells := core.Rehash(s, table, uint32(next), limitOf(uint32(next)))
	memory.Purge(outgrown, memory.Round(uintptr(cells)*layout.RegionBytes, memory.PageBytes))
	return true
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
	core.GiveChunk(s, chunk, bytes)
	return true
}
