package registry

import (
	"math/bits"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// cover is what a block owns in one unit. At level 1 its granules are units of the
// region below.
type cover struct {
	at                granule
	bits              set
	below             uint64
	shard, shardBelow uint32
	up                int
}

// extent is all that a block owns: its covers, and the shards to lock, ascending. The shard
// of its start is always among them.
type extent struct {
	n, locks int
	covers   [2 * layout.UnitLevels]cover
	shards   [2*layout.UnitLevels + 3]uint32
}

// cut makes b the extent of [p, p+bytes): what does not fill a unit at either end, then
// the units between as granules of the next level.
func (b *extent) cut(t *Table, p, bytes uintptr) {
	b.n, b.locks = 0, 0
	b.addShard(t.shardOf(p))
	first, end := owned(p, bytes)
	for up := 0; first < end; up++ {
		if first>>6 == (end-1)>>6 {
			b.add(t, up, first, end-1)
			return
		}
		if first&63 != 0 {
			b.add(t, up, first, first|63)
		}
		if end&63 != 0 {
			b.add(t, up, end&^63, end-1)
		}
		first, end = (first+63)>>6, end>>6
	}
}

// add appends granules first .. last of one unit.
func (b *extent) add(t *Table, up int, first, last uint64) {
	x := &b.covers[b.n]
	b.n++
	*x = cover{at: granuleOf(layout.UnitLevel0+up, first), bits: between(uint(first&63), uint(last&63)), up: up}
	x.shard = t.shardOfGranule(up, first)
	b.addShard(x.shard)
	if up == 1 {
		x.below = granuleOf(layout.UnitLevel0, first<<6).region
		x.shardBelow = t.shardOfGranule(0, first<<6)
		b.addShard(x.shardBelow)
	}
}

func (b *extent) addShard(shard uint32) {
	i := b.locks
	for i > 0 && b.shards[i-1] > shard {
		i--
	}
	if i > 0 && b.shards[i-1] == shard {
		return
	}
	copy(b.shards[i+1:b.locks+1], b.shards[i:b.locks])
	b.shards[i] = shard
	b.locks++
}

func (b *extent) lock(t *Table) {
	for _, i := range b.shards[:b.locks] {
		lock(&t.shards[i])
	}
}

func (b *extent) unlock(t *Table) {
	for _, i := range b.shards[:b.locks] {
		unlock(&t.shards[i])
	}
}

// needs returns how many units have to be opened at most, those of all covers and of the
// start, and how much of a chunk that takes.
func (b *extent) needs() (units uint32, bytes uintptr) {
	units = uint32(b.n + 1)
	return units, uintptr(units)*layout.UnitReserve + layout.EntryReserve
}

// fits tells whether every shard has room and memory for what the block needs.
func (b *extent) fits(t *Table) bool {
	units, bytes := b.needs()
	for _, i := range b.shards[:b.locks] {
		s := &t.shards[i]
		if uint64(s.Used)+uint64(units) > uint64(s.Limit) || s.ChunkEnd-s.Chunk < bytes {
			return false
		}
	}
	return true
}

// free tells whether no block owns a granule of the covers. Below a granule of level 1 the
// units are looked at, below those of higher levels nothing is: that would take as long as
// the block is large.
func (b *extent) free(t *Table) bool {
	for i := range b.covers[:b.n] {
		x := &b.covers[i]
		if u := find(&t.shards[x.shard], x.at); u != nil && set(u.Covers)&x.bits != 0 {
			return false
		}
		if x.up == 1 && !unitsAreFree(&t.shards[x.shardBelow], x.below, x.bits) {
			return false
		}
	}
	return true
}

// unitsAreFree tells whether no block owns a granule of these units of a region.
func unitsAreFree(s *layout.Shard, region uint64, wanted set) bool {
	i, found := probe(s, region)
	if !found {
		return true
	}
	r := cell(s, i)
	for rest := wanted & set(r.Present); rest != 0; rest &= rest - 1 {
		if unitOf(r, uint(bits.TrailingZeros64(uint64(rest)))).Covers != 0 {
			return false
		}
	}
	return true
}

// cover gives the granules to the block, which fits.
func (b *extent) cover(t *Table) {
	for _, x := range b.covers[:b.n] {
		s := &t.shards[x.shard]
		u := find(s, x.at)
		if u == nil {
			u = open(s, x.at)
			t.countUnit(x.up, 1)
		}
		store(&u.Covers, set(u.Covers)|x.bits)
	}
}

func (b *extent) uncover(t *Table) {
	for _, x := range b.covers[:b.n] {
		s := &t.shards[x.shard]
		u := find(s, x.at)
		store(&u.Covers, set(u.Covers)&^x.bits)
		if vacant(u) {
			closeUnit(s, x.at)
			t.countUnit(x.up, -1)
		}
	}
}

// countUnit counts a unit that came (1) or went (-1).
func (t *Table) countUnit(up int, change int32) {
	if up > 0 {
		atomic.AddUint32(&t.header.Units[up], uint32(change))
		atomic.AddUint32(&t.header.Units[0], uint32(change))
	}
}

// coveredAt tells whether the granule of p, `up` levels above 0, is owned.
func (t *Table) coveredAt(up int, p uintptr) bool {
	number := uint64(p>>4) >> (6 * up)
	s := &t.shards[t.shardOfGranule(up, number)]
	at := granuleOf(layout.UnitLevel0+up, number)
	lock(s)
	defer unlock(s)
	u := find(s, at)
	return u != nil && set(u.Covers).has(at.bit)
}

// coveredAbove tells whether p is inside a block that owns the whole unit of p. No lock may
// be held.
func (t *Table) coveredAbove(p uintptr) bool {
	for up := 1; up < layout.UnitLevels; up++ {
		if t.owns(up, p) {
			return true
		}
	}
	return false
}

// insideAbove tells whether [p, p+bytes) begins inside a block that the search under the locks of
// its own granules does not find, or ends inside one that owns whole units there.
func (t *Table) insideAbove(p, bytes uintptr) bool {
	switch {
	case bytes == 0:
		return false
	case p&15 != 0 && t.insideBetween(p):
		return true
	case atomic.LoadUint32(&t.header.Units[0]) == 0:
		return false
	}
	first, end := owned(p, bytes)
	return first < end && (t.coveredAbove(uintptr(first)<<4) || t.coveredAbove(uintptr(end-1)<<4))
}

// Covered tells whether p is inside a registered block, its start included.
func (t *Table) Covered(p uintptr) bool {
	switch {
	case !possible(p):
		return false
	case p&15 != 0:
		return t.startsAt(p) || t.insideBetween(p)
	}
	return t.coveredAt(0, p) || t.coveredAbove(p)
}
