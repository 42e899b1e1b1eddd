package object

import (
	"sync/atomic"
	"time"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
)

// countIn makes the first context alone. Before any other one can be used it ends that: the other one is that of a
// second thread, or the shared one, which a thread that has exited may use while somebody else has adopted its own. A
// context that is alone changes shared words without a compare-and-swap (tlc_tensor_end in cshim/tensor/tensor.h).
// Whoever adopts the first one is alone as well; once that has ended it never comes back. The caller holds s.mu.
func (s *slices) countIn(c *Context) {
	first := s.slice(1)
	if c == first {
		if process.cfg.HasBarrier && s.slice(0).Self == 0 {
			atomic.StoreUint32(&c.Alone, 1)
		}
		return
	}
	if atomic.LoadUint32(&first.Alone) == 0 {
		return
	}
	atomic.StoreUint32(&first.Alone, 0)
	passBarriers() // from here on, the first thread has either been seen to be busy, or sees that it is not alone
	for turn := 0; atomic.LoadUint32(&first.Busy) != 0; turn++ {
		layout.Wait(turn)
	}
}

// passBarriers has every thread of the process, which is registered for it, pass a memory barrier before it returns. A
// kernel that refuses now has got a filter since, and no other way is as certain. Then a pause gives every processor
// time to write its store buffer, which takes it less than a microsecond.
func passBarriers() {
	if !core.PassBarriers() {
		time.Sleep(time.Millisecond)
	}
}
