package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The part of Check that is about records of blocks (cshim/registry/blocks.h).

// links is what entries say of a record.
type links struct {
	aliases, owners uint32
	more            uint64 // references beyond one for each alias
}

// blocksAt is what the shared blocks that begin in a shard have, and how many records are its own.
type blocksAt struct {
	bytes            uint64
	buffers, records uint32
}

func (c *checker) link(info Info) {
	x := c.links[info.Link]
	if info.Bytes == 0 {
		x.aliases++
		x.more += uint64(info.Count) - 1
	} else {
		x.owners++
	}
	c.links[info.Link] = x
}

// records sums up what shards have counted of shared blocks, before the shards are looked at.
func (c *checker) records() {
	c.t.eachRecord(func(_ uint32, b *layout.BlockRecord) {
		switch state := atomic.LoadUint32(&b.State); state {
		case layout.BlockShared, layout.BlockAbandoned:
			at := &c.blocksAt[c.t.shardOf(realOf(b))]
			at.bytes += uint64(blockBytes(b))
			at.buffers++
			at.records++
			c.block(realOf(b), blockBytes(b))
		case layout.BlockPending:
			c.blocksAt[c.t.shardOf(realOf(b))].records++
		}
	})
}

// blockRecords checks each record against the entries that link to it, and that each is in one
// place.
func (c *checker) blockRecords() {
	free := c.freeRecords()
	owned := uint32(0)
	c.t.eachRecord(func(number uint32, b *layout.BlockRecord) {
		life, x := atomic.LoadUint64(&b.Life), c.links[number]
		delete(c.links, number)
		c.Want(free[number] == (b.State == layout.BlockFree), "record %d has state %d and is in %t a free list", number,
			b.State, free[number])
		switch b.State {
		case layout.BlockShared, layout.BlockAbandoned:
			c.Want(x.aliases == names(life) && x.owners == 0, "buffer %d: %d names and %d owners, counted %d", number,
				x.aliases, x.owners, names(life))
			c.Want(x.more == atomic.LoadUint64(&b.More), "buffer %d: %d references more than names, counted %d", number,
				int64(x.more), int64(b.More))
			c.Want(names(life) > 0 || c.held == 1, "buffer %d has no names", number)
			return
		case layout.BlockCustom, layout.BlockTyped:
			owned++
			c.Want(x.owners == 1 && b.Deleter != 0, "record %d: %d blocks, deleter %#x", number, x.owners, b.Deleter)
		default:
			if isDying(b) {
				x.owners--
			}
			c.Want(x.owners == 0 && b.State <= layout.BlockTyped, "record %d of state %d: %d blocks", number, b.State,
				x.owners)
		}
		c.Want(x.aliases == 0 && names(life) == 0, "record %d of state %d: %d names, counted %d", number, b.State,
			x.aliases, names(life))
		if b.State == layout.BlockFree || b.State == layout.BlockCustom || b.State == layout.BlockTyped {
			c.Want(generation(life) != noGeneration, "record %d has used all generations", number)
		}
	})
	c.Want(len(c.links) == 0, "%d records that there never were have entries", len(c.links))
	total := owned
	for i := range c.t.shards {
		total += c.blocksAt[i].records
	}
	given := uint32(0)
	for i := range c.t.shards {
		given += c.t.shards[i].Records
	}
	c.Want(total+uint32(len(free)) == given, "%d records are in use and %d free, shards have %d", total, len(free), given)
}

// freeRecords returns the records in lists of shards.
func (c *checker) freeRecords() map[uint32]bool {
	free := map[uint32]bool{}
	for i := range c.t.shards {
		for number := c.t.shards[i].FreeRecord; number != 0; number = c.t.record(number).Next {
			c.Want(!free[number], "record %d is free twice", number)
			if free[number] {
				break
			}
			free[number] = true
		}
	}
	return free
}
