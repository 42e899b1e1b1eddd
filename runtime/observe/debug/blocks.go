package debug

import (
	"sort"
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
)

// Blocks of memory pools under TL_DEBUG. A pool gives out more than was asked for where
// that is no multiple of its alignment; the rest is the block's red zone, so that a pool
// lays out its chunks as it always does. Only of memory that the CPU may write to.

// guardedBlocks knows the blocks that programs have.
type guardedBlocks struct {
	mu sync.Mutex // guards at; taken last
	at map[uintptr]guardedBlock
}

type guardedBlock struct {
	address     uintptr
	pool        uintptr // its handle
	bytes, room uint64  // as asked for, as given out
}

func (b *guardedBlock) zone() []byte { return layout.Bytes(b.address+uintptr(b.bytes), b.room-b.bytes) }

// GuardBlock makes what a block of a pool has beyond its bytes a red zone.
func GuardBlock(pool, address uintptr, bytes, room uint64) {
	g := &guards.blocks
	if !guards.on() || address == 0 || room < bytes {
		return
	}
	b := guardedBlock{address, pool, bytes, room}
	fill(b.zone(), redZone)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil {
		g.at = map[uintptr]guardedBlock{}
	}
	g.at[address] = b
}

// UnguardBlock looks at a block that its pool is about to take back, and fills it with
// poison unless work of a stream may still use it. What was recorded of the block lapses.
func UnguardBlock(c *object.Context, pool, address uintptr, poisons bool) {
	g := &guards.blocks
	if !guards.on() {
		return
	}
	g.mu.Lock()
	b, taken := g.at[address]
	known := taken && b.pool == pool
	if known {
		delete(g.at, address)
	}
	g.mu.Unlock()
	if taken && !known {
		return // it is another pool's, and stays
	}
	if known {
		checkGuarded(c, b)
	}
	if known && poisons {
		fill(layout.Bytes(b.address, b.bytes), poison)
	}
	track.Forget(uint64(address))
}

// UnguardPool looks at all blocks of a pool that takes them back at once.
func UnguardPool(c *object.Context, pool uintptr) {
	for _, address := range guards.blocks.of(pool) {
		UnguardBlock(c, pool, address, true)
	}
}

func checkGuarded(c *object.Context, b guardedBlock) {
	if at := b.mend(); at >= 0 {
		corrupted(c, object.TextRedZone, b.address, uint64(at), b.bytes)
	}
}

// mend returns the first byte of the red zone that was written to, -1 when none was.
func (b *guardedBlock) mend() int {
	at := spoiled(b.zone(), redZone)
	if at >= 0 {
		fill(b.zone(), redZone)
	}
	return at
}

// overrun is a block that was written beyond.
type overrun struct {
	guardedBlock
	at int
}

// overrun mends the zones of all blocks; none goes meanwhile. The lowest comes first.
func (g *guardedBlocks) overrun() (all []overrun) {
	g.mu.Lock()
	for _, b := range g.at {
		if at := b.mend(); at >= 0 {
			all = append(all, overrun{b, at})
		}
	}
	g.mu.Unlock()
	sort.Slice(all, func(i, j int) bool { return all[i].address < all[j].address })
	return all
}

// of returns the blocks of a pool.
func (g *guardedBlocks) of(pool uintptr) (blocks []uintptr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, b := range g.at {
		if b.pool == pool {
			blocks = append(blocks, b.address)
		}
	}
	return blocks
}
