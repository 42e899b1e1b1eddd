package registry

import "tlruntime/runtime/layout"

// What stands in a shard, for those who read all of it. They hold its lock.

func bucket(s *layout.Shard, i uint32) *layout.Region {
	return layout.At[layout.Region](s.Table + uintptr(i)*layout.RegionBytes)
}

func vacant(u *layout.Unit) bool { return u.Starts|u.Covers == 0 }

func roomClass(r *layout.Region) int { return int(r.List >> layout.RegionRoomShift) }

func unitBytes(class int) uintptr { return uintptr(layout.RegionRooms[class]) * layout.UnitBytes }

func vacantUnits(r *layout.Region) int { return int(r.List / layout.RegionVacant & 255) }

// units returns the list of a bucket that is not empty, in order of address.
func units(r *layout.Region) []layout.Unit {
	return layout.Slice[layout.Unit](uintptr(r.List&layout.RegionAddress), uint64(set(r.Present).len()))
}

// listed tells whether the entries of a unit that has some are in a list.
func listed(u *layout.Unit) bool { return u.Only.Gen == 0 }

func listBytes(room uint32) uintptr { return uintptr(room) * layout.ForeignEntryBytes }

// entries returns the entries of a unit, in order of address.
func entries(u *layout.Unit) []layout.ForeignEntry {
	n := uint64(set(u.Starts).len())
	if n == 0 || !listed(u) {
		return layout.Slice[layout.ForeignEntry](layout.Address(&u.Only), 1)[:n]
	}
	return layout.Slice[layout.ForeignEntry](uintptr(u.Only.Block), n)
}
