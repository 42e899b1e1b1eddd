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

// Unit is 64 granules of the address space of which some are in use. It is
// written under the lock of its shard; Starts and Covers are also read without.
type Unit struct {
	Starts, Covers uint64
	Only           ForeignEntry // Gen 0: a list at address Block with room for Count entries
}

// UnitBytes is the size of a Unit.
const UnitBytes = 40

// Region is a cell: 64 units, of which those in Present are in a list. List is where
// they are, how many of them are in use by nothing, and the class of its room. Written under the lock of its shard, also
// read without.
type Region struct {
	Key, Present, List uint64
}

// RegionBytes is the size of a Region.
const RegionBytes = 24

// region.List = class of its room 8 | vacant units 8 | address 48.
const (
	RegionRoomShift = 56
	RegionVacant    = 1 << 48 // one of them
	RegionAddress   = RegionVacant - 1
)

// RegionRooms are the sizes of lists of units.
var RegionRooms = [UnitRooms]uint8{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

// EntryLists is the number of sizes of lists of entries: 2 << i. UnitRooms is that of lists of units.
const (
	EntryLists = 6
	UnitRooms  = 12
)

// What opening a unit takes of a chunk at most, and what a longer list of entries does.
const (
	UnitReserve  = 64 * UnitBytes
	EntryReserve = 64 * ForeignEntryBytes
)

// Shard is one table of regions. Lock is its version, odd while it is held, and
// guards the rest; Capacity and Table are also read without it.
type Shard struct {
	Lock, Capacity    uint32
	Table             uintptr
	Used, Limit       uint32
	Gen, Entries      uint32
	Bytes             uint64
	HandedBack, Zeros uint32
	Chunk, ChunkEnd   uintptr
	Lists             [EntryLists]uintptr
	UnitLists         [UnitRooms]uintptr
	ChunkBytes, Units uint64
	Idle              uint64 // key of a cell that is kept though all its units are vacant
	Spare             [3]uint64
}

// ShardBytes is the size of a Shard.
const ShardBytes = 256

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

// region.Key = level 7 | number of the region 57.
const (
	UnitLevelShift = 57
	UnitFine       = 1
	UnitLevel0     = 2
	UnitLevels     = 8
)
