package mempool

import (
	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
)

// Live calls visit with every block that is lent, pool by pool. No lock is held then.
func Live(visit func(h Handle, address, bytes uintptr)) {
	eachPool(func(p *Pool) {
		for _, c := range p.tiles() {
			for _, b := range c.blocks {
				if b.State == Lent {
					visit(p.handle, uintptr(b.Address), uintptr(b.Bytes))
				}
			}
		}
	})
}

func eachPool(visit func(*Pool)) {
	for slot := range slots.pools {
		if p := slots.pools[slot].Load(); p != nil {
			visit(p)
		}
	}
}

// Room returns how many bytes a block for n has at least, and whether the CPU may write to
// them; false of a handle that names no pool.
func Room(h Handle, n uintptr) (bytes uint64, onCPU bool) {
	p, err := find(h)
	if err != nil {
		return 0, false
	}
	return roundUp(uint64(n), p.granule), p.account == limit.CPU
}

// Lends returns how many bytes the block at an address has, 0 when the pool lends none there.
func Lends(h Handle, address uintptr) (bytes uint64) {
	p, err := find(h)
	if err != nil || !p.enter() {
		return 0
	}
	defer unlock(p.state)
	return core.Lends(p.state, uint64(address))
}

// Chunk is memory that a pool has from its device.
type Chunk struct {
	Pool           uint64 // the number of its slot, from 1
	Account        int32  // of package limit
	Address, Bytes uint64
}

func (p *Pool) number() uint64 {
	return uint64(layout.Address(p.state)-slots.base) / layout.MempoolStride
}

func (p *Pool) describeChunk(c layout.MempoolChunk) Chunk {
	return Chunk{p.number(), p.account, c.Address, c.Bytes}
}

// Chunks calls visit with every chunk, pool by pool. No lock of a state is held then.
func Chunks(visit func(Chunk)) {
	eachPool(func(p *Pool) { p.visitChunks(visit) })
}

func (p *Pool) visitChunks(visit func(Chunk)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.chunks.Len() {
		if c := p.chunks.At(i); c.Bytes != 0 {
			visit(p.describeChunk(*c))
		}
	}
}

// State is what a block is to its pool.
type State int

// The states of blocks.
const (
	Lent    State = iota // somebody has it
	Waiting              // it was given back, and work of a stream may still use it
	Free
)

// Block is a part of a chunk.
type Block struct {
	Address, Bytes uint64
	State          State
}

// Blocks calls visit with every chunk and the blocks that tile it, lowest first.
func Blocks(visit func(Chunk, []Block)) {
	eachPool(func(p *Pool) {
		for _, c := range p.tiles() {
			visit(c.Chunk, c.blocks)
		}
	})
}

type tiled struct {
	Chunk
	blocks []Block
}

// tiles lists the chunks of a pool; none of one that was destroyed.
func (p *Pool) tiles() (all []tiled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.look() {
		return nil
	}
	defer unlock(p.state)
	t := view(p.state)
	for i := range p.chunks.Len() {
		c := p.chunks.At(i)
		if c.Bytes == 0 {
			continue
		}
		one := tiled{Chunk: p.describeChunk(*c)}
		for r := uint32(c.First); r != 0; r = t.blocks[r].Next {
			b := &t.blocks[r]
			one.blocks = append(one.blocks, Block{b.Address, bytesOf(b), stateOf(b)})
		}
		all = append(all, one)
	}
	return all
}

func stateOf(b *layout.MempoolBlock) State {
	switch {
	case isFree(b):
		return Free
	case isTagged(b) && b.Word&layout.MempoolLent == 0:
		return Waiting
	}
	return Lent
}
