package registry

import (
	"slices"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The units of a region: a list in order of address. A unit that has become vacant stays in
// the list as long as there is room.
// The functions of this file need the lock of the shard they are given.

func roomClass(r *layout.Region) int { return int(r.List >> layout.RegionRoomShift) }

func unitBytes(class int) uintptr { return uintptr(layout.RegionRooms[class]) * layout.UnitBytes }

func vacantUnits(r *layout.Region) int { return int(r.List / layout.RegionVacant & 255) }

// units returns the list of a cell that is not empty. The capacity is its room.
func units(r *layout.Region) []layout.Unit {
	room := uint64(layout.RegionRooms[roomClass(r)])
	return layout.Slice[layout.Unit](uintptr(r.List&layout.RegionAddress), room)[:set(r.Present).len()]
}

// unitOf returns a unit that is in the list.
func unitOf(r *layout.Region, unit uint) *layout.Unit { return &units(r)[set(r.Present).rank(unit)] }

// insertUnit adds a unit to a list that has room.
func insertUnit(r *layout.Region, unit uint) *layout.Unit {
	list, rank := units(r), set(r.Present).rank(unit)
	list = list[:len(list)+1]
	for i := len(list) - 1; i > rank; i-- {
		moveUnit(&list[i], &list[i-1])
	}
	store(&list[rank].Starts, 0)
	store(&list[rank].Covers, 0)
	store(&r.Present, set(r.Present)|single(unit))
	return &list[rank]
}

// roomFor makes room for one more unit. Until most of them are vacant, a longer list costs
// less than moving units about each time. False, and nothing changed, without memory.
func roomFor(s *layout.Shard, r *layout.Region) bool {
	list, vacant := units(r), vacantUnits(r)
	switch {
	case len(list) < cap(list):
		return true
	case vacant <= len(list)/2 && growUnits(s, r, list):
		return true
	case vacant == 0:
		return false
	}
	compact(r)
	return true
}

// compact takes the vacant units out of a list.
func compact(r *layout.Region) {
	list, kept, present := units(r), 0, set(r.Present)
	for unit := range uint(64) {
		switch {
		case !set(r.Present).has(unit):
			continue
		case vacant(&list[0]):
			present &^= single(unit)
		default:
			moveUnit(&units(r)[kept], &list[0])
			kept++
		}
		list = list[1:]
	}
	store(&r.Present, present)
	atomic.StoreUint64(&r.List, r.List&^(255*layout.RegionVacant))
}

// growUnits moves the units of a cell to the next longer list; an empty cell has the list
// nil. False, and nothing changed, without memory.
func growUnits(s *layout.Shard, r *layout.Region, list []layout.Unit) bool {
	class, vacant := 0, 0
	if list != nil {
		class, vacant = roomClass(r)+1, vacantUnits(r)
	}
	free := &s.UnitLists[class]
	addr := *free
	if addr != 0 {
		*free = uintptr(layout.At[layout.Unit](addr).Only.Block)
	} else if addr = takeChunk(s, unitBytes(class)); addr == 0 {
		return false
	}
	longer := layout.Slice[layout.Unit](addr, uint64(layout.RegionRooms[class]))
	for i := range list {
		moveUnit(&longer[i], &list[i])
	}
	if list != nil {
		freeUnits(s, list)
	}
	word := uint64(class)<<layout.RegionRoomShift | uint64(vacant)*layout.RegionVacant | uint64(addr)
	atomic.StoreUint64(&r.List, word)
	return true
}

func freeUnits(s *layout.Shard, list []layout.Unit) {
	class := slices.Index(layout.RegionRooms[:], uint8(cap(list)))
	first := &list[:1][0]
	first.Only.Block = uint64(s.UnitLists[class])
	s.UnitLists[class] = layout.Address(first)
}

func moveUnit(to, from *layout.Unit) {
	store(&to.Starts, set(from.Starts))
	store(&to.Covers, set(from.Covers))
	to.Only = from.Only
}
