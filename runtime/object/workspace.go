package object

import (
	"math/bits"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Workspace is a block for each worker, side by side in one registered allocation:
// this header, then count blocks that are stride bytes apart.
type Workspace struct {
	Base, Stride, Count, Bytes uintptr
}

// Blocks keep this distance: two lines of the cache, as processors fetch them in pairs.
const workspaceLines = 128

// NewWorkspace returns a workspace of n blocks, 0 with the error recorded. The
// caller holds a reference to it.
func (c *Context) NewWorkspace(n, bytes, alignment uintptr) uintptr {
	switch {
	case alignment == 0 || alignment&(alignment-1) != 0 || alignment > layout.ForeignBytes:
		c.Fail(status.InvalidArgument, textAlignment, 0, uint64(alignment))
		return 0
	case n == 0 || bytes == 0:
		c.Fail(status.InvalidArgument, textWorkspaceEmpty, 0, uint64(n), uint64(bytes))
		return 0
	}
	apart := max(alignment, workspaceLines)
	stride := memory.Round(bytes, apart)
	high, total := bits.Mul64(uint64(n), uint64(stride))
	if bytes > layout.ForeignBytes || high != 0 || total > layout.ForeignBytes-uint64(apart) {
		c.Fail(status.InvalidArgument, textProduct, 0, uint64(n), uint64(bytes))
		return 0
	}
	p := c.allocForeign(apart+uintptr(total), apart, inserted(layout.ForeignWorkspace))
	if p != 0 {
		*layout.At[Workspace](p) = Workspace{Base: p + apart, Stride: stride, Count: n, Bytes: bytes}
	}
	return p
}

// DestroyWorkspace drops a reference to a workspace; the last one frees it.
func (c *Context) DestroyWorkspace(p uintptr) status.Status {
	if p == 0 {
		return status.OK
	}
	info, known := process.registry.Info(p)
	if !known || info.Count == 0 || info.Type != layout.ForeignWorkspace {
		return c.Fail(status.UnknownPointer, textNotWorkspace, p)
	}
	return c.releaseForeign(p)
}
