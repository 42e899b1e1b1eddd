package tensor

import (
	"cmp"
	"slices"
	"sort"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
)

// What the pool does when memory is short: near a limit it keeps nothing new, and a
// request that finds no memory gets that of kept tensors, coldest first.

func init() {
	limit.Register(limit.TensorPool, giveTensors)
	limit.OnHighWatermark(callInAll)
	limit.Describe(describePool)
	limit.Keys = poolKeys
}

// callInAll takes back what shards and threads may still keep without asking, so that every
// one asks, and finds that a limit is near.
func callInAll() {
	if !object.Opened() {
		return
	}
	recall(nil)
	for i := range uint64(layout.TensorPoolShards) {
		pool.callIn(shardAt(i))
	}
}

// giveTensors frees kept tensors of the devices that a need covers until it has freed
// enough: in a first round those of keys without a hit since the clock hand came by, in a
// second all.
func giveTensors(need limit.Need) (freed uint64) {
	if !object.Opened() {
		return 0
	}
	if need.Covers(limit.CPU) {
		gather(false)
	}
	enough := func() bool { return freed >= need.Bytes }
	pool.clock.search(2*layout.TensorPoolShards, layout.TensorPoolShards, enough, func(place, turn uint64) {
		s := shardAt(place)
		freed += s.give(need, need.Bytes-freed, turn < layout.TensorPoolShards)
		pool.callIn(s)
	})
	eachDeviceCache(need, func(_ int, s *deviceCache) {
		if freed < need.Bytes {
			freed += s.reclaim(need.Bytes - freed)
		}
	})
	return freed
}

// reclaim evicts the coldest tensors of a device until their blocks are enough. What
// cannot be given back stays out of use, and is found by whoever looks for it.
func (s *deviceCache) reclaim(enough uint64) uint64 {
	freed, _ := s.evict(func(s *deviceCache) []keptTensor {
		least := s.used.Load() - min(s.used.Load(), enough)
		return s.cold(func() bool { return s.used.Load() <= least })
	})
	return freed
}

// give frees tensors of a shard until it has freed enough bytes.
func (s *shard) give(need limit.Need, enough uint64, cold bool) (freed uint64) {
	var out [64]layout.Entry
	for freed < enough {
		s.lock()
		n, bytes := s.popFor(need, enough-freed, cold, &out)
		s.unlock()
		if n == 0 {
			break
		}
		freed += bytes
		for _, e := range out[:n] {
			object.Discard(e)
		}
	}
	return freed
}

// popFor takes tensors out until they have enough bytes, as many as fit into out.
func (s *shard) popFor(need limit.Need, enough uint64, cold bool, out *[64]layout.Entry) (n int, bytes uint64) {
	s.each(func(at *layout.TensorPoolKey) {
		if !need.Covers(deviceOf(at.Kind)) || cold && at.Referenced != 0 {
			return
		}
		for at.Count > 0 && n < len(out) && bytes < enough {
			out[n] = s.evictOne(at)
			bytes += at.Bytes
			n++
		}
	})
	return n, bytes
}

// deviceOf and dtypeOf take layout.TensorPoolKind apart.
func deviceOf(kind uint32) int32      { return int32(kind >> 8 & 0xFF) }
func dtypeOf(kind uint32) ElementType { return ElementType(kind & 0xFF) }

var dtypeNames = [...]string{
	F32: "f32", F64: "f64", I32: "i32", I64: "i64", U8: "u8", F16: "f16", BF16: "bf16", Bool: "bool", I8: "i8",
	I16: "i16", U16: "u16", U32: "u32", U64: "u64", C64: "c64", C128: "c128",
}

// describePool takes the kept tensors off what the heap counts as live, and adds the
// hits to what was allocated. The headers of devices' tensors are of the CPU.
func describePool(of limit.Need) (part limit.Part) {
	if !object.Opened() {
		return part
	}
	if of.Covers(limit.CPU) {
		all := ReadPool()
		part.Allocated, part.Allocations = all.HitBytes, all.Hits
		part.Idle, part.IdleBlocks = all.Bytes, all.Tensors
	}
	eachDeviceCache(of, func(_ int, s *deviceCache) {
		s.mu.Lock()
		part.Allocated += s.hitBytes
		part.Allocations += s.hits
		part.Idle += s.used.Load()
		part.IdleBlocks += s.kept()
		s.mu.Unlock()
	})
	return part
}

// poolKeys returns what is kept of a device, largest first.
func poolKeys(device int32) (keys []limit.Key) {
	if !object.Opened() {
		return nil
	}
	for _, k := range keptKeys(limit.Need{Device: device}) {
		keys = append(keys, limit.Key{Elements: k.Elements, Dtype: dtypeNames[dtypeOf(k.Kind)],
			Tensors: uint64(k.Count), Bytes: uint64(k.Count) * k.Bytes})
	}
	return keys
}

// keptKeys returns the keys of which tensors are kept, by the pool or by threads, that with most
// bytes first.
func keptKeys(of limit.Need) (keys []layout.TensorPoolKey) {
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		keys = slices.Grow(keys, int(s.keyCount())) // not under the lock
		s.lock()
		s.each(func(at *layout.TensorPoolKey) {
			if at.Count > 0 && of.Covers(deviceOf(at.Kind)) {
				keys = append(keys, *at)
			}
		})
		s.unlock()
	}
	if of.Covers(limit.CPU) {
		keys = addKept(keys)
	}
	eachDeviceCache(of, func(number int, s *deviceCache) { keys = s.keys(number, keys) })
	sort.Slice(keys, func(i, j int) bool {
		a, b := &keys[i], &keys[j]
		return cmp.Or(cmp.Compare(uint64(b.Count)*b.Bytes, uint64(a.Count)*a.Bytes),
			cmp.Compare(a.Elements, b.Elements),
			cmp.Compare(a.Kind, b.Kind)) < 0
	})
	return keys
}
