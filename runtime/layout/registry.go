package layout

// The registry of foreign pointers; the Go view of cshim/registry_cells.h, which
// tells what the words mean.

// ForeignEntry is a registered pointer, guarded by the lock of its shard.
type ForeignEntry struct {
	Count, Gen       uint32
	Block            uint64 // flags 8 | kind 8 | bytes 48
	TypeFloats, Link uint32
}

// ForeignEntryBytes is the size of a ForeignEntry.
const ForeignEntryBytes = 24

// Unit is 128 granules of the address space of which some are in use. It is
// written under the lock of its shard; Key, Starts and Covers are also read without.
type Unit struct {
	Key            uint64
	Starts, Covers [2]uint64
	Only           ForeignEntry // Gen 0: a list at address Block with room for Count entries
}

// UnitBytes is the size of a Unit.
const UnitBytes = 64

// UnitLists is the number of sizes of lists: 2 << i entries.
const UnitLists = 7

// Shard is one table of units. Lock is its version, odd while it is held, and
// guards the rest; Capacity and Table are also read without it.
type Shard struct {
	Lock, Capacity    uint32
	Table             uintptr
	Used, Limit       uint32
	Gen, Entries      uint32
	Bytes             uint64
	HandedBack, Zeros uint32
	ChunkBytes        uint64
	Chunk, ChunkEnd   uintptr
	Lists             [UnitLists]uintptr
}

// ShardBytes is the size of a Shard.
const ShardBytes = 128

// Registry stands before the first Shard. Units counts the units of each level
// above 0, and all of them in Units[0]; atomic.
type Registry struct {
	Units [8]uint32
	Spare [4]uint64
}

// RegistryBytes is the size of a Registry.
const RegistryBytes = 64

// entry.Block and entry.TypeFloats.
const (
	ForeignBytes       = 1<<48 - 1
	ForeignKindShift   = 48
	ForeignMalloc      = 1       // free()
	ForeignNewArray    = 2       // operator delete[]
	ForeignNewScalar   = 3       // operator delete
	ForeignAligned     = 4       // free(), from an aligned allocation
	ForeignCustom      = 5       // a function of the registrant's
	ForeignWorkspace   = 1       // entry.TypeFloats: the type of a workspace
	ForeignIsAdopted   = 1 << 56 // by tl_mem_register_*: may be handed back
	ForeignHandedBack  = 1 << 57 // all references float; the host may have freed it
	ForeignSticky      = 0xFFFFFFFF
	ForeignFloat       = 1 << 24
	ForeignAddressBits = 57
)

// unit.Key = level 7 | unit number 57.
const (
	UnitLevelShift = 57
	UnitFine       = 1
	UnitLevel0     = 2
	UnitLevels     = 7
)
