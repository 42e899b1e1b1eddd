package registry

import (
	"sort"

	"tlruntime/runtime/layout"
)

// Info describes one registered pointer.
type Info struct {
	Pointer    uintptr
	Bytes      uintptr
	Count      uint32
	Floats     uint32
	Gen        uint32
	Type       uint32
	Link       uint32
	Kind       uint8
	Adopted    bool // by tl_mem_register_*
	HandedBack bool
}

func infoOf(p uintptr, e *layout.ForeignEntry) Info {
	return Info{
		Pointer: p, Bytes: bytesOf(e), Count: e.Count, Floats: floats(e), Gen: e.Gen,
		Type: e.TypeFloats & layout.TypeMask, Link: e.Link, Kind: uint8(e.Block >> layout.ForeignKindShift),
		Adopted:    e.Block&layout.ForeignIsAdopted != 0,
		HandedBack: e.Block&layout.ForeignHandedBack != 0,
	}
}

// Info tells what is known of p.
func (t *Table) Info(p uintptr) (Info, bool) {
	x, found := t.look(p)
	if !found {
		return Info{}, false
	}
	defer unlock(x.shard)
	return infoOf(p, x.entry), true
}

// Totals sums the registry up.
type Totals struct {
	Pointers, Bytes   uint64
	HandedBack, Zeros uint64
	Units             uint64
	Memory            uint64 // of tables and lists, in use or not
}

// Totals is exact when nothing else runs.
func (t *Table) Totals() (sum Totals) {
	for i := range t.shards {
		s := &t.shards[i]
		lock(s)
		sum.Pointers += uint64(s.Entries)
		sum.Bytes += s.Bytes
		sum.HandedBack += uint64(s.HandedBack)
		sum.Zeros += uint64(s.Zeros)
		sum.Units += uint64(s.Used)
		sum.Memory += uint64(s.Capacity)*layout.UnitBytes + s.ChunkBytes
		unlock(s)
	}
	return sum
}

// Each calls f with every pointer, in the order of addresses within a shard,
// until f returns false. No lock is held: f may change the registry, and what
// it sees is each shard at one moment.
func (t *Table) Each(f func(Info) bool) {
	var infos []Info
	for i := range t.shards {
		infos = snapshot(&t.shards[i], infos[:0])
		sort.Slice(infos, func(a, b int) bool { return infos[a].Pointer < infos[b].Pointer })
		for _, info := range infos {
			if !f(info) {
				return
			}
		}
	}
}

func snapshot(s *layout.Shard, infos []Info) []Info {
	lock(s)
	defer unlock(s)
	for i := range s.Capacity {
		if u := cell(s, i); u.Key != 0 {
			infos = appendUnit(infos, u)
		}
	}
	return infos
}

func appendUnit(infos []Info, u *layout.Unit) []Info {
	list := entries(u)
	for bit := uint(0); bit < 128; bit++ {
		if set(u.Starts).has(bit) {
			infos = append(infos, infoOf(addressOf(u.Key, bit), &list[0]))
			list = list[1:]
		}
	}
	return infos
}

// addressOf inverts start.
func addressOf(key uint64, bit uint) uintptr {
	granule := key&(1<<layout.UnitLevelShift-1)<<7 | uint64(bit)
	if key>>layout.UnitLevelShift == layout.UnitFine {
		return uintptr(granule)
	}
	return uintptr(granule << 4)
}
