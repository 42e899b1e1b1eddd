package layout

// Sizes of tensors. The data follows the header; both are aligned to TensorAlign.
const (
	MaxRank           = 8
	TensorAlign       = 64
	TensorHeaderBytes = 192
)

// TensorHeader.Flags. A tensor with any other than TensorContiguous is never
// pooled, but with that and TensorOnDevice it is kept in its device's tensor cache.
const (
	TensorContiguous = 1
	TensorInSlot     = 2
	TensorExternal   = 4  // the data is somebody else's; Deleter may end it
	TensorView       = 8  // the data is that of Base, which it holds a reference to
	TensorReadOnly   = 16 // whoever lent the data does not want it written
	TensorOnDevice   = 32 // the data is a block of the device's default pool
	TensorBlock      = 64 // memory of a sparse matrix' block
)

// TensorMark tells a tensor in a slot, which has no record, from other bytes of
// the frame: Mark of a tensor at p is p ^ TensorMark.
const TensorMark = 0x7E45094C5E9A3D01

// TensorHeader is the start of a tensor's object. It is written by whoever makes
// the tensor, before anybody else has it.
type TensorHeader struct {
	Data                    uintptr
	Numel, Nbytes           uint64
	Dtype, Device           uint8
	Rank                    uint16
	Flags                   uint32
	Base                    uintptr
	Deleter, DeleterContext uintptr
	Mark                    uint64
	Shape, Strides          [MaxRank]int64 // strides in elements
}

// TensorPoolKey is a key of the tensor pool and its stack.
type TensorPoolKey struct {
	Elements   uint64
	Bytes      uint64 // of the heap that one of its tensors occupies
	Kind       uint32 // see TensorPoolKind; 0 = empty cell
	Count      uint16
	Referenced uint16  // it had a hit since the last search for something to evict
	Stack      uintptr // of shard.Room entries
}

// TensorPoolKeyBytes is the size of a TensorPoolKey.
const TensorPoolKeyBytes = 32

// TensorPoolShard is one shard of the tensor pool; cshim/tensor.h has its invariants.
// All but Lock and Misses is written under it.
type TensorPoolShard struct {
	Lock                uint32 // 1 = held
	Mask                uint32 // cells - 1
	Keys, KeyLimit      uint32
	Limit               uint32 // tensors of a key
	Room                uint32 // of a stack
	Spare               [2]uint32
	Cells               uintptr // atomic: also read without the lock
	FreshStack          uintptr // stacks from here on were never used
	FreeStack           uintptr // a stack that no key has, 0 = none; the next one in its first entry
	Bytes               uint64  // ever kept
	Grant               uint64  // what Bytes may come to: Share, and what was taken out
	Puts, Hits, Evicted uint64  // tensors ever kept; of them, handed out; of them, freed by Go
	Misses              uint64  // atomic
	Share               uint64  // bytes that it may keep at once
	EvictedBytes        uint64
	Padding             [1]uint64
}

// TensorPoolShardBytes is the size of a TensorPoolShard, two cache lines.
const TensorPoolShardBytes = 128

// The shards stand TensorPoolOffset bytes behind the globals, in the same mapping.
const (
	TensorPoolOffset = 8192
	TensorPoolShards = 64
)

// TensorPoolKind packs what a key has beside its elements.
func TensorPoolKind(dtype, device uint8) uint32 { return 0x10000 | uint32(device)<<8 | uint32(dtype) }

// TensorPoolHash spreads keys over shards and cells.
func TensorPoolHash(elements uint64, kind uint32) uint64 {
	h := (elements ^ uint64(kind)<<40) * 0x9E3779B97F4A7C15
	return h ^ h>>32
}
