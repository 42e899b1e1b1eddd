package main

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// smallestStats is the struct_size of a caller that wants one field.
const smallestStats = 16

// fillStats writes as much of the counters as the caller's struct has room for.
func fillStats(o *object.Context, out uintptr) status.Status {
	return fillStruct(o, out, "tl_stats", gather)
}

// gather reads the counters of the process. Pooled tensors lie in the heap and are
// not live; taking one out of the pool is an allocation.
func gather() tl_stats {
	s, pool := object.ReadStats(), tensor.ReadPool()
	live := s.LiveObjects - min(s.LiveObjects, pool.Tensors)
	allocations := s.Allocations + pool.Hits
	return tl_stats{
		LiveObjects:         live,
		LiveBytes:           s.LiveBytes - min(s.LiveBytes, pool.Bytes),
		Allocations:         allocations,
		Frees:               allocations - min(allocations, live),
		ForeignLive:         s.ForeignLive,
		TensorsLive:         s.TensorsMade - min(s.TensorsGone, s.TensorsMade),
		PooledTensors:       pool.Tensors,
		PooledBytes:         pool.Bytes,
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

// shutdown empties the tensor pool as well: it lies in the heap.
func shutdown(o *object.Context) status.Status {
	st := o.Shutdown()
	if st == status.OK {
		tensor.Purge(o)
		o.Purge()
	}
	return st
}
