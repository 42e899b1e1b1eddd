package registry

import (
	"math/bits"

	"tlruntime/runtime/layout"
)

// granule is a granule of a level, by the region that it is in.
type granule struct {
	region    uint64 // key
	unit, bit uint
}

func granuleOf(level int, number uint64) granule {
	region := uint64(level)<<layout.UnitLevelShift | number>>layout.RegionGranulesShift
	return granule{region, uint(number >> 6 & 63), uint(number & 63)}
}

// pointer returns the address that starts at a granule.
func (at granule) pointer() uintptr {
	number := at.region&(1<<layout.UnitLevelShift-1)<<layout.RegionGranulesShift | uint64(at.unit)<<6 | uint64(at.bit)
	if at.region>>layout.UnitLevelShift == layout.UnitFine {
		return uintptr(number)
	}
	return uintptr(number << 4)
}

// mix is a bijection. One multiplication alone would leave addresses of a regular stride in
// runs of buckets.
func mix(key uint64) uint64 {
	key *= layout.HashFactor
	key ^= key >> 32
	return key * layout.RegionHashFactor
}

// home is the bucket where the search for key begins.
func home(key uint64, capacity uint32) uint32 {
	return uint32((mix(key) >> 32) * uint64(capacity) >> 32)
}

func (t *Table) shardOf(p uintptr) uint32 {
	return uint32(uint64(p>>layout.RegionShift) * layout.HashFactor >> 32 & t.mask)
}

func (t *Table) shard(p uintptr) *layout.Shard { return &t.shards[t.shardOf(p)] }

// shardOfGranule is the shard of a granule's region, `up` levels above 0: an even number.
func (t *Table) shardOfGranule(up int, number uint64) uint32 {
	if up == 0 {
		return t.shardOf(uintptr(number << 4))
	}
	return uint32(mix(granuleOf(layout.UnitLevel0+up, number).region) >> 20 & t.mask)
}

// set is a set of 64: granules of a unit, or units of a region.
type set uint64

func (s set) has(n uint) bool { return s>>n&1 != 0 }
func (s set) len() int        { return bits.OnesCount64(uint64(s)) }
