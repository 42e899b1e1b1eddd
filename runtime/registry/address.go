package registry

import (
	"math/bits"

	"tlruntime/runtime/layout"
)

// possible tells whether p can be an address of user space at all.
func possible(p uintptr) bool { return p-1 < 1<<layout.ForeignAddressBits-1 }

func unitKey(level int, granule uint64) uint64 {
	return uint64(level)<<layout.UnitLevelShift | granule>>7
}

// start returns the unit in which p starts, and at which of its granules.
func start(p uintptr) (key uint64, bit uint) {
	if p&15 != 0 {
		return unitKey(layout.UnitFine, uint64(p)), uint(p & 127)
	}
	return unitKey(layout.UnitLevel0, uint64(p>>4)), uint(p >> 4 & 127)
}

// owned returns the granules of 16 bytes that [p, p+bytes) owns: those that start in it.
func owned(p, bytes uintptr) (first, end uint64) {
	return uint64(p+15) >> 4, uint64(p+bytes+15) >> 4
}

const golden = 0x9E3779B97F4A7C15

// mix is a bijection; one multiplication alone leaves strides that resonate with it in runs.
func mix(key uint64) uint64 {
	key *= golden
	key ^= key >> 32
	return key * 0xD6E8FEB86659FD93
}

// home is where probing for key starts.
func home(key uint64, capacity uint32) uint32 {
	return uint32((mix(key) >> 32) * uint64(capacity) >> 32)
}

func (t *Table) shardOf(p uintptr) uint32 { return uint32(uint64(p>>12) * golden >> 32 & t.mask) }

// shardOfUnit is the shard of the unit, `up` levels above 0, that granule is in.
func (t *Table) shardOfUnit(up int, granule uint64) uint32 {
	if up == 0 {
		return t.shardOf(uintptr(granule << 4))
	}
	return uint32(mix(unitKey(layout.UnitLevel0+up, granule)) >> 20 & t.mask)
}

// set is a set of granules of a unit.
type set [2]uint64

// below returns the first n granules, n < 128.
func below(n uint) set {
	part := uint64(1)<<(n&63) - 1
	if n < 64 {
		return set{part, 0}
	}
	return set{^uint64(0), part}
}

func single(n uint) (s set) {
	s[n>>6] = 1 << (n & 63)
	return s
}

// between returns granules first .. last.
func between(first, last uint) set { return below(last).union(single(last)).less(below(first)) }

func (s set) union(o set) set   { return set{s[0] | o[0], s[1] | o[1]} }
func (s set) less(o set) set    { return set{s[0] &^ o[0], s[1] &^ o[1]} }
func (s set) meets(o set) bool  { return s[0]&o[0]|s[1]&o[1] != 0 }
func (s set) has(n uint) bool   { return s[n>>6]>>(n&63)&1 != 0 }
func (s set) len() int          { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }
func (s set) rank(bit uint) int { b := below(bit); return set{s[0] & b[0], s[1] & b[1]}.len() }
