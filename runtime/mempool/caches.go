package mempool

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// The caches of a shared pool: see cshim/mempool.h. C alone opens them and serves requests from them
// (cshim/mempool_caches.h); whatever looks at free blocks here recalls them first.

func cacheOf(s *layout.MempoolState, i uint32) *layout.MempoolCache {
	at := layout.Address(s) + layout.MempoolCachesAt + uintptr(i)*layout.MempoolCacheBytes
	return layout.At[layout.MempoolCache](at)
}

// eachCache calls visit with every cache in use.
func (t tables) eachCache(visit func(i uint32, k *layout.MempoolCache)) {
	for i := range uint32(layout.MempoolCaches) {
		if t.Open>>i&1 != 0 {
			visit(i, cacheOf(t.MempoolState, i))
		}
	}
}

// recall gives all that threads keep to the tables: the pool is not shared any more.
func (t tables) recall() {
	least := uint64(0)
	t.eachCache(func(i uint32, k *layout.MempoolCache) {
		layout.Lock(&k.Lock)
		least += t.Least[i]
	})
	t.Peak = max(t.Peak, t.TotalAllocated-t.TotalFreed-least)
	t.eachCache(func(i uint32, k *layout.MempoolCache) {
		t.closeCache(k)
		t.Least[i] = 0
		layout.Unlock(&k.Lock)
	})
	atomic.StoreUint32(&t.Open, 0)
}

// closeCache ends the use of a cache.
func (t tables) closeCache(k *layout.MempoolCache) {
	for i, address := range k.Addresses {
		if k.Words[i] == 0 {
			continue
		}
		link := t.findLive(address)
		t.blocks[*link].Right = 0
		if k.Words[i]&layout.MempoolKept != 0 {
			t.vacate(link)
		}
	}
	t.TotalAllocated += k.Allocated
	t.TotalFreed += k.Freed
	t.Allocations += k.Allocations
	t.Deallocations += k.Deallocations
	atomic.StoreUint64(&k.Handle, 0)
	k.Allocated, k.Freed, k.Allocations, k.Deallocations, k.Least, k.Worth = 0, 0, 0, 0, 0, 0
	clear(k.Addresses[:])
	clear(k.Words[:])
	clear(k.Lists[:])
}
