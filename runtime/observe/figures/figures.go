// Package figures has what package stats reads: as a value, as JSON and as a table. It
// imports nothing of the runtime, so that commands read what tl_stats_json has written
// without the heap.
//
//	figures.go  the value
//	table.go    the table for people
//	json.go     the form for tools
package figures

// Version is that of the JSON form. It grows when a field changes its meaning or goes;
// fields may be added at any time.
const Version = 1

// Count is what was ever made, what is gone, and what is left.
type Count struct {
	Allocations uint64 `json:"allocations"`
	Frees       uint64 `json:"frees"`
	Live        uint64 `json:"live"`
	Bytes       uint64 `json:"bytes"` // live
}

// Snapshot is all of it.
type Snapshot struct {
	Version    int        `json:"version"`
	Total      Count      `json:"total"` // objects of the heap
	Kinds      []Kind     `json:"kinds"` // of the heap, in a fixed order
	Types      []Type     `json:"types"`
	Classes    []Class    `json:"classes"` // that were ever used; large objects last
	Foreign    Count      `json:"foreign"` // registered pointers that are not the runtime's memory
	PoolBlocks Count      `json:"pool_blocks"`
	TensorPool TensorPool `json:"tensor_pool"`
	Stacks     Stacks     `json:"stacks"`
	Devices    []Device   `json:"devices"` // the sum of all first
	Process    Process    `json:"process"`
}

// Kind counts the objects of one kind: "objects" are plain bytes, "typed" those of a
// tl_type, "vec_tables" the element tables of Vecs.
type Kind struct {
	Kind string `json:"kind"`
	Count
}

// Type counts the objects of a type that the program has defined.
type Type struct {
	Type uint32 `json:"type"` // the tl_type
	Name string `json:"name"`
	Count
	Blocks     uint64 `json:"blocks"` // of malloc's, registered with the type and live; they count as foreign
	BlockBytes uint64 `json:"block_bytes"`
}

// Class counts the slots of a size class. Allocations are slots handed out; with the
// hits of the tensor pool, which hand none out, they sum up to those of the total, and
// so do frees. A slot whose tensor the pool keeps was freed.
type Class struct {
	SlotBytes uint64 `json:"slot_bytes"` // 0: large objects, each on pages of its own
	Count
	Kept uint64 `json:"kept"` // slots of tensors that the tensor pool keeps
	Free uint64 `json:"free"` // slots of memory that is reserved for the class
	Held uint64 `json:"held"` // bytes of that memory
}

// TensorPool is what is kept of dead tensors for the next of their kind. Kept tensors
// are not live.
type TensorPool struct {
	Tensors  uint64 `json:"tensors"`
	Bytes    uint64 `json:"bytes"` // of the heap
	Hits     uint64 `json:"hits"`
	Misses   uint64 `json:"misses"`
	HitBytes uint64 `json:"hit_bytes"`
}

// Stacks is what scopes, frames and arenas of all threads hold.
type Stacks struct {
	ScopeEntries uint64 `json:"scope_entries"`
	FrameBytes   uint64 `json:"frame_bytes"`
	ArenaBytes   uint64 `json:"arena_bytes"`
}

// Device is the memory that is held of one device: reserved == in_use + cached. The
// names "total" and "own" are the sum of all, and that of memory pools over allocators
// of the program's own.
type Device struct {
	Device      string `json:"device"`
	Number      int32  `json:"number"` // TL_MEM_TOTAL and TL_MEM_OWN_ALLOCATORS are negative
	Reserved    uint64 `json:"reserved"`
	InUse       uint64 `json:"in_use"`
	Cached      uint64 `json:"cached"`
	Obtained    uint64 `json:"obtained"` // bytes ever reserved; obtained - returned == reserved
	Returned    uint64 `json:"returned"`
	Peak        uint64 `json:"peak"`
	PeakInUse   uint64 `json:"peak_in_use"`
	Allocated   uint64 `json:"allocated"` // bytes ever; allocated - freed == in_use
	Freed       uint64 `json:"freed"`
	Allocations uint64 `json:"allocations"` // objects and blocks of pools
	Frees       uint64 `json:"frees"`
	Live        uint64 `json:"live"`
	SoftLimit   uint64 `json:"soft_limit"` // 0 = none
	HardLimit   uint64 `json:"hard_limit"`
	Relieved    uint64 `json:"relieved"` // how often caches were asked to give memory up
	Failed      uint64 `json:"failed"`   // of them, how often that was not enough
	LargestFree uint64 `json:"largest_free_block"`
	// Of what is in use: objects whose last reference another thread has dropped, and which wait for their owner.
	WaitingBytes   uint64 `json:"waiting_bytes"`
	WaitingObjects uint64 `json:"waiting_objects"`
}

// Process is the rest.
type Process struct {
	ReservedAddresses   uint64 `json:"reserved_addresses"` // bytes of address space
	CommittedBytes      uint64 `json:"committed_bytes"`    // of the heap, usable memory
	ResidentBytes       uint64 `json:"resident_bytes"`     // of the whole process; 0: the system does not tell
	Contexts            uint64 `json:"contexts"`           // threads attached or parked
	SlowCalls           uint64 `json:"slow_calls"`
	SystemCalls         uint64 `json:"system_calls"`
	ReleasesDeferred    uint64 `json:"releases_deferred"`
	ScopeEntriesSkipped uint64 `json:"scope_entries_skipped"`
	ForeignHandedBack   uint64 `json:"foreign_handed_back"`
	RegistryBuffers     uint64 `json:"registry_buffers"`
	RegistryTableBytes  uint64 `json:"registry_table_bytes"`
}
