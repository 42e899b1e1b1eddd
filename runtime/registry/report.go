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
	x, found := t.lockEntry(p)
	if !found {
		return Info{}, false
	}
	defer unlock(x.shard)
	return infoOf(p, x.entry), true
}

// HasShared tells whether a number is that of a live shared block.
func (t *Table) HasShared(id uint64) bool {
	s := &t.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	link := uint32(id)
	return uint64(link) < uint64(len(s.all)) && s.all[link].aliases != 0 && s.all[link].idOf(link) == id
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

// Describe tells what is known of a live pointer. For a shared block of several
// aliases it looks through all entries.
func (t *Table) Describe(p uintptr) (Described, bool) {
	info, known := t.Info(p)
	if !known {
		return Described{}, false
	}
	d, known := t.Outline(info)
	if known && d.Aliases > 1 {
		d.References = t.references(info.Link)
	}
	return d, known
}

// Outline is Describe of an entry, without References where a shared block has several
// aliases: it looks nowhere else.
func (t *Table) Outline(info Info) (Described, bool) {
	if info.Count == 0 || info.HandedBack {
		return Described{}, false
	}
	d := Described{Real: info.Pointer, Bytes: info.Bytes, Kind: info.Kind, Count: uint64(info.Count),
		References: uint64(info.Count), Aliases: 1}
	if info.Link == 0 {
		return d, true
	}
	t.shared.mu.Lock()
	b := t.shared.all[info.Link]
	t.shared.mu.Unlock()
	d.Real, d.Bytes, d.Kind, d.Aliases = b.real, b.bytes, b.kind, uint64(b.aliases)
	if b.numbered {
		d.Id = b.idOf(info.Link)
	}
	return d, true
}

func (t *Table) references(link uint32) (sum uint64) {
	t.Each(func(info Info) bool {
		if info.Link == link {
			sum += uint64(info.Count)
		}
		return true
	})
	return sum
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

// Aliases returns how many aliases were ever made. Whoever registers a block with a single
// address counts that.
func (t *Table) Aliases() uint64 { return t.aliases.Load() }

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
		sum.Memory += uint64(s.Capacity)*layout.RegionBytes + s.ChunkBytes
		unlock(s)
	}
	t.shared.mu.Lock()
	defer t.shared.mu.Unlock()
	sum.Bytes += t.shared.bytes
	sum.SharedBlocks = t.shared.numbered
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
		if r := cell(s, i); r.Key != 0 {
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
