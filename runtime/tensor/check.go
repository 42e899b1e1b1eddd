package tensor

import (
	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
)

// Check verifies the invariants of the caches (cache.go) and of the table of blocks, each by a way of its own. It
// returns the records of all tensors that are kept. No goroutine may be in this package meanwhile.
func Check() (keptRecords map[uint32]bool, err error) {
	c := checker{seen: map[uint32]bool{}}
	blocks.mu.Lock()
	defer blocks.mu.Unlock()
	eachCache(limit.Need{Device: limit.Total}, func(number int, s *cache) {
		s.mu.Lock()
		c.cache(uint8(number), s)
		s.mu.Unlock()
	})
	c.blocks()
	return c.seen, c.Err()
}

type checker struct {
	invariant.Found
	seen map[uint32]bool // records of kept tensors
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

func (c *checker) cache(number uint8, s *cache) {
	count, bytes, heap := uint64(0), uint64(0), uint64(0)
	for i, of := range s.ring {
		c.Want(s.stacks[of.key] == of && of.key.device == number, "device %d: stack %d of the ring is no key's", number, i)
		count += uint64(len(of.entries))
		for _, e := range of.entries {
			bytes += e.bytes
			heap += e.heap
			c.kept(e.Entry, e.heap)
			if number == CPU {
				c.Want(e.bytes == e.heap && layout.TensorHeaderBytes+of.key.elements*of.key.dtype.Size() <= e.heap,
					"%+v: a slot of %d bytes, kept as %d", of.key, e.heap, e.bytes)
				continue
			}
			b, found := blocks.of[e.Object]
			c.Want(found && b.device == number && b.room == e.bytes && b.address != 0 && len(b.streams) == 0,
				"device %d: the kept tensor %#x of %d bytes has the block %+v", number, e.Object, e.bytes, b)
		}
		c.Want(uint64(len(of.entries)) <= limits.perKey.Load(), "%+v: %d tensors of %d", of.key, len(of.entries),
			limits.perKey.Load())
	}
	c.Want(len(s.ring) == len(s.stacks), "device %d: %d keys, %d in the ring", number, len(s.stacks), len(s.ring))
	c.Want(s.kept() == count && s.used == bytes && s.heap == heap,
		"device %d: %d tensors, %d bytes, %d of the heap, counted %d, %d, %d", number, count, bytes, heap,
		s.kept(), s.used, s.heap)
	c.Want(bytes <= limits.bytes.Load(), "device %d keeps %d bytes of %d", number, bytes, limits.bytes.Load())
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
		of := lent[cacheOf(b.device).handle()]
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
