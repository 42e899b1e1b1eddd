package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// The pool's bytes are limited in all, but the fast path must not touch a word
// that all shards share. So each shard has a share and counts against that; only
// when it is used up does Go get it more:
//
//	shard.kept() <= shard.Share, granted.used = sum of shard.Share
//
// When everything is granted, what shards do not use is called in, and then the clock
// evicts.

// grow gives a shard room for n more bytes.
func (p *tensorPool) grow(me *object.Context, s *shard, n uint64) bool {
	more := p.granted.take(n, grantStep)
	for ; more == 0; more = p.granted.take(n, grantStep) {
		if n > p.limit.Load() || !p.reclaim(me, n) {
			return false
		}
	}
	s.lock()
	s.Grant += more
	s.Share += more
	s.unlock()
	return true
}

// handReach bounds what one release may spend on the search.
const handReach = 4

// reclaim calls in grants until n bytes can be granted; false when there are not
// enough at hand.
func (p *tensorPool) reclaim(me *object.Context, n uint64) bool {
	for i := range uint64(layout.TensorPoolShards) {
		p.callIn(shardAt(i))
	}
	enough := func() bool { return p.granted.fits(n) }
	return p.clock.search(handReach, layout.TensorPoolShards, enough, func(place, _ uint64) {
		s := shardAt(place)
		s.evict(me, false)
		p.callIn(s)
	})
}

// callIn takes back the part of a grant that is not used.
func (p *tensorPool) callIn(s *shard) {
	s.lock()
	idle := s.Grant - s.Bytes
	s.Grant -= idle
	s.Share -= idle
	s.unlock()
	p.granted.giveBack(idle)
}

// evict frees the tensors of keys without a hit since the last time, or all.
func (s *shard) evict(me *object.Context, all bool) {
	var out [64]layout.Entry
	for from, n := uint64(0), len(out); n == len(out); {
		s.lock()
		from, n = s.popCold(from, all, &out)
		s.unlock()
		for _, e := range out[:n] {
			me.Evict(e)
		}
	}
}

// popCold takes out as many such tensors as fit into out, beginning with cell
// from, and returns the cell to go on with.
func (s *shard) popCold(from uint64, all bool, out *[64]layout.Entry) (next uint64, n int) {
	if s.Cells == 0 {
		return from, 0
	}
	for ; from <= uint64(s.Mask); from++ {
		at := s.cell(from)
		if !all && spared(&at.Referenced) {
			continue
		}
		for ; at.Count > 0; n++ {
			if n == len(out) {
				return from, n
			}
			out[n] = s.evictOne(at)
		}
	}
	return from, n
}

// Purge empties the pool, of all devices; the memory of the heap goes to the calling
// context, which is about to give back what it has. Other threads are asked for what they keep.
func Purge(c *object.Context) {
	giveBack(c, c)
	recall(c)
	for i := range deviceCaches {
		PurgeDevice(c, int32(i))
	}
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.evict(c, true)
		pool.callIn(s)
	}
}
