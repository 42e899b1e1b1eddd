package registry

import (
	"sort"

	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
)

// Check verifies the invariants of cshim/registry/table.h: it walks the memory and recomputes
// what the operations maintain. Nothing may run beside it. For tests and debug builds.
func (t *Table) Check() error { return t.check(0) }

// CheckBeside is Check while the fast path may be in the table, which waits meanwhile.
// No other goroutine may run beside it.
func (t *Table) CheckBeside() error {
	for i := range t.shards {
		lock(&t.shards[i])
	}
	err := t.check(1)
	for i := range t.shards {
		unlock(&t.shards[i])
	}
	return err
}

// check expects every lock to be held (1) or free (0).
func (t *Table) check(held uint32) error {
	c := checker{t: t, held: held, seen: map[uint64]bool{}, lists: map[uintptr]bool{}, links: map[uint32]links{},
		blocksAt: make([]blocksAt, len(t.shards))}
	c.records()
	for i := range t.shards {
		c.shard(uint32(i))
	}
	c.blockRecords()
	c.coverage()
	for up := 2; up < layout.UnitLevels; up += 2 {
		c.Want(c.buckets[up] == t.header.Buckets[up], "%d buckets %d levels up, counted %d", c.buckets[up], up,
			t.header.Buckets[up])
		c.buckets[0] += c.buckets[up]
	}
	c.Want(c.buckets[0] == t.header.Buckets[0], "%d buckets above level 0, counted %d", c.buckets[0], t.header.Buckets[0])
	return c.Err()
}

type interval struct{ from, to uint64 }

type checker struct {
	invariant.Found
	t       *Table
	held    uint32
	seen    map[uint64]bool  // region keys
	lists   map[uintptr]bool // addresses of lists, free ones included
	links   map[uint32]links // by record
	blocks  []interval       // of covered entries and shared blocks, in bytes
	bits    []interval       // of set bits of covers
	buckets [layout.UnitLevels]uint32

	blocksAt []blocksAt // by shard
}

func (c *checker) shard(index uint32) {
	s := &c.t.shards[index]
	c.Want(s.Lock&1 == c.held, "shard %d: the lock is %d", index, s.Lock&1)
	c.Want(s.Used <= s.Limit && s.Limit < s.Capacity, "shard %d: used %d limit %d capacity %d", index, s.Used, s.Limit,
		s.Capacity)
	var used, pointers, back, zeros uint32
	var bytes uint64
	var units uint64
	for i := range s.Capacity {
		r := bucket(s, i)
		if r.Key == 0 {
			c.Want(*r == layout.Region{}, "shard %d: bucket %d is empty and has %+v", index, i, *r)
			continue
		}
		used++
		units += uint64(set(r.Present).len() - vacantUnits(r))
		c.region(index, i, r)
		for _, info := range appendRegion(nil, r) {
			c.entry(index, info)
			pointers++
			if info.owns() {
				bytes += uint64(info.Bytes)
			}
			back += count(info.HandedBack)
			zeros += count(info.Count == 0)
		}
	}
	c.Want(units == s.Units, "shard %d: %d units in use, counted %d", index, units, s.Units)
	c.Want(used == s.Used, "shard %d: %d buckets in use, counted %d", index, used, s.Used)
	c.Want(pointers == s.Entries, "shard %d: %d entries, counted %d", index, pointers, s.Entries)
	c.Want(back == s.HandedBack, "shard %d: %d handed back, counted %d", index, back, s.HandedBack)
	c.Want(zeros == s.Zeros, "shard %d: %d at zero, counted %d", index, zeros, s.Zeros)
	at := c.blocksAt[index]
	c.Want(bytes+at.bytes == s.Bytes, "shard %d: %d bytes, and %d of shared blocks, counted %d", index, bytes, at.bytes,
		s.Bytes)
	c.Want(at.buffers == s.Buffers, "shard %d: %d shared blocks, counted %d", index, at.buffers, s.Buffers)
	c.memory(index, s)
}

// owns tells whether an entry of bytes is covered.
func (i Info) owns() bool { return i.Count > 0 && !i.HandedBack || i.Link != 0 }

