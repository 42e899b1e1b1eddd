package layout

// Memory pools; the Go view of cshim/pool.h, which tells what the words mean.

// Sizes and numbers of a pool.
const (
	PoolSplit      = 256 // what remains must be more to be a block of its own
	PoolReplays    = 64
	PoolSubbinBits = 9
	PoolSubbins    = 1 << PoolSubbinBits
	PoolSizeBits   = 48
	PoolLeaves     = (PoolSizeBits - PoolSubbinBits + 1) * PoolSubbins / 64
	PoolNodes      = (PoolLeaves + 63) / 64
	PoolSlotBits   = 10
	PoolSlots      = 1 << PoolSlotBits // slot 0 stays empty
	PoolStride     = 4096
)

// block.Word = free 1 | tag 15 | bytes 48.
const (
	PoolBytes    = 1<<PoolSizeBits - 1
	PoolTagShift = PoolSizeBits
	PoolWaits    = 1 << PoolTagShift // a block that was given back and waits for streams
	PoolLent     = 2 << PoolTagShift // one that was given out again before it was over
	PoolFree     = 1 << 63
)

// PoolBlock is the record of a block.
type PoolBlock struct {
	Address     uint64
	Word        uint64
	Prev, Next  uint32 // neighbours; 0 = the chunk ends here
	Left, Right uint32 // free: the treap; live: Left is the chain; unused: Left is the next unused one
}

// PoolBlockBytes is the size of a PoolBlock.
const PoolBlockBytes = 32

// PoolReplay is an allocation in the log of a pool.
type PoolReplay struct {
	Request, Address, Bytes uint64
	Spare                   uint64
}

// PoolBins leads to the free blocks by size.
type PoolBins struct {
	Top    uint64
	Nodes  [PoolNodes]uint64
	Leaves [PoolLeaves]uint64
	Roots  [PoolLeaves * 64]uint32
}

// PoolState is a pool. All but Lock is written under it.
type PoolState struct {
	Lock, Shift                 uint32
	Handle                      uint64
	Low, Live, High             uint32
	Fresh                       uint32
	TotalAllocated, TotalFreed  uint64
	Allocations, Deallocations  uint64
	Peak                        uint64
	Blocks, Hash                uintptr
	Limit, HashShift            uint32
	Unused, FreeBlocks          uint32
	Bins                        uintptr
	Reserved, DeviceAllocations uint64
	Replay                      [PoolReplays]PoolReplay
}
