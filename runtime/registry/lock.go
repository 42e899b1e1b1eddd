package registry

import (
	"sync/atomic"

	core "tlruntime/cshim/registry"
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

// lockEntry locks the shard of p and looks p up. It locks nothing when p has no entry.
func lockEntry(p uintptr) (*layout.Shard, *layout.ForeignEntry) {
	s, e := core.LockEntry(p)
	if s != nil {
		atomic.LoadUint32(&s.Lock) // the race detector does not see C take the lock
	}
	return s, e
}

func unlock(s *layout.Shard) { atomic.AddUint32(&s.Lock, 1) }
