package tensor

import (
	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
)

// Check verifies the invariants of the tensor pool (cshim/tensor.h), of the device tensor caches
// (device_cache.go) and of the table of blocks, each by a way of its own. It returns the
// records of all tensors that are kept. No thread may make or end tensors meanwhile.
func Check() (keptRecords map[uint32]bool, err error) {
	return check(func(*object.Context) bool { return true })
}

// CheckBeside is Check while other threads are on the fast path: what they keep is left out. No other
// goroutine may be in the runtime.
func CheckBeside(me *object.Context) error {
	_, err := check(func(c *object.Context) bool { return c == me })
	return err
}

func check(quiet func(*object.Context) bool) (keptRecords map[uint32]bool, err error) {
	c := checker{seen: map[uint32]bool{}, places: map[key]uint64{}}
	c.cells(quiet)
	granted, lent := uint64(0), uint64(0)
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.lock()
		c.shard(i, s)
		granted, lent = granted+s.Share, lent+s.LentBytes
		s.unlock()
	}
	c.Want(granted == pool.granted.used.Load() && granted-lent <= pool.limit.Load(),
		"shares of %d bytes, %d lent, counted %d, of %d", granted, lent, pool.granted.used.Load(), pool.limit.Load())
	c.allPlaces()
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	for i := range deviceCaches {
		if s := &deviceCaches[i]; s.handle() != 0 {
			s.mu.Lock()
			c.deviceCache(uint8(i), s)
			s.mu.Unlock()
		}
	}
	c.blocks()
	return c.seen, c.Err()
}

type checker struct {
	invariant.Found
	seen    map[uint32]bool // records of kept tensors
	places  map[key]uint64  // that were found with contexts, and are to be found with keys
	skipped bool            // some contexts were left out
}

func (c *checker) shard(number uint64, s *shard) {
	count, bytes, lent, keys, stacks := uint64(0), uint64(0), uint64(0), uint32(0), map[uintptr]bool{}
	s.each(func(at *layout.TensorPoolKey) {
		k := key{at.Elements, at.Kind}
		keys++
		count += uint64(at.Count)
		bytes += uint64(at.Count) * at.Bytes
		lent += uint64(at.Lent) * at.Bytes
		c.Want(uint32(at.Count) <= min(s.Limit, s.Room) && uint32(at.Count)+uint32(at.Lent) <= s.Room,
			"%+v: %d tensors and %d places lent, %d are allowed, with room for %d", k, at.Count, at.Lent, s.Limit, s.Room)
		c.lent(k, uint64(at.Lent))
		c.Want(s.find(k) == at && shardOf(k) == s, "%+v: its cell in shard %d is not where probing ends", k, number)
		c.Want(!stacks[at.Stack], "%+v: its stack is another key's, too", k)
		stacks[at.Stack] = true
		for i := range min(uint32(at.Count), s.Room) {
			c.kept(*entry(at.Stack, uint16(i)), at.Bytes)
		}
	})
	c.Want(s.count() == count && s.kept() == bytes && s.Keys == keys,
		"shard %d: %d tensors, %d bytes, %d keys, counted %d, %d, %d",
		number, count, bytes, keys, s.count(), s.kept(), s.Keys)
	c.Want(keys <= s.KeyLimit, "shard %d: %d keys of %d", number, keys, s.KeyLimit)
	c.Want(s.Bytes <= s.Grant && s.LentBytes == lent, "shard %d: %d bytes of %d; %d bytes of places lent, counted %d",
		number, s.Bytes, s.Grant, lent, s.LentBytes)
}

// kept checks the record of a tensor that rests, and that nobody else keeps it.
func (c *checker) kept(e layout.Entry, bytes uint64) {
	r := object.Heap().Record(e.Record)
	c.Want(!c.seen[e.Record], "record %d is kept twice", e.Record)
	c.seen[e.Record] = true
	c.Want(r.Sh == 0 && r.Loc == 0 && r.Gen == e.Gen && r.TypeFlags == layout.TypeTensor,
		"record %d, kept with generation %#x, is %+v",
		e.Record, e.Gen, *r)
	size := object.Heap().Size(e.Object)
	c.Want(size == bytes, "record %d: %d bytes, kept as %d", e.Record, size, bytes)
}

func (c *checker) deviceCache(number uint8, s *deviceCache) {
	count, bytes := uint64(0), uint64(0)
	for i, of := range s.ring {
		c.Want(s.stacks[of.key] == of, "device %d: stack %d of the ring is no key's", number, i)
		count += uint64(len(of.entries))
		for _, e := range of.entries {
			bytes += e.bytes
			c.kept(e.Entry, s.header)
			b, found := blocks.of[e.Object]
			c.Want(found && b.device == number && b.room == e.bytes && b.address != 0 && len(b.streams) == 0,
				"device %d: the kept tensor %#x of %d bytes has the block %+v", number, e.Object, e.bytes, b)
		}
	}
	c.Want(len(s.ring) == len(s.stacks), "device %d: %d keys, %d in the ring", number, len(s.stacks), len(s.ring))
	c.Want(s.puts-s.hits-s.evicted == count && s.used.Load() == bytes,
		"device %d: %d tensors, %d bytes, counted %d, %d", number, count, bytes,
		s.puts-s.hits-s.evicted, s.used.Load())
	c.Want(bytes <= pool.limit.Load(), "device %d keeps %d bytes of %d", number, bytes, pool.limit.Load())
}

// blocks checks that each block is lent by the pool of its device, to one tensor.
func (c *checker) blocks() {
	c.Want(blocks.count.Load() == int64(len(blocks.of)), "%d blocks, counted %d", len(blocks.of), blocks.count.Load())
	if len(blocks.of) == 0 {
		return
	}
	lent := map[mempool.Handle]map[uintptr]uintptr{}
	mempool.Live(func(h mempool.Handle, address, bytes uintptr) {
		if lent[h] == nil {
			lent[h] = map[uintptr]uintptr{}
		}
		lent[h][address] = bytes
	})
	own, ownBytes := uint64(0), uint64(0)
	for tensor, b := range blocks.of {
		if b.address == 0 {
			continue
		}
		if b.own {
			own, ownBytes = own+1, ownBytes+b.room
			continue
		}
		of := lent[deviceCacheOf(b.device).handle()]
		c.Want(uint64(of[b.address]) == b.room && b.room >= uint64(b.bytes),
			"the block %#x of tensor %#x has %d bytes, device %d lends %d there", b.address, tensor, b.room,
			b.device, of[b.address])
		delete(of, b.address)
	}
	owned.mu.Lock()
	defer owned.mu.Unlock()
	c.Want(owned.live == own && owned.bytes == ownBytes, "%d own blocks of %d bytes, counted %d of %d", own, ownBytes,
		owned.live, owned.bytes)
}
