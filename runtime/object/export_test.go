package object

import "tlruntime/runtime/status"

// ExitScopesTo leaves scopes, and the functions and planned frames opened in
// them, until depth are open.
func (c *Context) ExitScopesTo(depth int64) status.Status {
	target, st := c.DepthTarget(depth)
	if st == status.OK {
		c.closeAndDrain(target)
	}
	return st
}

// FrameExit closes the newest planned frame and the scopes opened in it.
func (c *Context) FrameExit() status.Status {
	target, st := c.FrameTarget()
	if st == status.OK {
		c.closeAndDrain(target)
	}
	return st
}
