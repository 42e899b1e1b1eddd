package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// hooks are object.Tensors.
type hooks struct{}

func init() { object.SetTensors(hooks{}) }

// OwnBytes is that of a block, of what a tensor has grown to, or of the elements behind the header.
func (hooks) OwnBytes(p uintptr, room uint64) uint64 {
	h := header(p)
	switch b, found := blocks.find(p); {
	case b.grown != nil:
		return h.Nbytes
	case found && b.bytes > 0:
		return uint64(b.bytes)
	case h.Flags&(layout.TensorView|layout.TensorExternal) != 0 || h.Nbytes == 0:
		return layout.TensorHeaderBytes
	}
	return min(h.Nbytes, room)
}

// DeviceName is "" also for a tensor that has grown.
func (hooks) DeviceName(p uintptr) string {
	b, found := blocks.find(p)
	if !found || b.grown != nil {
		return ""
	}
	d, err := deviceAt(b.device)
	if err != nil {
		return ""
	}
	return d.Name()
}

// IsWhole is tlc_tensor_is_whole; a tensor that has a block is not whole, whatever its header says.
func (hooks) IsWhole(p uintptr) bool {
	h := header(p)
	_, found := blocks.find(p)
	return h.Flags == layout.TensorContiguous && h.Device == CPU && !found
}

// Deleter returns what ends the memory that a dying tensor was lent: f(data,
// context), 0 = nothing.
func (hooks) Deleter(p uintptr) (f, data, context uintptr) {
	h := header(p)
	if h.Flags&layout.TensorExternal == 0 {
		return 0, 0, 0
	}
	return h.Deleter, h.Data, h.DeleterContext
}

// Dismantle ends what a dying tensor refers to.
func (hooks) Dismantle(c *object.Context, p uintptr) {
	if h := header(p); h.Flags&layout.TensorView != 0 {
		c.DropReference(h.Base)
	}
	if b, found := blocks.remove(p); found {
		b.end(c)
	}
}

// Keep: what dies on a device is kept, what dies on the CPU ends in the heap.
func (hooks) Keep(r *layout.Record, e layout.Entry) bool {
	b, found := blocks.find(e.Object)
	return found && keepOn(r, e, b)
}
