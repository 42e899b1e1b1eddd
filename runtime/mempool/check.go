package mempool

import (
	"errors"
	"math/bits"

	"tlruntime/runtime/invariant"
	"tlruntime/runtime/layout"
)

// Check verifies the invariants of cshim/mempool/mempool.h, each by a way of its own: it walks the
// chunks and recomputes what the operations maintain. For tests; -tags tlcheck runs it
// while pools are used (verify_on.go).
func Check(h Handle) error {
	return with(h, func(p *Pool) error {
		lock(p.state)
		defer unlock(p.state)
		return errors.Join(p.check(), p.checkOrder())
	})
}

// CheckAll is Check for every pool. It adds the bytes of their chunks, by account.
func CheckAll(held map[int32]uint64) error {
	var all []error
	eachPool(func(p *Pool) {
		all = append(all, Check(p.handle))
		p.visitChunks(func(c Chunk) { held[c.Account] += c.Bytes })
	})
	return errors.Join(all...)
}

// checker holds what the walk along the chunks has found.
type checker struct {
	invariant.Found
	tables
	granule   uint64
	free      map[uint32]bool // records, not yet seen in a treap
	live      map[uint32]bool // records, not yet seen in a chain
	tagged    map[uint32]bool // records that streams use
	liveCount uint64
	liveBytes uint64
	reserved  uint64
	marked    map[uint32]uint32 // live records, not yet seen in a cache, by 1 + its number
	at        map[uint64]uint32 // live records by address
}

// check runs under the lock of the state.
func (p *Pool) check() error {
	c := checker{tables: view(p.state), granule: 1 << p.state.Shift, free: map[uint32]bool{}, live: map[uint32]bool{},
		tagged: map[uint32]bool{}, marked: map[uint32]uint32{}, at: map[uint64]uint32{}}
	for i := range p.chunks.Len() {
		if p.chunks.At(i).Bytes == 0 {
			continue
		}
		c.chunk(*p.chunks.At(i))
		if i > 0 {
			before := p.chunks.At(i - 1)
			c.Want(before.Address+before.Bytes <= p.chunks.At(i).Address, "chunk %d overlaps the one before", i)
		}
	}
	c.records()
	c.index()
	c.hash()
	c.log()
	c.counters()
	c.caches()
	return c.Err()
}

// chunk walks the blocks of a chunk: they tile it, and no two free ones touch.
func (c *checker) chunk(of layout.MempoolChunk) {
	at, before, wasFree := of.Address, uint32(0), false
	for i := uint32(of.First); i != 0; i = c.blocks[i].Next {
		b := &c.blocks[i]
		if c.free[i] || c.live[i] || c.tagged[i] {
			c.Want(false, "record %d is in two places", i)
			return
		}
		c.Want(b.Address == at, "record %d is at %#x, the one before ends at %#x", i, b.Address, at)
		c.Want(b.Prev == before, "record %d: prev is %d, not %d", i, b.Prev, before)
		c.Want(bytesOf(b) > 0 && bytesOf(b)%c.granule == 0, "record %d has %d bytes", i, bytesOf(b))
		tag := b.Word &^ layout.MempoolFree >> layout.MempoolTagShift
		c.Want(tag <= 2 && !(tag != 0 && isFree(b)), "record %d has the tag %d", i, tag)
		c.Want(!(wasFree && isFree(b)), "records %d and %d are both free", before, i)
		switch {
		case isFree(b):
			c.free[i] = true
		case isTagged(b):
			c.tagged[i] = true
			if b.Word&layout.MempoolLent != 0 {
				c.liveCount++
				c.liveBytes += bytesOf(b)
			}
		default:
			c.live[i] = true
			c.at[b.Address] = i
			if b.Right != 0 {
				c.marked[i] = b.Right
			}
			c.liveCount++
			c.liveBytes += bytesOf(b)
		}
		at, before, wasFree = b.Address+bytesOf(b), i, isFree(b)
	}
	c.Want(at == of.Address+of.Bytes, "the chunk at %#x ends at %#x, its blocks at %#x", of.Address,
		of.Address+of.Bytes, at)
	c.reserved += of.Bytes
}

