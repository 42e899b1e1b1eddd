package debug

import (
	"sort"
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
)

// Blocks of memory pools under TL_DEBUG. A pool gives out more than was asked for where
// that is no multiple of its alignment; the rest is the block's red zone, so that a pool
// lays out its chunks as it always does. Only of memory that the CPU may write to. The caller keeps
// other threads from guarding blocks of the pool and from taking them back, so that a block whose zone is
// written or looked at is there.

func init() {
	mempool.OnChunk(func(c mempool.Chunk, obtained bool) {
		if !obtained && c.Account == limit.CPU {
			OpenRange(uintptr(c.Address), uintptr(c.Bytes))
		}
	})
}

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

// shade opens the bytes of a live block to the program, or closes them; the red zone stays closed.
func (b *guardedBlock) shade(live bool) {
	memory.Shade(b.address, uintptr(b.bytes), !live)
	memory.Shade(b.address+uintptr(b.bytes), uintptr(b.room-b.bytes), true)
}

// OpenRange tells AddressSanitizer of memory of a pool that is the program's, or its allocator's, from here on.
func OpenRange(address, bytes uintptr) {
	if guards.on() && address != 0 {
		memory.Shade(address, bytes, false)
	}
}

// GuardBlock makes what a block of a pool has beyond its bytes a red zone.
func GuardBlock(pool, address uintptr, bytes, room uint64) {
	g := &guards.blocks
	if !guards.on() || address == 0 || room < bytes {
		return
	}
	b := guardedBlock{address, pool, bytes, room}
	fill(b.zone(), redZone)
	g.add(b)
}

func (g *guardedBlocks) add(b guardedBlock) {
	b.shade(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil {
		g.at = map[uintptr]guardedBlock{}
	}
	g.at[b.address] = b
}

// UnguardBlock looks at a block that its pool is about to take back, and fills it with
// poison unless work of a stream may still use it. The function that it returns guards the block
// again, when the pool has not taken it.
func UnguardBlock(c *object.Context, pool, address uintptr, poisons bool) (again func()) {
	g := &guards.blocks
	g.mu.Lock()
	b, known := g.at[address]
	known = known && b.pool == pool // else it is another pool's, and stays
	if known {
		delete(g.at, address)
	}
	g.mu.Unlock()
	if !known {
		return func() {}
	}
	checkGuarded(c, b)
	if poisons {
		fill(layout.Bytes(b.address, b.bytes), poison)
		b.shade(false)
	} else {
		OpenRange(b.address, uintptr(b.room))
	}
	return func() { g.add(b) }
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
