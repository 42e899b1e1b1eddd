package layout

// Memory pools; the Go view of cshim/mempool.h, which tells what the words mean.

// Sizes and numbers of a pool.
const (
	MempoolSplit      = 256 // what remains must be more to be a block of its own
	MempoolLifoSize   = 64
	MempoolSubbinBits = 9
	MempoolSubbins    = 1 << MempoolSubbinBits
	MempoolSizeBits   = 48
	MempoolLeaves     = (MempoolSizeBits - MempoolSubbinBits + 1) * MempoolSubbins / 64
	MempoolNodes      = (MempoolLeaves + 63) / 64
	MempoolSlotBits   = 10
	MempoolSlots      = 1 << MempoolSlotBits // slot 0 stays empty
	MempoolStride     = 4096
)

// block.Word = free 1 | tag 15 | bytes 48.
const (
	MempoolBytes    = 1<<MempoolSizeBits - 1
	MempoolTagShift = MempoolSizeBits
	MempoolWaits    = 1 << MempoolTagShift // a block that was given back and waits for streams
	MempoolLent     = 2 << MempoolTagShift // one that was given out again before it was over
	MempoolFree     = 1 << 63
)

// MempoolBlock is the record of a block.
type MempoolBlock struct {
	Address     uint64
	Word        uint64
	Prev, Next  uint32 // neighbours; 0 = the chunk ends here
	Left, Right uint32 // free: the treap; live: Left is the chain; unused: Left is the next unused one
}

// MempoolBlockBytes is the size of a MempoolBlock.
const MempoolBlockBytes = 32

// MempoolLifo is an allocation in the log of a pool.
type MempoolLifo struct {
	Request, Address, Bytes uint64
	Spare                   uint64
}

// MempoolBins leads to the free blocks by size.
type MempoolBins struct {
	Top    uint64
	Nodes  [MempoolNodes]uint64
	Leaves [MempoolLeaves]uint64
	Roots  [MempoolLeaves * 64]uint32
}

// MempoolState is a pool. All but Lock is written under it.
type MempoolState struct {
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
	Lifo                        [MempoolLifoSize]MempoolLifo
}
