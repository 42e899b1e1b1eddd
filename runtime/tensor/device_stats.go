package tensor

import (
	"fmt"

	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
)

// DeviceStats are figures of all devices but the CPU.
type DeviceStats struct {
	Allocated    uint64 // bytes of the blocks that the default pools have given out, and of own blocks
	Kept         uint64 // tensors in device tensor caches: Puts - Hits - Evicted
	Puts         uint64 // tensors that ever came onto one
	Evicted      uint64 // of them, those that were freed
	KeptBytes    uint64 // of their blocks
	HeaderBytes  uint64 // of their headers, in the heap
	HitHeaders   uint64 // bytes of the headers of all hits
	Hits, Misses uint64
}

// ReadDevices sums up the devices; exact at quiescence.
func ReadDevices() (sum DeviceStats) {
	owned.mu.Lock()
	sum.Allocated = owned.bytes
	owned.mu.Unlock()
	for i := range deviceCaches {
		s := &deviceCaches[i]
		h := s.handle()
		if h == 0 {
			continue
		}
		if p, err := mempool.ReadStats(h); err == nil {
			sum.Allocated += p.CurrentUsage
		}
		s.mu.Lock()
		kept := s.kept()
		sum.Kept += kept
		sum.Puts += s.puts
		sum.Evicted += s.evicted
		sum.HeaderBytes += kept * s.header
		sum.HitHeaders += s.hits * s.header
		sum.KeptBytes += s.used.Load()
		sum.Hits += s.hits
		sum.Misses += s.misses
		s.mu.Unlock()
	}
	return sum
}

// DeviceAllocatedBytes returns how many bytes of all devices but the CPU are in tensors,
// live and kept, and in blocks of their default pools.
func DeviceAllocatedBytes(*object.Context) int64 { return int64(ReadDevices().Allocated) }

// DeviceFreeCount returns how many tensors of those devices are kept.
func DeviceFreeCount(*object.Context) int64 { return int64(ReadDevices().Kept) }

// DeviceFreeBytes returns how many bytes their blocks have.
func DeviceFreeBytes(*object.Context) int64 { return int64(ReadDevices().KeptBytes) }

// DeviceHitRate returns which share of the requests for tensors of those devices was
// served by kept ones.
func DeviceHitRate(*object.Context) float64 {
	s := ReadDevices()
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}

// dumpDeviceCaches writes one line to standard error for each key that a device keeps tensors
// of, and one for each device in use.
func dumpDeviceCaches() {
	for i := range deviceCaches {
		s := &deviceCaches[i]
		h := s.handle()
		if h == 0 {
			continue
		}
		p, _ := mempool.ReadStats(h)
		for _, line := range s.lines(i) {
			output.Tell("%s", line)
		}
		output.Tell("device %d: %d bytes allocated of %d reserved, %d wait for streams", i,
			p.CurrentUsage, p.Reserved, p.WaitingBytes)
	}
}

// lines describes the keys of a device's tensor cache.
func (s *deviceCache) lines(number int) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.ring {
		bytes := uint64(0)
		for _, e := range of.entries {
			bytes += e.bytes
		}
		if bytes > 0 {
			out = append(out, fmt.Sprintf("pool: %d elements, dtype %d, device %d: %d tensors, %d bytes",
				of.key.elements, of.key.kind, number, len(of.entries), bytes))
		}
	}
	return out
}