func count(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// region checks a bucket, its units, and that a search finds it.
func (c *checker) region(index, i uint32, r *layout.Region) {
	s := &c.t.shards[index]
	c.Want(!c.seen[r.Key], "region %#x is there twice", r.Key)
	c.seen[r.Key] = true
	for j := home(r.Key, s.Capacity); j != i; j = (j + 1) % s.Capacity {
		c.Want(bucket(s, j).Key != 0, "region %#x is behind an empty bucket", r.Key)
	}
	room, there := int(layout.RegionRooms[roomClass(r)]), set(r.Present).len()
	c.Want((there == vacantUnits(r) && r.Whole == 0) == (r.Key == s.Idle),
		"region %#x, %d units of %d vacant, whole %#x, idle %#x", r.Key, vacantUnits(r), there, r.Whole, s.Idle)
	c.Want(there <= room, "region %#x has more units than room", r.Key)
	if r.List != 0 {
		c.list(uintptr(r.List & layout.RegionAddress))
	}
	up := int(r.Key>>layout.UnitLevelShift) - layout.UnitLevel0
	c.Want(up == -1 || up >= 0 && up%2 == 0, "region %#x is of level %d", r.Key, up)
	if up > 0 {
		c.buckets[up]++
	}
	c.owned(index, up+1, r.Key&(1<<layout.UnitLevelShift-1)<<6, r.Whole)
	unused := 0
	list := units(r)
	for unit := range uint(64) {
		if !set(r.Present).has(unit) {
			continue
		}
		if vacant(&list[0]) {
			unused++
		} else {
			c.unit(index, granule{region: r.Key, unit: unit}, &list[0])
		}
		list = list[1:]
	}
	c.Want(unused == vacantUnits(r), "region %#x: %d vacant units, counted %d", r.Key, unused, vacantUnits(r))
}

func (c *checker) unit(index uint32, at granule, u *layout.Unit) {
	if u.Starts != 0 && listed(u) {
		c.list(uintptr(u.Only.Block))
		c.Want(uint32(set(u.Starts).len()) <= u.Only.Count, "unit %d of %#x has more entries than room", at.unit,
			at.region)
	}
	up := int(at.region>>layout.UnitLevelShift) - layout.UnitLevel0
	c.Want(up <= 0 || u.Starts == 0, "unit %d of %#x, above level 0, has starts", at.unit, at.region)
	c.owned(index, up, at.region&(1<<layout.UnitLevelShift-1)<<layout.RegionGranulesShift|uint64(at.unit)<<6, u.Covers)
}

// owned notes which of 64 granules of a level blocks own.
func (c *checker) owned(index uint32, up int, first, bits uint64) {
	for bit := range uint64(64) {
		if !set(bits).has(uint(bit)) {
			continue
		}
		number := first | bit
		if up < 0 {
			c.Want(false, "single bytes from %#x on are owned", number)
			return
		}
		c.Want(c.t.shardOfGranule(up&^1, number<<(up&1*6)) == index, "granule %#x is in shard %d", number, index)
		shift := 4 + 6*up
		c.bits = append(c.bits, interval{number << shift, (number + 1) << shift})
	}
}

func (c *checker) entry(index uint32, info Info) {
	p := info.Pointer
	c.Want(c.t.shardOf(p) == index, "%#x is in shard %d", p, index)
	c.Want(info.Gen != 0, "%#x has generation 0", p)
	c.Want(info.Floats <= min(info.Count, layout.MaxFloats), "%#x: %d floats of %d", p, info.Floats, info.Count)
	c.Want(!info.HandedBack || info.Adopted && info.Floats > 0, "%#x is handed back, %d floats", p, info.Floats)
	if info.Link != 0 {
		c.link(info)
	}
	if info.owns() {
		c.block(p, info.Bytes)
	}
}

func (c *checker) block(p, bytes uintptr) {
	from, to := uint64(p+15)&^15, uint64(p+bytes+15)&^15
	if bytes > 0 && from < to {
		c.blocks = append(c.blocks, interval{from, to})
	}
}

// coverage: every owned granule is inside a block, and together they are as
// large as the blocks are.
func (c *checker) coverage() {
	sort.Slice(c.blocks, func(a, b int) bool { return c.blocks[a].from < c.blocks[b].from })
	reach := make([]uint64, len(c.blocks)+1) // reach[i]: the furthest end of the first i blocks
	var blocks, bits uint64
	for i, b := range c.blocks {
		reach[i+1] = max(reach[i], b.to)
		blocks += b.to - b.from
	}
	for _, b := range c.bits {
		bits += b.to - b.from
		before := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].from > b.from })
		c.Want(reach[before] >= b.to, "[%#x, %#x) is owned by nobody", b.from, b.to)
	}
	c.Want(blocks == bits, "blocks own %d bytes, bits %d", blocks, bits)
}

func (c *checker) list(addr uintptr) {
	c.Want(!c.lists[addr], "list %#x is used twice", addr)
	c.lists[addr] = true
}

// memory checks that every list is in use or free, once.
func (c *checker) memory(index uint32, s *layout.Shard) {
	bytes := uint64(s.ChunkEnd - s.Chunk)
	for class, addr := range s.Lists {
		for ; addr != 0; addr = uintptr(layout.At[layout.ForeignEntry](addr).Block) {
			c.list(addr)
			bytes += uint64(listBytes(2 << class))
		}
	}
	for class, addr := range s.UnitLists {
		for ; addr != 0; addr = uintptr(layout.At[layout.Unit](addr).Only.Block) {
			c.list(addr)
			bytes += uint64(unitBytes(class))
		}
	}
	for i := range s.Capacity {
		if r := bucket(s, i); r.Key != 0 {
			bytes += listsOf(r)
		}
	}
	// Of each chunk, less than the smallest list is lost.
	c.Want(bytes <= s.ChunkBytes && bytes+64*uint64(listBytes(2)) > s.ChunkBytes,
		"shard %d: lists of %d bytes in chunks of %d", index, bytes, s.ChunkBytes)
}

// listsOf sums up what the lists of a region take.
func listsOf(r *layout.Region) (bytes uint64) {
	if r.List != 0 {
		bytes = uint64(unitBytes(roomClass(r)))
	}
	for _, u := range units(r) {
		if u.Starts != 0 && listed(&u) {
			bytes += uint64(listBytes(u.Only.Count))
		}
	}
	return bytes
}
