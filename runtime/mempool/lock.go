package mempool

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/layout"
)

const spins = 100

// lock takes the lock of a pool's state. Whoever holds it may be a goroutine that waits
// for a processor of the scheduler, or a C thread that waits for one of the machine.
func lock(s *layout.MempoolState) {
	for turn := 0; !atomic.CompareAndSwapUint32(&s.Lock, 0, 1); turn++ {
		if turn >= spins {
			runtime.Gosched()
			yieldThread()
		}
	}
}

func unlock(s *layout.MempoolState) { atomic.StoreUint32(&s.Lock, 0) }
