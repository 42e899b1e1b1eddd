package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// lock takes a shard's lock: its version becomes odd.
func lock(s *layout.Shard) {
	for turn := 0; ; turn++ {
		v := atomic.LoadUint32(&s.Lock)
		if v&1 == 0 && atomic.CompareAndSwapUint32(&s.Lock, v, v+1) {
			return
		}
		layout.Wait(turn)
	}
}

func unlock(s *layout.Shard) { atomic.AddUint32(&s.Lock, 1) }
