package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// piece is the part of a block in one unit.
type piece struct {
	key   uint64
	bits  set
	shard uint32
	up    int
}

// span is a block: its pieces, and the shards to lock, ascending. The shard of
// its start is always among them.
type span struct {
	n, locks int
	pieces   [2 * layout.UnitLevels]piece
	shards   [2*layout.UnitLevels + 1]uint32
}

// cut makes b the span of [p, p+bytes): what does not fill a unit at either end,
// then the units between as granules of the next level.
func (b *span) cut(t *Table, p, bytes uintptr) {
	b.n, b.locks = 0, 0
	b.addShard(t.shardOf(p))
	first, end := owned(p, bytes)
	for up := 0; first < end; up++ {
		if first>>7 == (end-1)>>7 {
			b.add(t, up, first, end-1)
			return
		}
		if first&127 != 0 {
			b.add(t, up, first, first|127)
		}
		if end&127 != 0 {
			b.add(t, up, end&^127, end-1)
		}
		first, end = (first+127)>>7, end>>7
	}
}

// add appends granules first .. last of one unit.
func (b *span) add(t *Table, up int, first, last uint64) {
	shard := t.shardOfUnit(up, first)
	b.pieces[b.n] = piece{unitKey(layout.UnitLevel0+up, first), between(uint(first&127), uint(last&127)), shard, up}
	b.n++
	b.addShard(shard)
}

func (b *span) addShard(shard uint32) {
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

func (b *span) lock(t *Table) {
	for _, i := range b.shards[:b.locks] {
		lock(&t.shards[i])
	}
}

func (b *span) unlock(t *Table) {
	for _, i := range b.shards[:b.locks] {
		unlock(&t.shards[i])
	}
}

// fits tells whether every shard has room, should all pieces and the start be new in it.
func (b *span) fits(t *Table) bool {
	for _, i := range b.shards[:b.locks] {
		s := &t.shards[i]
		if uint64(s.Used)+uint64(b.n)+1 > uint64(s.Limit) {
			return false
		}
	}
	return true
}

// free tells whether nobody owns a granule of the pieces.
func (b *span) free(t *Table) bool {
	for _, x := range b.pieces[:b.n] {
		s := &t.shards[x.shard]
		if i, found := find(s, x.key); found && set(cell(s, i).Covers).meets(x.bits) {
			return false
		}
	}
	return true
}

func (b *span) cover(t *Table) {
	for _, x := range b.pieces[:b.n] {
		s := &t.shards[x.shard]
		i, found := find(s, x.key)
		u := cell(s, i)
		if !found {
			open(s, u, x.key)
			t.countUnit(x.up, 1)
		}
		store(&u.Covers, set(u.Covers).union(x.bits))
	}
}

func (b *span) uncover(t *Table) {
	for _, x := range b.pieces[:b.n] {
		s := &t.shards[x.shard]
		i, _ := find(s, x.key)
		u := cell(s, i)
		store(&u.Covers, set(u.Covers).less(x.bits))
		if vacant(u) {
			remove(s, i)
			t.countUnit(x.up, -1)
		}
	}
}

// countUnit notes that a unit came (1) or went (-1).
func (t *Table) countUnit(up int, change int32) {
	if up > 0 {
		atomic.AddUint32(&t.header.Units[up], uint32(change))
		atomic.AddUint32(&t.header.Units[0], uint32(change))
	}
}

// coveredAt tells whether the granule of p, `up` levels above 0, is owned.
func (t *Table) coveredAt(up int, p uintptr) bool {
	granule := uint64(p>>4) >> (7 * up)
	s := &t.shards[t.shardOfUnit(up, granule)]
	lock(s)
	defer unlock(s)
	i, found := find(s, unitKey(layout.UnitLevel0+up, granule))
	return found && set(cell(s, i).Covers).has(uint(granule&127))
}

// coveredAbove tells whether p is inside a block so large that it owns whole
// units. No lock may be held.
func (t *Table) coveredAbove(p uintptr) bool {
	for up := 1; up < layout.UnitLevels; up++ {
		if atomic.LoadUint32(&t.header.Units[up]) != 0 && t.coveredAt(up, p) {
			return true
		}
	}
	return false
}

// Covered tells whether p is inside a registered block, its start included.
func (t *Table) Covered(p uintptr) bool {
	return possible(p) && (t.coveredAt(0, p) || t.coveredAbove(p))
}
