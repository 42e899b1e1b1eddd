// Package stats takes one look at everything that is counted, for people and for tools:
// as a value, as JSON and as a table. It reads the other packages and none of them
// imports it.
//
// At quiescence all figures are exact, and
//
//	allocations - frees == live         of the sum, of every kind, type, class and device
//	sum over kinds == sum over size classes == the sum
//	sum over types == the kind "typed"
//	sum of reserved over devices == reserved of all
//
// While others run, frees are read before allocations, so that what is live may be too
// high for a moment and is never negative; the first two lines hold at any moment, as
// plain objects are what other kinds leave of the sum.
//
//	stats.go   what is read
//	detail.go  size classes, types, devices
//	table.go   the table for people
//	json.go    the form for tools
package stats

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/tensor"
)

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

// Options chooses what a look costs.
type Options struct {
	Total bool // of devices and types only the sum of all, and no size classes
}

// All reads everything.
var All = Options{}

// Read takes a look.
func Read(o Options) *Snapshot {
	s := &Snapshot{Version: Version}
	var types []object.TypeStats
	var user Count
	if o.Total {
		sum := object.SumTypes()
		user = Count{Allocations: sum.Allocations, Live: sum.Live(), Bytes: sum.Bytes}
	} else {
		types = object.ReadTypes()
		user = sumOf(types)
	}
	put := tensor.ReadPool().Puts
	all, kept := object.ReadStats(), tensor.ReadPool()
	s.Total = total(&all, kept, put)
	s.Kinds = kinds(&all, s.Total, user, kept, put)
	s.Foreign = Count{all.ForeignMade, all.ForeignMade - all.ForeignLive, all.ForeignLive, all.ForeignBytes}
	s.PoolBlocks = poolBlocks()
	s.TensorPool = TensorPool{kept.Tensors, kept.Bytes, kept.Hits, kept.Misses, kept.HitBytes}
	s.Stacks = Stacks{all.ScopeEntries, all.FrameBytes, all.ArenaBytes}
	s.Process = process(&all)
	s.Types = typed(types)
	if o.Total {
		s.Devices = []Device{deviceOf(limit.Total)}
	} else {
		s.Classes = classes(&all)
		s.Devices = devices()
	}
	return s
}

// total takes what the tensor pool keeps off what the heap has out, and counts a hit as
// an allocation.
func total(all *object.Stats, kept tensor.PoolStats, put uint64) Count {
	return pooled(all.Allocations, all.Frees, all.LiveBytes, kept, put)
}

// pooled counts a tensor that the pool keeps as freed, once, and one that it gives out as
// allocated:
//
//	frees = frees of the heap + puts - evicted
//
// The three are read in this order: puts, the heap, evicted. So frees are never too many.
func pooled(allocations, frees, bytes uint64, kept tensor.PoolStats, put uint64) Count {
	frees += put
	frees -= min(frees, kept.Evicted)
	allocations = max(allocations+kept.Hits, frees)
	return Count{allocations, frees, allocations - frees, bytes - min(bytes, kept.Bytes)}
}

// count is a Count of which the live ones are known.
func count(allocations, live, bytes uint64) Count {
	allocations = max(allocations, live)
	return Count{Allocations: allocations, Frees: allocations - live, Live: live, Bytes: bytes}
}

var kindNames = [layout.Kinds]string{layout.TypePlain: "objects", layout.TypeVec: "vecs",
	layout.TypeVecData: "vec_tables",
	layout.TypeTensor:  "tensors", layout.TypeSparse: "sparse"}

// kinds divides the sum up; what nobody else claims are plain objects.
func kinds(all *object.Stats, sum, user Count, kept tensor.PoolStats, put uint64) []Kind {
	rest := sum
	take := func(c Count) Count {
		c.Allocations, c.Bytes = min(c.Allocations, rest.Allocations), min(c.Bytes, rest.Bytes)
		c = count(c.Allocations, min(c.Live, rest.Live, c.Allocations), c.Bytes)
		rest = Count{rest.Allocations - c.Allocations, 0, rest.Live - c.Live, rest.Bytes - c.Bytes}
		return c
	}
	var out []Kind
	for kind, name := range kindNames {
		if kind == layout.TypePlain {
			continue
		}
		k := all.Kinds[kind]
		c := Count{Allocations: k.Allocations, Live: k.Live(), Bytes: k.Bytes}
		if kind == layout.TypeTensor {
			c = pooled(k.Allocations, k.Frees, k.Bytes, kept, put)
		}
		out = append(out, Kind{name, take(c)})
	}
	typed := Kind{"typed", take(user)}
	plain := Kind{kindNames[layout.TypePlain], count(rest.Allocations, rest.Live, rest.Bytes)}
	return append([]Kind{plain, typed}, out...)
}

func sumOf(types []object.TypeStats) (user Count) {
	for i := range types {
		user.Allocations += types[i].Allocations
		user.Live += types[i].Live()
		user.Bytes += types[i].Bytes
	}
	return user
}

func poolBlocks() (c Count) {
	blocks := mempool.Totals()
	return Count{blocks.Allocations, blocks.Deallocations, blocks.Allocations - blocks.Deallocations,
		blocks.TotalAllocated - blocks.TotalFreed}
}

func process(all *object.Stats) Process {
	return Process{
		ReservedAddresses: all.Reserved, CommittedBytes: all.Committed, ResidentBytes: memory.Resident(),
		Contexts: all.Contexts, SlowCalls: all.SlowCalls, SystemCalls: all.SystemCalls,
		ReleasesDeferred: all.Deferred, ScopeEntriesSkipped: all.Skipped, ForeignHandedBack: all.ForeignBack,
		RegistryBuffers: all.RegistryBuffers, RegistryTableBytes: all.RegistryBytes,
	}
}

// ResetPeaks makes what is held and in use now the peak of every device.
func ResetPeaks() { limit.ResetPeaks() }
