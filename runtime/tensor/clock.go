package tensor

import "sync/atomic"

// clock finds what a cache evicts: its hand goes round the keys, or shards of keys, and
// spares once those that had a hit since it last came by (the clock algorithm; Corbató
// 1968). A program whose shapes have changed gets its old tensors' memory back that way.
type clock struct{ hand atomic.Uint64 }

// search moves the hand by at most turns of n places until it is enough, and tells
// whether it was.
func (c *clock) search(turns, n uint64, enough func() bool, visit func(place, turn uint64)) bool {
	for turn := range turns {
		if enough() {
			return true
		}
		visit((c.hand.Add(1)-1)%n, turn)
	}
	return enough()
}

// spared tells whether a key had a hit since the hand came by, and forgets it.
func spared[T uint8 | uint16](referenced *T) bool {
	was := *referenced != 0
	*referenced = 0
	return was
}

// budget is the bytes that a cache may keep: pool.limit, for the tensor pool and for the
// cache of each device.
//
//	used <= pool.limit, but while the limit is being lowered
type budget struct{ used atomic.Uint64 }

// fits tells whether there is room for n bytes more.
func (b *budget) fits(n uint64) bool { return b.used.Load()+n <= pool.limit.Load() }

// take takes n bytes, and up to most where there is more room; 0: there is not enough.
func (b *budget) take(n, most uint64) uint64 {
	for {
		used, limit := b.used.Load(), pool.limit.Load()
		if used+n > limit {
			return 0
		}
		taken := max(n, min(most, limit-used))
		if b.used.CompareAndSwap(used, used+taken) {
			return taken
		}
	}
}

// giveBack gives bytes back.
func (b *budget) giveBack(n uint64) { b.used.Add(^n + 1) }
