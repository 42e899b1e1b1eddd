package tensor

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
)

// What the caches do when memory is short: near a limit they keep nothing new, and a
// request that finds no memory gets that of kept tensors, coldest first.

func init() {
	limit.Register(limit.KeptTensors, giveTensors)
	limit.Describe(describeCaches)
	limit.Keys = largestKeys
}

// giveTensors frees kept tensors of the devices that a need covers until it has freed
// enough. What cannot be given back stays out of use, and is found by whoever looks for it.
func giveTensors(need limit.Need) (freed uint64) {
	if !object.Opened() {
		return 0
	}
	eachCache(need, func(_ int, s *cache) {
		if freed >= need.Bytes {
			return
		}
		bytes, _ := s.evict(func(s *cache) []keptTensor {
			least := s.used - min(s.used, need.Bytes-freed)
			return s.cold(func() bool { return s.used <= least })
		})
		freed += bytes
	})
	return freed
}

// describeCaches takes the kept tensors off what the heap counts as live, and adds the
// hits to what was allocated. The headers of devices' tensors are of the CPU.
func describeCaches(of limit.Need) (part limit.Part) {
	if !object.Opened() {
		return part
	}
	if of.Covers(limit.CPU) {
		all := ReadPool()
		part.Allocated, part.Allocations = all.HitBytes, all.Hits
		part.Idle, part.IdleBlocks = all.Bytes, all.Tensors
	}
	eachCache(of, func(number int, s *cache) {
		if number == CPU {
			return
		}
		s.mu.Lock()
		part.Allocated += s.hitBytes
		part.Allocations += s.hits
		part.Idle += s.used
		part.IdleBlocks += s.kept()
		s.mu.Unlock()
	})
	return part
}

// largestKeys returns what is kept of a device, largest first.
func largestKeys(device int32) (keys []limit.Key) {
	if !object.Opened() {
		return nil
	}
	for _, k := range keptKeys(device) {
		keys = append(keys, limit.Key{Elements: k.Elements, Dtype: ElementType(k.Dtype).String(), Tensors: k.Tensors,
			Bytes: k.Bytes})
	}
	return keys
}
