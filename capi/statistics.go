package main

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/stats"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// smallestStats is the struct_size of a caller that wants one field.
const smallestStats = 16

// fillStats writes as much of the counters as the caller's struct has room for.
func fillStats(o *object.Context, out uintptr) status.Status {
	return fillStruct(o, out, "tl_stats", gather)
}

func gather() tl_stats {
	s := stats.Read(stats.Options{Total: true})
	k := s.Kinds
	plain, typed, vecs, tensors, sparse := k[0].Count, k[1].Count, k[2].Count, k[4].Count, k[5].Count
	d := s.Devices[0]
	return tl_stats{
		LiveObjects: s.Total.Live, LiveBytes: s.Total.Bytes, Allocations: s.Total.Allocations, Frees: s.Total.Frees,
		ForeignLive: s.Foreign.Live, TensorsLive: tensors.Live,
		PooledTensors: s.TensorPool.Tensors, PooledBytes: s.TensorPool.Bytes,
		ReservedBytes: s.Process.ReservedAddresses, CommittedBytes: s.Process.CommittedBytes,
		ScopeEntriesSkipped: s.Process.ScopeEntriesSkipped, ReleasesDeferred: s.Process.ReleasesDeferred,
		SlowCalls: s.Process.SlowCalls, SystemCalls: s.Process.SystemCalls, Contexts: s.Process.Contexts,
		PlainLive: plain.Live, TypedLive: typed.Live, VecsLive: vecs.Live, SparseLive: sparse.Live,
		TensorBytes: tensors.Bytes, TensorAllocations: tensors.Allocations,
		PoolHits: s.TensorPool.Hits, PoolMisses: s.TensorPool.Misses,
		ForeignAllocations: s.Foreign.Allocations, ForeignBytes: s.Foreign.Bytes,
		RegistryBuffers: s.Process.RegistryBuffers,
		PoolBlocksLive:  s.PoolBlocks.Live, PoolBlocksAllocated: s.PoolBlocks.Allocations,
		PoolBlockBytes: s.PoolBlocks.Bytes,
		FrameBytes:     s.Stacks.FrameBytes, ArenaBytes: s.Stacks.ArenaBytes, ScopeEntries: s.Stacks.ScopeEntries,
		HeldBytes: d.Reserved, HeldPeak: d.Peak, InUseBytes: d.InUse, InUsePeak: d.PeakInUse,
		BytesAllocated: d.Allocated, BytesFreed: d.Freed, OutOfMemory: d.Failed,
	}
}

// fillText writes a text and its end into the caller's buffer, as much of it as fits, and
// returns the length of all of it.
func fillText(o *object.Context, buffer, room uintptr, text []byte) uintptr {
	if room == 0 {
		return uintptr(len(text))
	}
	if !usable(buffer) {
		fail(o, status.InvalidArgument, "there is no buffer of %d bytes; pass one, or NULL and 0 for the length", room)
		return 0
	}
	n := min(uintptr(len(text)), room-1)
	copy(layout.Bytes(buffer, uint64(n)), text[:n])
	store(buffer+n, byte(0))
	return uintptr(len(text))
}

func printStats(o *object.Context, path uintptr) status.Status {
	table := stats.Read(stats.All).Table()
	if path == 0 {
		output.TellText(table)
		return status.OK
	}
	name, st := textOf(o, path, "path")
	if st != status.OK {
		return st
	}
	if err := output.WriteText(name, table); err != nil {
		return fail(o, status.InvalidArgument, "nothing was written: %v", err)
	}
	return status.OK
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
	if st == status.OK && options.Flag("TL_DEBUG") {
		debug.CheckAll(o) // damage is the status of the call: it is not asked for here
	}
	return st
}
