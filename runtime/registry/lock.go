package registry

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

const spins = 100

// lock takes a shard's lock: its version becomes odd.
func lock(s *layout.Shard) {
	for turn := 0; ; turn++ {
		v := atomic.LoadUint32(&s.Lock)
		if v&1 == 0 && atomic.CompareAndSwapUint32(&s.Lock, v, v+1) {
			return
		}
		if turn >= spins {
			// The holder may be a goroutine that waits for a processor of the
			// scheduler, or a C thread that waits for one of the machine.
			runtime.Gosched()
			yieldThread()
		}
	}
}

func unlock(s *layout.Shard) { atomic.AddUint32(&s.Lock, 1) }
