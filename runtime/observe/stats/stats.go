// Package stats takes one look at everything that is counted; package figures has the
// forms of what it sees. It reads the other packages and none of them imports it.
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
package stats

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/figures"
	"tlruntime/runtime/tensor"
)

// Options chooses what a look costs.
type Options struct {
	Total bool // of devices and types only the sum of all, and no size classes
}

// All reads everything.
var All = Options{}

// Read takes a look.
func Read(o Options) *figures.Snapshot {
	s := &figures.Snapshot{Version: figures.Version}
	var types []object.TypeStats
	var user figures.Count
	if o.Total {
		sum := object.SumTypes()
		user = figures.Count{Allocations: sum.Allocations, Live: sum.Live(), Bytes: sum.Bytes}
	} else {
		types = object.ReadTypes()
		user = sumOf(types)
	}
	put := tensor.ReadPool().Puts
	all, kept := object.ReadStats(), tensor.ReadPool()
	s.Total = total(&all, kept, put)
	s.Kinds = kinds(&all, s.Total, user, kept, put)
	s.Foreign = count(all.ForeignMade, all.ForeignLive, all.ForeignBytes)
	s.PoolBlocks = poolBlocks()
	s.TensorPool = figures.TensorPool{Tensors: kept.Tensors, Bytes: kept.Bytes, Hits: kept.Hits, Misses: kept.Misses,
		HitBytes: kept.HitBytes}
	s.Stacks = figures.Stacks{ScopeEntries: all.ScopeEntries, FrameBytes: all.FrameBytes, ArenaBytes: all.ArenaBytes}
	s.Process = process(&all)
	s.Types = typed(types)
	if o.Total {
		s.Devices = []figures.Device{deviceOf(limit.Total)}
	} else {
		s.Classes = classes(&all)
		s.Devices = devices()
	}
	return s
}

// total takes what the tensor pool keeps off what the heap has out, and counts a hit as
// an allocation.
func total(all *object.Stats, kept tensor.PoolStats, put uint64) figures.Count {
	return pooled(all.Allocations, all.Frees, all.LiveBytes, kept, put)
}

// pooled counts a tensor that the pool keeps as freed, once, and one that it gives out as
// allocated:
//
//	frees = frees of the heap + puts - evicted
//
// The three are read in this order: puts, the heap, evicted. So frees are never too many.
func pooled(allocations, frees, bytes uint64, kept tensor.PoolStats, put uint64) figures.Count {
	frees += put
	frees -= min(frees, kept.Evicted)
	allocations = max(allocations+kept.Hits, frees)
	return count(allocations, allocations-frees, bytes-min(bytes, kept.Bytes))
}

// count is a Count of which the live ones are known.
func count(allocations, live, bytes uint64) figures.Count {
	allocations = max(allocations, live)
	return figures.Count{Allocations: allocations, Frees: allocations - live, Live: live, Bytes: bytes}
}

var kindNames = [layout.Kinds]string{layout.TypePlain: "objects", layout.TypeVec: "vecs",
	layout.TypeVecData: "vec_tables",
	layout.TypeTensor:  "tensors", layout.TypeSparse: "sparse"}

// kinds divides the sum up; what nobody else claims are plain objects.
func kinds(all *object.Stats, sum, user figures.Count, kept tensor.PoolStats, put uint64) []figures.Kind {
	rest := sum
	take := func(c figures.Count) figures.Count {
		c.Allocations, c.Bytes = min(c.Allocations, rest.Allocations), min(c.Bytes, rest.Bytes)
		c = count(c.Allocations, min(c.Live, rest.Live, c.Allocations), c.Bytes)
		rest = count(rest.Allocations-c.Allocations, rest.Live-c.Live, rest.Bytes-c.Bytes)
		return c
	}
	var out []figures.Kind
	for kind, name := range kindNames {
		if kind == layout.TypePlain {
			continue
		}
		k := all.Kinds[kind]
		c := figures.Count{Allocations: k.Allocations, Live: k.Live(), Bytes: k.Bytes}
		if kind == layout.TypeTensor {
			c = pooled(k.Allocations, k.Frees, k.Bytes, kept, put)
		}
		out = append(out, figures.Kind{Kind: name, Count: take(c)})
	}
	typed := figures.Kind{Kind: "typed", Count: take(user)}
	plain := figures.Kind{Kind: kindNames[layout.TypePlain], Count: rest}
	return append([]figures.Kind{plain, typed}, out...)
}

func sumOf(types []object.TypeStats) (user figures.Count) {
	for i := range types {
		user.Allocations += types[i].Allocations
		user.Live += types[i].Live()
		user.Bytes += types[i].Bytes
	}
	return user
}

func poolBlocks() (c figures.Count) {
	blocks := mempool.Totals()
	return count(blocks.Allocations, blocks.Allocations-blocks.Deallocations, blocks.TotalAllocated-blocks.TotalFreed)
}

func process(all *object.Stats) figures.Process {
	return figures.Process{
		ReservedAddresses: all.Reserved, CommittedBytes: all.Committed, ResidentBytes: memory.Resident(),
		Contexts: all.Contexts, SlowCalls: all.SlowCalls, SystemCalls: all.SystemCalls,
		ReleasesDeferred: all.Deferred, ScopeEntriesSkipped: all.Skipped, ForeignHandedBack: all.ForeignBack,
		RegistryBuffers: all.RegistryBuffers, RegistryTableBytes: all.RegistryBytes,
	}
}

// ResetPeaks makes what is held and in use now the peak of every device.
func ResetPeaks() { limit.ResetPeaks() }
