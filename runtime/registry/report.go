package registry

import (
	"sort"
	"sync/atomic"

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
	Link       uint32 // the shared block of which it is an alias, 0 = none
	Kind       uint8
	Adopted    bool // by tl_mem_register_*
	HandedBack bool
}

// TypeName says what a pointer's memory is: "memory of malloc", "workspace".
func (i Info) TypeName() string {
	if i.Type == layout.ForeignWorkspace {
		return "workspace"
	}
	return OfKind("memory", i.Kind)
}

func infoOf(p uintptr, e *layout.ForeignEntry) Info {
	return Info{
		Pointer: p, Bytes: bytesOf(e), Count: e.Count, Floats: floats(e), Gen: e.Gen,
		Type: e.TypeFloats & layout.TypeMask, Link: e.Link, Kind: uint8(e.Block >> layout.ForeignKindShift),
		Adopted:    e.Block&layout.ForeignAdopted != 0,
		HandedBack: e.Block&layout.ForeignHandedBack != 0,
	}
}

// Info describes the entry of p.
func (t *Table) Info(p uintptr) (Info, bool) {
	s, e := lockEntry(p)
	if e == nil {
		return Info{}, false
	}
	defer unlock(s)
	return infoOf(p, e), true
}

// Described is what a program may know of a pointer.
type Described struct {
	Real, Bytes uintptr
	Kind        uint8
	Count       uint64 // references at this address
	References  uint64 // at all aliases of the block
	Aliases     uint64
	Id          uint64 // of a shared block that was registered as one, else 0
}

// Describe tells what is known of a live pointer.
func (t *Table) Describe(p uintptr) (Described, bool) { return t.describe(p, 0) }

// Outline is Describe of an entry that was seen, if it is still there.
func (t *Table) Outline(info Info) (Described, bool) { return t.describe(info.Pointer, info.Gen) }

// describe describes the entry of p, of that generation; 0 stands for any.
func (t *Table) describe(p uintptr, gen uint32) (Described, bool) {
	s, e := lockEntry(p)
	if e == nil {
		return Described{}, false
	}
	defer unlock(s)
	if !live(e) || gen != 0 && e.Gen != gen {
		return Described{}, false
	}
	d := Described{Real: p, Bytes: bytesOf(e), Kind: uint8(e.Block >> layout.ForeignKindShift), Count: uint64(e.Count),
		References: uint64(e.Count), Aliases: 1}
	if isAlias(e) { // its block lives as long as the alias is there
		b := t.record(e.Link)
		life := atomic.LoadUint64(&b.Life)
		d.Real, d.Bytes, d.Kind, d.Aliases = realOf(b), blockBytes(b), blockKind(b), uint64(names(life))
		d.References = d.Aliases + atomic.LoadUint64(&b.More)
		d.Id = lifeOf(generation(life), e.Link)
	}
	return d, true
}

// Totals sums the registry up.
type Totals struct {
	Pointers          uint64
	Bytes             uint64 // of blocks that are held, shared blocks included
	SharedBlocks      uint64 // those with a number: a block with a deleter has none
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
		sum.Units += s.Units
		sum.SharedBlocks += uint64(s.Buffers)
		sum.Memory += uint64(s.Capacity)*layout.RegionBytes + s.ChunkBytes + uint64(s.Records)*layout.BlockRecordBytes
		unlock(s)
	}
	return sum
}

// Each calls f with every pointer, in the order of addresses within a shard, until f returns
// false. f sees each shard as it was at one moment. No lock is held, so f may change the
// registry.
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
		if r := bucket(s, i); r.Key != 0 {
			infos = appendRegion(infos, r)
		}
	}
	return infos
}

func appendRegion(infos []Info, r *layout.Region) []Info {
	list := units(r)
	for unit := range uint(64) {
		if set(r.Present).has(unit) {
			infos = appendUnit(infos, granule{region: r.Key, unit: unit}, &list[0])
			list = list[1:]
		}
	}
	return infos
}

func appendUnit(infos []Info, at granule, u *layout.Unit) []Info {
	list := entries(u)
	for at.bit = 0; at.bit < 64; at.bit++ {
		if set(u.Starts).has(at.bit) {
			infos = append(infos, infoOf(at.pointer(), &list[0]))
			list = list[1:]
		}
	}
	return infos
}