// records: every one is a block or unused.
func (c *checker) records() {
	unused := uint32(0)
	for i := c.Unused; i != 0 && unused <= c.Limit; i = c.blocks[i].Left {
		c.Want(c.blocks[i].Word == 0, "unused record %d is in use", i)
		c.Want(!c.free[i] && !c.live[i] && !c.tagged[i], "unused record %d is a block", i)
		unused++
	}
	c.Want(uint32(len(c.free)+len(c.live)+len(c.tagged))+unused+1 == c.Fresh && c.Fresh <= c.Limit,
		"%d free, %d live, %d tagged and %d unused of %d records", len(c.free), len(c.live), len(c.tagged), unused,
		c.Fresh-1)
}

// index: the treaps hold the free blocks, each in its bin, in order.
func (c *checker) index() {
	c.Want(uint64(c.FreeBlocks) == uint64(len(c.free)), "%d free blocks, counted %d", len(c.free), c.FreeBlocks)
	for bin, root := range c.bins.Roots {
		set := c.bins.Leaves[bin>>6]>>(bin&63)&1 != 0
		c.Want(set == (root != 0), "bin %d: bit %v, root %d", bin, set, root)
		var last *layout.MempoolBlock
		c.treap(uint32(bin), root, &last)
	}
	for leaf, word := range c.bins.Leaves {
		c.Want(c.bins.Nodes[leaf>>6]>>(leaf&63)&1 != 0 == (word != 0), "the bit above leaf %d is wrong", leaf)
	}
	for node, word := range c.bins.Nodes {
		c.Want(c.bins.Top>>node&1 != 0 == (word != 0), "the bit above node %d is wrong", node)
	}
	c.Want(len(c.free) == 0, "%d free blocks are in no treap", len(c.free))
}

// binOf returns the bin of a size in granules, at least 1.
func binOf(granules uint64) uint32 {
	up := uint32(bits.Len64(granules|layout.MempoolSubbins)) - 1 - layout.MempoolSubbinBits
	return up<<layout.MempoolSubbinBits + uint32(granules>>up)
}

func priority(record uint32) uint32 {
	x := record * 0x9E3779B1
	x = (x ^ x>>15) * 0x85EBCA77
	return x ^ x>>13
}

// before is the order of a treap.
func before(a, b *layout.MempoolBlock) bool {
	return a.Word < b.Word || a.Word == b.Word && a.Address < b.Address
}

func (c *checker) treap(bin, i uint32, last **layout.MempoolBlock) {
	if i == 0 {
		return
	}
	if !c.free[i] {
		c.Want(false, "record %d in the treap of bin %d is not free, or there twice", i, bin)
		return
	}
	delete(c.free, i)
	b := &c.blocks[i]
	for _, below := range []uint32{b.Left, b.Right} {
		c.Want(below == 0 || priority(below) < priority(i), "record %d is below %d", below, i)
	}
	c.treap(bin, b.Left, last)
	c.Want(binOf(bytesOf(b)>>c.Shift) == bin, "a block of %d bytes is in bin %d", bytesOf(b), bin)
	c.Want(*last == nil || before(*last, b), "record %d is out of order", i)
	*last = b
	c.treap(bin, b.Right, last)
}

// hash: the chains hold the live blocks, each where its address leads.
func (c *checker) hash() {
	for slot, i := range c.chains {
		for ; i != 0; i = c.blocks[i].Left {
			if !c.live[i] {
				c.Want(false, "record %d in chain %d is not live, or there twice", i, slot)
				break
			}
			delete(c.live, i)
			c.Want(c.blocks[i].Address*layout.HashFactor>>c.HashShift == uint64(slot), "record %d is in chain %d", i,
				slot)
		}
	}
	c.Want(len(c.live) == 0, "%d live blocks are in no chain", len(c.live))
}

