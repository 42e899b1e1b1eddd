package layout

import (
	"runtime"
	"sync/atomic"
)

// Lock takes a lock of the shared memory, whose word is 1 while it is held; cshim/base/lock.h is the C side.
func Lock(word *uint32) {
	for turn := 0; atomic.LoadUint32(word) != 0 || !atomic.CompareAndSwapUint32(word, 0, 1); turn++ {
		Wait(turn)
	}
}

// Unlock gives it back.
func Unlock(word *uint32) { atomic.StoreUint32(word, 0) }

// Wait is one turn of waiting for a lock: see WaitFirst. Whoever holds it may be a goroutine that waits for a
// processor of the scheduler, or a C thread that waits for one of the machine.
func Wait(turn int) {
	if turn < WaitTurns {
		pause(WaitFirst << turn)
		return
	}
	runtime.Gosched()
	yieldThread()
}

// pause lets the processor wait n times for a moment.
func pause(n uint32)
