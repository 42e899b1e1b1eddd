package tensor

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
)

// DeviceStats are figures of all devices but the CPU.
type DeviceStats struct {
	Allocated    uint64 // bytes of the blocks that the default pools have given out, and of own blocks
	Kept         uint64 // tensors in device tensor caches
	KeptBytes    uint64 // of their blocks
	Hits, Misses uint64
}

// ReadDevices sums up the devices; exact at quiescence.
func ReadDevices() (sum DeviceStats) {
	owned.mu.Lock()
	sum.Allocated = owned.bytes
	owned.mu.Unlock()
	eachCache(limit.Need{Device: limit.Total}, func(number int, s *cache) {
		if number == CPU {
			return
		}
		if p, err := mempool.ReadStats(s.handle()); err == nil {
			sum.Allocated += p.CurrentUsage
		}
		s.mu.Lock()
		sum.Kept += s.kept()
		sum.KeptBytes += s.used
		sum.Hits += s.hits
		sum.Misses += s.misses
		s.mu.Unlock()
	})
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

// dumpDevices writes one line to standard error for each device in use.
func dumpDevices() {
	eachCache(limit.Need{Device: limit.Total}, func(number int, s *cache) {
		if number == CPU {
			return
		}
		p, _ := mempool.ReadStats(s.handle())
		output.Tell("device %d: %d bytes allocated of %d reserved, %d wait for streams", number,
			p.CurrentUsage, p.Reserved, p.WaitingBytes)
	})
}
