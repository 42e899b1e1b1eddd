package main

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// smallestStats is the struct_size of a caller that wants one counter.
const smallestStats = 16

// fillStats writes as much of the counters as the caller's struct has room for.
func fillStats(o *object.Context, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_stats is NULL")
	}
	size := load[uintptr](out)
	if size < smallestStats {
		return fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_stats)", size)
	}
	stats := gather(o)
	stats.StructSize = min(size, unsafe.Sizeof(stats)) &^ 7
	words := layout.Slice[uint64](layout.Address(&stats), uint64(stats.StructSize)/8)
	for i, word := range words {
		store(out+uintptr(i)*8, word)
	}
	return status.OK
}

// gather reads the counters of the process.
func gather(o *object.Context) tl_stats {
	s := object.ReadStats()
	return tl_stats{
		LiveObjects:         s.LiveObjects,
		LiveBytes:           s.LiveBytes,
		Allocations:         s.Allocations,
		Frees:               s.Frees,
		ForeignLive:         s.ForeignLive,
		TensorsLive:         s.TensorsMade - min(s.TensorsGone, s.TensorsMade),
		PooledTensors:       uint64(tensor.PoolCount(o)),
		PooledBytes:         uint64(tensor.PoolBytes(o)),
		ReservedBytes:       s.Reserved,
		CommittedBytes:      s.Committed,
		ScopeEntriesSkipped: s.Skipped,
		ReleasesDeferred:    s.Deferred,
		SlowCalls:           s.SlowCalls,
		SystemCalls:         s.SystemCalls,
		Contexts:            s.Contexts,
	}
}

// purge gives back what the tensor pool keeps first: it lies in objects that
// the heap can then give back too.
func purge(o *object.Context) status.Status {
	tensor.Purge(o)
	o.Purge()
	return status.OK
}
