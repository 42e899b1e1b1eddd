package registry

import (
	"math/bits"

	"tlruntime/runtime/layout"
)

// The entries of a unit: one in the unit, several in a list ordered by address.
// The functions of this file need the lock of the shard they are given.

// listed tells whether the entries of a unit that has some are in a list.
func listed(u *layout.Unit) bool { return u.Only.Gen == 0 }

func listBytes(room uint32) uintptr { return uintptr(room) * layout.ForeignEntryBytes }

func classOf(room uint32) int { return bits.TrailingZeros32(room) - 1 }

// entries returns the entries of a unit. The capacity is their room.
func entries(u *layout.Unit) []layout.ForeignEntry {
	n := set(u.Starts).len()
	if n == 0 || !listed(u) {
		return layout.Slice[layout.ForeignEntry](layout.Address(&u.Only), 1)[:n]
	}
	return layout.Slice[layout.ForeignEntry](uintptr(u.Only.Block), uint64(u.Only.Count))[:n]
}

// entryOf returns the entry of a start bit that is set.
func entryOf(u *layout.Unit, bit uint) *layout.ForeignEntry {
	return &entries(u)[set(u.Starts).rank(bit)]
}

// insert sets a start bit and makes room for its entry. It returns nil and changes nothing
// when the shard has no memory for a longer list.
func insert(s *layout.Shard, u *layout.Unit, bit uint) *layout.ForeignEntry {
	list, rank := entries(u), set(u.Starts).rank(bit)
	if len(list) == cap(list) {
		longer := newList(s, uint32(2*cap(list)))
		if longer == nil {
			return nil
		}
		copy(longer, list)
		if listed(u) {
			freeList(s, list)
		}
		u.Only = layout.ForeignEntry{Count: uint32(cap(longer)), Block: uint64(layout.Address(&longer[0]))}
		list = longer[:len(list)]
	}
	list = list[:len(list)+1]
	copy(list[rank+1:], list[rank:])
	store(&u.Starts, set(u.Starts)|single(bit))
	return &list[rank]
}

// erase clears a start bit and drops its entry.
func erase(s *layout.Shard, u *layout.Unit, bit uint) {
	list, rank := entries(u), set(u.Starts).rank(bit)
	if len(list) == 1 && listed(u) {
		freeList(s, list)
	} else {
		copy(list[rank:], list[rank+1:])
	}
	store(&u.Starts, set(u.Starts)&^single(bit))
}

// newList returns a list with that room, nil without memory.
func newList(s *layout.Shard, room uint32) []layout.ForeignEntry {
	free := &s.Lists[classOf(room)]
	addr := *free
	if addr != 0 {
		*free = uintptr(layout.At[layout.ForeignEntry](addr).Block)
	} else if addr = takeChunk(s, listBytes(room)); addr == 0 {
		return nil
	}
	return layout.Slice[layout.ForeignEntry](addr, uint64(room))
}

func freeList(s *layout.Shard, list []layout.ForeignEntry) {
	addr := layout.Address(&list[:1][0])
	class := classOf(uint32(cap(list)))
	layout.At[layout.ForeignEntry](addr).Block = uint64(s.Lists[class])
	s.Lists[class] = addr
}

// takeChunk cuts a list from the shard's chunk; 0 when the rest of that is too small.
func takeChunk(s *layout.Shard, bytes uintptr) (addr uintptr) {
	if s.ChunkEnd-s.Chunk < bytes {
		return 0
	}
	addr = s.Chunk
	s.Chunk += bytes
	return addr
}

// giveChunk adds memory for lists. The rest of the chunk before becomes free lists.
func giveChunk(s *layout.Shard, addr, bytes uintptr) {
	for class := layout.EntryLists - 1; class >= 0; class-- {
		room := uint32(2) << class
		for s.ChunkEnd-s.Chunk >= listBytes(room) {
			freeList(s, layout.Slice[layout.ForeignEntry](s.Chunk, uint64(room)))
			s.Chunk += listBytes(room)
		}
	}
	s.Chunk, s.ChunkEnd = addr, addr+bytes
	s.ChunkBytes += uint64(bytes)
}
