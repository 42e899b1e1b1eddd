package registry

// #include "../../cshim/registry/operations.h"
import "C"

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// A table may be filled to 2/3: an unsuccessful search then takes five probes on
// average, at half of that two. Small tables double; large ones grow by half.
const (
	loadOver    = 2
	loadUnder   = 3
	doubleBelow = 512
	maxBuckets  = 1 << 31
)

func limitOf(buckets uint32) uint32 { return uint32(uint64(buckets) * loadOver / loadUnder) }

// nextCapacity returns the capacity with room for `used` buckets.
func nextCapacity(buckets, used uint32) uint64 {
	n := uint64(buckets)
	for n < maxBuckets && n*loadOver/loadUnder < uint64(used) {
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
		var units C.uint32_t
		shard := C.tlc_registry_lacks(C.uintptr_t(p), C.uint64_t(bytes), &units)
		if shard < 0 {
			return true
		}
		s, chunk := &t.shards[shard], uintptr(units)*layout.UnitReserve+layout.EntryReserve
		if !t.growShard(s, uint32(units)) || !t.reserve(s, chunk) {
			return false
		}
	}
}

// growShard makes room for more buckets in one table. It holds no lock while it obtains the
// memory.
func (t *Table) growShard(s *layout.Shard, more uint32) bool {
	lock(s)
	old, used, fits := s.Capacity, s.Used, uint64(s.Used)+uint64(more) <= uint64(s.Limit)
	unlock(s)
	if fits {
		return true
	}
	next := nextCapacity(old, used+more)
	if next >= maxBuckets {
		return false
	}
	bytes := memory.Round(uintptr(next)*layout.RegionBytes, memory.PageBytes)
	table, ok := t.obtain(bytes)
	if !ok {
		return false
	}
	outgrown, buckets := rehash(s, table, uint32(next))
	memory.Purge(outgrown, memory.Round(uintptr(buckets)*layout.RegionBytes, memory.PageBytes))
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
	giveChunk(s, chunk, bytes)
	return true
}

// rehash gives a shard a table of so many buckets, and returns the one that it had.
func rehash(s *layout.Shard, table uintptr, capacity uint32) (outgrown uintptr, buckets uint32) {
	var n C.uint32_t
	outgrown = uintptr(C.tlc_registry_rehash(shardInC(s), C.uintptr_t(table), C.uint32_t(capacity),
		C.uint32_t(limitOf(capacity)), &n))
	return outgrown, uint32(n)
}

// giveChunk gives a shard memory for lists.
func giveChunk(s *layout.Shard, at, bytes uintptr) {
	C.tlc_registry_give_chunk(shardInC(s), C.uintptr_t(at), C.uint64_t(bytes))
}

// attach makes the table the process's, detach ends that.
func (t *Table) attach() {
	shards, mask := t.Layout()
	C.tlc_foreign_attach(C.uintptr_t(shards), C.uint64_t(mask))
}

func (t *Table) detach() { C.tlc_registry_detach(C.uintptr_t(t.base + layout.RegistryBytes)) }
