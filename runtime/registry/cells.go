package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The functions of this file need the lock of the shard they are given.

func cell(s *layout.Shard, i uint32) *layout.Unit {
	return layout.At[layout.Unit](s.Table + uintptr(i)*layout.UnitBytes)
}

// find returns the cell of key, or the empty cell where it belongs.
func find(s *layout.Shard, key uint64) (i uint32, found bool) {
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

// open makes the empty cell u that of key.
func open(s *layout.Shard, u *layout.Unit, key uint64) {
	store(&u.Starts, set{})
	store(&u.Covers, set{})
	atomic.StoreUint64(&u.Key, key)
	s.Used++
}

// store changes words that others read without the lock.
func store(w *[2]uint64, v set) {
	atomic.StoreUint64(&w[0], v[0])
	atomic.StoreUint64(&w[1], v[1])
}

func move(to, from *layout.Unit) {
	store(&to.Starts, from.Starts)
	store(&to.Covers, from.Covers)
	to.Only = from.Only
	atomic.StoreUint64(&to.Key, from.Key)
}

// remove empties a cell and shifts back what probed past it.
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
		u := cell(s, i)
		if u.Key == 0 {
			break
		}
		if distance(i, home(u.Key, n)) >= distance(i, hole) {
			move(cell(s, hole), u)
			hole = i
		}
	}
	atomic.StoreUint64(&cell(s, hole).Key, 0)
	s.Used--
}

func vacant(u *layout.Unit) bool {
	return u.Starts[0]|u.Starts[1]|u.Covers[0]|u.Covers[1] == 0
}

// spot is a start granule in a shard that is locked.
type spot struct {
	shard *layout.Shard
	key   uint64
	bit   uint
	cell  uint32
	entry *layout.ForeignEntry // nil: nothing starts there
}

func (x *spot) unit() *layout.Unit { return cell(x.shard, x.cell) }

func (x *spot) pointer() uintptr { return addressOf(x.key, x.bit) }

// vacate gives the cell back when nothing is in it any more.
func (x *spot) vacate() {
	if vacant(x.unit()) {
		remove(x.shard, x.cell)
	}
}

// covered tells whether a block owns the granule. Those of the block that starts
// here may all be at higher levels, so looking at its pieces is not enough.
func (x *spot) covered() bool {
	u := x.unit()
	return u.Key == x.key && set(u.Covers).has(x.bit)
}

// spotOf looks p up; the lock of its shard must be held.
func (t *Table) spotOf(p uintptr) spot {
	x := spot{shard: &t.shards[t.shardOf(p)]}
	x.key, x.bit = start(p)
	var found bool
	x.cell, found = find(x.shard, x.key)
	if u := x.unit(); found && set(u.Starts).has(x.bit) {
		x.entry = entryOf(u, x.bit)
	}
	return x
}

// look locks the shard of p and looks p up. Without an entry nothing is locked.
func (t *Table) look(p uintptr) (x spot, found bool) {
	if !possible(p) {
		return x, false
	}
	s := &t.shards[t.shardOf(p)]
	lock(s)
	if x = t.spotOf(p); x.entry == nil {
		unlock(s)
		return x, false
	}
	return x, true
}
