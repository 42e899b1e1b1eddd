package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Shutdown leaves the caller's scopes, its root scope included, finishes what
// ended threads left, and gives idle memory back. Live objects stay valid.
func (c *Context) Shutdown() status.Status {
	busy := false
	process.slices.each(func(p *Context) {
		if p != c && p.Self != 0 && atomic.LoadUint64(&p.Word)&layout.CtxState == layout.CtxActive &&
			p.MarkTop != p.Marks {
			busy = true
		}
	})
	if busy {
		return c.Fail(status.Busy, textOpenScopes, 0)
	}
	c.drain(c)
	c.finish(c)
	atomic.StoreUint32(&process.g.Reap, 1)
	c.Reap()
	c.Purge()
	return status.OK
}
