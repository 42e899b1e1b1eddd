package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The functions of this file need the lock of the shard they are given.

func cell(s *layout.Shard, i uint32) *layout.Region {
	return layout.At[layout.Region](s.Table + uintptr(i)*layout.RegionBytes)
}

// probe searches for the cell of a region, and returns the empty cell where it belongs
// when it is not found.
func probe(s *layout.Shard, key uint64) (i uint32, found bool) {
	for i = home(key, s.Capacity); ; {
		switch cell(s, i).Key {
		case key:
			return i, true
		case 0:
			return i, false
		}
		if i++; i == s.Capacity {
			i = 0
		}
	}
}

// find returns the unit of a granule, nil when that is not in use.
func find(s *layout.Shard, at granule) *layout.Unit {
	i, found := probe(s, at.region)
	if !found || !set(cell(s, i).Present).has(at.unit) {
		return nil
	}
	if u := unitOf(cell(s, i), at.unit); !vacant(u) {
		return u
	}
	return nil
}

// open opens a unit that is not in use. It returns nil and changes nothing when no memory
// is at hand; the table has room for a cell. Units of the same region move.
func open(s *layout.Shard, at granule) *layout.Unit {
	i, found := probe(s, at.region)
	r := cell(s, i)
	switch {
	case !found && !growUnits(s, r, nil):
		return nil
	case !found:
		store(&r.Present, 0)
		atomic.StoreUint64(&r.Key, at.region)
		s.Used++
	case set(r.Present).has(at.unit):
		atomic.StoreUint64(&r.List, r.List-layout.RegionVacant)
		opened(s, at)
		return unitOf(r, at.unit)
	case !roomFor(s, r):
		return nil
	}
	opened(s, at)
	return insertUnit(r, at.unit)
}

// opened counts a unit in use, whose cell is not idle then.
func opened(s *layout.Shard, at granule) {
	s.Units++
	if s.Idle == at.region {
		s.Idle = 0
	}
}

// closeUnit counts a unit that has become vacant. A cell of vacant units is kept until
// another one is: a block that comes and goes alone finds its cell again.
func closeUnit(s *layout.Shard, at granule) {
	i, _ := probe(s, at.region)
	r := cell(s, i)
	s.Units--
	atomic.StoreUint64(&r.List, r.List+layout.RegionVacant)
	if vacantUnits(r) < set(r.Present).len() {
		return
	}
	if s.Idle != 0 {
		before, _ := probe(s, s.Idle)
		freeUnits(s, units(cell(s, before)))
		remove(s, before)
	}
	s.Idle = at.region
}

// store changes a word that others read without the lock.
func store(w *uint64, v set) { atomic.StoreUint64(w, uint64(v)) }

func move(to, from *layout.Region) {
	atomic.StoreUint64(&to.Present, from.Present)
	atomic.StoreUint64(&to.List, from.List)
	atomic.StoreUint64(&to.Key, from.Key)
}

// remove empties a cell and moves those back that were searched past it: a mark in its
// place would be passed over by every later search.
func remove(s *layout.Shard, hole uint32) {
	n := s.Capacity
	distance := func(to, from uint32) uint32 {
		if to >= from {
			return to - from
		}
		return to + n - from
	}
	for i := hole; ; {
		if i++; i == n {
			i = 0
		}
		r := cell(s, i)
		if r.Key == 0 {
			break
		}
		if distance(i, home(r.Key, n)) >= distance(i, hole) {
			move(cell(s, hole), r)
			hole = i
		}
	}
	atomic.StoreUint64(&cell(s, hole).Key, 0)
	s.Used--
}

func vacant(u *layout.Unit) bool { return u.Starts|u.Covers == 0 }

// lookup is what a search for a start granule found. The shard is locked.
type lookup struct {
	shard *layout.Shard
	at    granule
	unit  *layout.Unit         // nil: not in use
	entry *layout.ForeignEntry // nil: nothing starts there
}

// vacate closes the unit when it has become vacant.
func (x *lookup) vacate() {
	if vacant(x.unit) {
		closeUnit(x.shard, x.at)
	}
}

// covered tells whether a block owns the granule. A search in the covers of the block that
// starts here would not tell: they may all be at higher levels.
func (x *lookup) covered() bool { return x.unit != nil && set(x.unit.Covers).has(x.at.bit) }

// lookUp searches for p; the lock of its shard must be held.
func (t *Table) lookUp(p uintptr) lookup {
	x := lookup{shard: &t.shards[t.shardOf(p)], at: start(p)}
	x.unit = find(x.shard, x.at)
	if x.unit != nil && set(x.unit.Starts).has(x.at.bit) {
		x.entry = entryOf(x.unit, x.at.bit)
	}
	return x
}

// lockEntry locks the shard of p and looks p up. It unlocks the shard when p has no entry.
func (t *Table) lockEntry(p uintptr) (x lookup, found bool) {
	if !possible(p) {
		return x, false
	}
	s := &t.shards[t.shardOf(p)]
	lock(s)
	if x = t.lookUp(p); x.entry == nil {
		unlock(s)
		return x, false
	}
	return x, true
}
