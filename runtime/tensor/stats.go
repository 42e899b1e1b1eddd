package tensor

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// PoolStats are the figures of all caches. What they keep is allocated from the heap
// but not live, and each hit makes a kept tensor live without a new allocation:
//
//	live heap objects = objects out of the heap - Tensors
//	allocations       = slots handed out by the heap + Hits
//	Tensors           = Puts - Hits - Evicted
type PoolStats struct {
	Tensors      uint64
	Puts         uint64 // tensors that were ever kept
	Evicted      uint64 // of them, those whose slots went to the heap; counted before the heap sees them
	Bytes        uint64 // of the heap
	Hits, Misses uint64
	HitBytes     uint64 // of the heap, of all hits
}

// ReadPool sums up the caches; exact at quiescence.
func ReadPool() (sum PoolStats) {
	eachCache(limit.Need{Device: limit.Total}, func(_ int, s *cache) {
		s.mu.Lock()
		sum.Tensors += s.kept()
		sum.Puts += s.puts
		sum.Evicted += s.evicted
		sum.Bytes += s.heap
		sum.HitBytes += s.hitHeap
		sum.Hits += s.hits
		sum.Misses += s.misses
		s.mu.Unlock()
	})
	return sum
}

// PoolCount returns how many tensors are kept.
func PoolCount(*object.Context) int64 { return int64(ReadPool().Tensors) }

// LiveCount returns how many objects are counted: tensors, other heap objects and
// foreign pointers.
func LiveCount(*object.Context) int64 {
	pooled := ReadPool().Tensors
	all := object.ReadStats()
	return int64(all.LiveObjects-min(all.LiveObjects, pooled)) + int64(all.ForeignLive)
}

// DumpPool writes one line to standard error for each key, one for each device in use, and one for the sum.
func DumpPool(*object.Context) status.Status {
	for _, k := range keptKeys(limit.Total) {
		output.Tell("pool: %d elements, dtype %d, device %d: %d tensors, %d bytes", k.Elements, k.Dtype, k.Device,
			k.Tensors, k.Bytes)
	}
	dumpDevices()
	s := ReadPool()
	output.Tell("pool: %d tensors, %d bytes; %d hits, %d misses",
		s.Tensors, s.Bytes, s.Hits, s.Misses)
	return status.OK
}

// KeptSlots tells how many slots of the heap of each size hold kept tensors.
func KeptSlots() map[uint64]uint64 {
	all := map[uint64]uint64{}
	eachCache(limit.Need{Device: limit.Total}, func(_ int, s *cache) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, of := range s.ring {
			for _, e := range of.entries {
				all[e.heap]++
			}
		}
	})
	return all
}
