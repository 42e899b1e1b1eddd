package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// A table may be filled to 2/3: an unsuccessful search then takes five probes on
// average, at half of that two. Small tables double; large ones grow by half, as
// they are nearly all the memory that there is.
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

// makeRoom lets a block that did not fit be entered: it grows the tables of its
// shards, and where those had room, the list memory of the first. False when the
// system refuses the memory; nothing changed then.
func (t *Table) makeRoom(p, bytes uintptr) bool {
	var b span
	b.cut(t, p, bytes)
	grown := false
	for _, i := range b.shards[:b.locks] {
		did, ok := t.growShard(&t.shards[i], uint32(b.n+1))
		if !ok {
			return false
		}
		grown = grown || did
	}
	return grown || t.addChunk(&t.shards[t.shardOf(p)])
}

// Grow makes room for so many more units, evenly spread. False when the system
// refuses the memory.
func (t *Table) Grow(units uint64) bool {
	each := units/uint64(len(t.shards)) + 1
	for i := range t.shards {
		if each > maxCells {
			return false
		}
		if _, ok := t.growShard(&t.shards[i], uint32(each)); !ok {
			return false
		}
	}
	return true
}

// growShard makes room for more cells in one table, without a lock while it
// obtains the memory.
func (t *Table) growShard(s *layout.Shard, more uint32) (did, ok bool) {
	lock(s)
	old, used, fits := s.Capacity, s.Used, uint64(s.Used)+uint64(more) <= uint64(s.Limit)
	unlock(s)
	if fits {
		return false, true
	}
	next := nextCapacity(old, used+more)
	if next >= maxCells {
		return false, false
	}
	bytes := memory.Round(uintptr(next)*layout.UnitBytes, memory.PageBytes)
	table, ok := t.obtain(bytes)
	if !ok {
		return false, false
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
	memory.Purge(outgrown, memory.Round(uintptr(old)*layout.UnitBytes, memory.PageBytes))
	return true, true
}

// rehash moves the cells of a locked shard to an empty table. In order, as homes
// in the two tables have the same order.
func rehash(s *layout.Shard, table uintptr, capacity uint32) {
	from := *s
	next := layout.Shard{Table: table, Capacity: capacity}
	for i := range from.Capacity {
		u := cell(&from, i)
		if u.Key != 0 {
			at, _ := find(&next, u.Key)
			*cell(&next, at) = *u
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

// addChunk gives a shard more memory for lists, a quarter of what it has.
func (t *Table) addChunk(s *layout.Shard) bool {
	lock(s)
	bytes := memory.Round(uintptr(s.ChunkBytes/4), firstChunk)
	unlock(s)
	chunk, ok := t.obtain(bytes)
	if !ok {
		return false
	}
	lock(s)
	giveChunk(s, chunk, bytes)
	unlock(s)
	return true
}
