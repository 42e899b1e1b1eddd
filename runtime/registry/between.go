package registry

import (
	"math/bits"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Addresses between two granules. A malloc that aligns small blocks to 8 has two of them in one granule,
// and the first owns it: bits do not tell whether the other address is inside the first block. The
// sizes of the entries do.

// farthest is how many regions are searched downwards for the start of a block. The granule in which a
// longer block ends counts as its own as a whole.
const farthest = 256

// owns tells whether a block owns the granule of p, `up` levels above 0.
func (t *Table) owns(up int, p uintptr) bool {
	return (up == 0 || atomic.LoadUint32(&t.header.Units[up]) != 0) && t.coveredAt(up, p)
}

// startsAt tells whether p is the start of a block that owns memory, or an alias of one.
func (t *Table) startsAt(p uintptr) bool {
	x, found := t.lockEntry(p)
	if !found {
		return false
	}
	defer unlock(x.shard)
	return isCovered(x.entry) || isAlias(x.entry)
}

// insideBetween tells whether p, which is no multiple of 16, is inside a block that starts before it
// and owns the granule of p. No lock may be held.
func (t *Table) insideBetween(p uintptr) bool {
	up := layout.UnitLevels - 1
	for ; up >= 0 && !t.owns(up, p); up-- {
	}
	if up < 0 {
		return false
	}
	last := (p | (16<<(6*up) - 1)) &^ 15 // of the granules that the owner is known to have
	below := p
	for low, turn := p&^(1<<16-1), 0; turn < farthest && below > 0; low, turn = low-1<<16, turn+1 {
		if end, found := t.lastEnd(low, below); found {
			return end <= last || end > p // what ends below is not the owner, which has no entry here
		}
		below = low
	}
	return true
}

// lastEnd returns the end of the last block that starts in [low, p) and owns memory; low begins a region,
// and p is in it or where it ends.
func (t *Table) lastEnd(low, p uintptr) (end uintptr, found bool) {
	s := &t.shards[t.shardOf(low)]
	lock(s)
	defer unlock(s)
	for p > low {
		x := t.lookUp(lastStart(s, low, p))
		switch {
		case x.entry == nil:
			return 0, false
		case isCovered(x.entry):
			return x.at.pointer() + bytesOf(x.entry), true
		case isAlias(x.entry):
			b := t.record(x.entry.Link)
			return realOf(b) + blockBytes(b), true
		}
		p = x.at.pointer()
	}
	return 0, false
}

// lastStart returns the last address in [low, p) at which something starts, low when there is none: in
// whole granules, and of the single bytes above that.
func lastStart(s *layout.Shard, low, p uintptr) uintptr {
	from := lastOf(s, layout.UnitLevel0, 4, low, p)
	return max(from, lastOf(s, layout.UnitFine, 0, from, p))
}

// lastOf is lastStart for the granules of one level, of 1 << shift bytes. A region has 1 << 12 of them.
func lastOf(s *layout.Shard, level int, shift uint, low, p uintptr) uintptr {
	first := uint64(low) >> shift
	for end := (uint64(p) + 1<<shift - 1) >> shift; end > first; {
		at := granuleOf(level, end-1)
		if _, found := probe(s, at.region); !found {
			end = (end - 1) &^ (1<<12 - 1)
			continue
		}
		starts := set(0)
		if u := find(s, at); u != nil {
			starts = set(u.Starts) & between(0, at.bit)
		}
		end -= uint64(at.bit) + 1
		if starts != 0 {
			last := end + uint64(bits.Len64(uint64(starts))) - 1
			return max(low, uintptr(last<<shift))
		}
	}
	return low
}
