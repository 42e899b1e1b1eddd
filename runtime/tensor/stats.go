package tensor

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// PoolStats are the figures of the pool. What it keeps is allocated from the heap
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

// ReadPool sums up the shards, what threads keep, and the device tensor caches; exact at
// quiescence. Threads come last: what goes from one to the pool meanwhile is counted once at most.
func ReadPool() (sum PoolStats) {
	d := ReadDevices()
	sum = PoolStats{Tensors: d.Kept, Puts: d.Puts, Evicted: d.Evicted, Bytes: d.HeaderBytes, Hits: d.Hits,
		Misses: d.Misses, HitBytes: d.HitHeaders}
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.lock()
		sum.Tensors += s.count()
		sum.Puts += s.Puts
		sum.Evicted += s.Evicted
		sum.Bytes += s.kept()
		sum.HitBytes += s.HitBytes
		sum.Hits += s.Hits
		sum.Misses += atomic.LoadUint64(&s.Misses)
		s.unlock()
	}
	sum.addKept()
	return sum
}

// PoolCount returns how many tensors the pool keeps.
func PoolCount(*object.Context) int64 { return int64(ReadPool().Tensors) }

// PoolBytes returns how many bytes of the heap they occupy.
func PoolBytes(*object.Context) int64 { return int64(ReadPool().Bytes) }

// LiveCount returns how many objects are counted: tensors, other heap objects and
// foreign pointers.
func LiveCount(*object.Context) int64 {
	pooled := ReadPool().Tensors
	all := object.ReadStats()
	return int64(all.LiveObjects-min(all.LiveObjects, pooled)) + int64(all.ForeignLive)
}

// DumpPool writes one line to standard error for each key, and one for the sum.
func DumpPool(*object.Context) status.Status {
	for _, k := range keptKeys(limit.Need{Device: limit.CPU}) {
		output.Tell("pool: %d elements, dtype %d, device %d: %d tensors, %d bytes",
			k.Elements, k.Kind&0xFF, k.Kind>>8&0xFF, k.Count, uint64(k.Count)*k.Bytes)
	}
	dumpDeviceCaches()
	s := ReadPool()
	output.Tell("pool: %d tensors, %d bytes; %d hits, %d misses",
		s.Tensors, s.Bytes, s.Hits, s.Misses)
	return status.OK
}

// keyCount returns the number of keys of a shard that is not locked.
func (s *shard) keyCount() uint32 {
	s.lock()
	defer s.unlock()
	return s.Keys
}

// Kept tells how many slots of the heap, all of the same size, hold kept tensors.
type Kept struct{ SlotBytes, Slots uint64 }

// KeptSlots returns the slots of what the pool keeps, and of the headers of what device tensor caches
// keep. A size may occur more than once.
func KeptSlots() (all []Kept) {
	for _, k := range keptKeys(limit.Need{Device: limit.CPU}) {
		all = append(all, Kept{k.Bytes, uint64(k.Count)})
	}
	for i := range deviceCaches {
		s := &deviceCaches[i]
		s.mu.Lock()
		if kept := s.kept(); kept != 0 {
			all = append(all, Kept{s.header, kept})
		}
		s.mu.Unlock()
	}
	return all
}