// log: what is in it is live in the tables, and what is pending is counted as free.
func (c *checker) log() {
	held, pending := c.Live-c.Low, c.High-c.Live
	c.Want(held <= layout.MempoolLifoSize && pending <= layout.MempoolLifoSize-held, "the log is %d, %d, %d", c.Low,
		c.Live, c.High)
	for at := c.Low; at != c.High; at++ {
		x := c.Lifo[at%layout.MempoolLifoSize]
		i := c.at[x.Address]
		c.Want(i != 0 && bytesOf(&c.blocks[i]) == x.Bytes, "the log has %d bytes at %#x", x.Bytes, x.Address)
		c.Want(x.Request <= x.Bytes && x.Bytes <= x.Request+layout.MempoolSplit, "%d bytes for %d", x.Bytes, x.Request)
		if pendingFrom := c.Live - c.Low; at-c.Low >= pendingFrom {
			c.liveCount--
			c.liveBytes -= x.Bytes
		}
	}
}

// caches: their entries are live blocks that have their mark, and the lists hold what is kept.
func (c *checker) caches() {
	c.Want(c.Open == 0 || c.Low == c.High, "a shared pool has a log")
	for i := range uint32(layout.MempoolCaches) {
		k := cacheOf(c.MempoolState, i)
		layout.Lock(&k.Lock)
		if c.Want(c.Open>>i&1 != 0 == (k.Handle == c.Handle), "the handle of cache %d", i); k.Handle == c.Handle {
			c.cache(i, k)
		}
		layout.Unlock(&k.Lock)
	}
	c.Want(len(c.marked) == 0, "%d live blocks have the mark of a cache that does not know them", len(c.marked))
}

func (c *checker) cache(i uint32, k *layout.MempoolCache) {
	bytes, listed := uint64(0), map[uint8]bool{}
	for _, at := range k.Lists {
		for ; at != 0 && !listed[at]; at = k.Next[at-1] {
			listed[at] = true
			c.Want(k.Words[at-1]&layout.MempoolKept != 0, "cache %d: entry %d is listed, but not kept", i, at)
		}
		c.Want(at == 0, "cache %d: entry %d is listed twice", i, at)
	}
	for at, word := range k.Words {
		c.Want((word == 0) == (k.Addresses[at] == 0), "cache %d: half of entry %d", i, at)
		if word == 0 {
			continue
		}
		record := c.at[k.Addresses[at]]
		c.Want(c.marked[record] == i+1, "cache %d: record %d of entry %d has the mark %d", i, record, at, c.marked[record])
		delete(c.marked, record)
		c.Want(word&layout.MempoolBytes == bytesOf(&c.blocks[record]), "cache %d: the bytes of entry %d", i, at)
		if word&layout.MempoolKept != 0 {
			c.Want(listed[uint8(at+1)], "cache %d: entry %d is kept, but not listed", i, at)
			bytes += word & layout.MempoolBytes
		}
	}
	c.Want(bytes == k.Freed-k.Allocated && bytes >= k.Least && k.Least == c.Least[i],
		"cache %d keeps %d bytes, counted %d - %d, at least %d, %d", i, bytes, k.Freed, k.Allocated, k.Least, c.Least[i])
}

func (c *checker) counters() {
	c.Want(c.reserved == c.Reserved, "chunks of %d bytes, counted %d", c.reserved, c.Reserved)
	c.Want(c.liveBytes == c.TotalAllocated-c.TotalFreed, "%d live bytes, counted %d - %d", c.liveBytes,
		c.TotalAllocated, c.TotalFreed)
	c.Want(c.liveCount == c.Allocations-c.Deallocations, "%d live blocks, counted %d - %d", c.liveCount, c.Allocations,
		c.Deallocations)
	c.Want(c.Open != 0 || c.Peak >= c.liveBytes && c.Peak <= c.TotalAllocated, "a peak of %d", c.Peak)
}
