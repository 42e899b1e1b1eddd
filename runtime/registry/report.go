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
	Link       uint32 // the buffer of which it is a name, 0 = none
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

// HasBuffer tells whether a number is that of a live buffer.
func (t *Table) HasBuffer(id uint64) bool {
	s := &t.buffers
	s.mu.Lock()
	defer s.mu.Unlock()
	link := uint32(id)
	return uint64(link) < uint64(len(s.all)) && s.all[link].names != 0 && s.all[link].idOf(link) == id
}

// Described is what a program may know of a pointer.
type Described struct {
	Real, Bytes uintptr
	Kind        uint8
	Count       uint64 // references at this address
	References  uint64 // at all names of the block
	Names       uint64
	Id          uint64 // of a buffer that has aliases or may get them, else 0
}

// Describe tells what is known of a live pointer. For a buffer of several names it
// looks through all entries.
func (t *Table) Describe(p uintptr) (Described, bool) {
	info, known := t.Info(p)
	if !known {
		return Described{}, false
	}
	d, known := t.Outline(info)
	if known && d.Names > 1 {
		d.References = t.references(info.Link)
	}
	return d, known
}

// Outline is Describe of an entry, without References where a buffer has several names:
// it looks nowhere else.
func (t *Table) Outline(info Info) (Described, bool) {
	if info.Count == 0 || info.HandedBack {
		return Described{}, false
	}
	d := Described{Real: info.Pointer, Bytes: info.Bytes, Kind: info.Kind, Count: uint64(info.Count),
		References: uint64(info.Count), Names: 1}
	if info.Link == 0 {
		return d, true
	}
	t.buffers.mu.Lock()
	b := t.buffers.all[info.Link]
	t.buffers.mu.Unlock()
	d.Real, d.Bytes, d.Kind, d.Names = b.real, b.bytes, b.kind, uint64(b.names)
	if b.shared {
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
	Bytes             uint64 // of blocks that are held, and of buffers
	Buffers           uint64 // with names that were asked for: not those of a single owner
	HandedBack, Zeros uint64
	Units             uint64
	Memory            uint64 // of tables and lists, in use or not
}

// Named returns how many addresses of buffers there ever were. Those of blocks with a
// single address are counted by who registers them.
func (t *Table) Named() uint64 { return t.named.Load() }

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
	t.buffers.mu.Lock()
	defer t.buffers.mu.Unlock()
	sum.Bytes += t.buffers.bytes
	sum.Buffers = t.buffers.shared
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
			infos = appendUnit(infos, place{region: r.Key, unit: unit}, &list[0])
			list = list[1:]
		}
	}
	return infos
}

func appendUnit(infos []Info, at place, u *layout.Unit) []Info {
	list := entries(u)
	for at.bit = 0; at.bit < 64; at.bit++ {
		if set(u.Starts).has(at.bit) {
			infos = append(infos, infoOf(at.pointer(), &list[0]))
			list = list[1:]
		}
	}
	return infos
}
