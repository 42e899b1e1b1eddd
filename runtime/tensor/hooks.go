package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

func init() {
	object.TensorHooks.Keep = keepDead
	object.TensorHooks.IsWhole = isWhole
	object.TensorHooks.Deleter = deleterOf
	object.TensorHooks.Dismantle = dismantle
	object.TensorHooks.DeviceBytes = func(p uintptr) uint64 {
		b, _ := blocks.find(p)
		if b.grown != nil {
			return header(p).Nbytes
		}
		return uint64(b.bytes)
	}
	object.TensorHooks.DeviceName = func(p uintptr) string {
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
}

// isWhole is tlc_tensor_is_whole; a tensor that has a block is not whole, whatever its header says.
func isWhole(p uintptr) bool {
	h := header(p)
	_, found := blocks.find(p)
	return h.Flags == layout.TensorContiguous && h.Device == CPU && !found
}

// deleterOf returns what ends the memory that a dying tensor was lent: f(data,
// context), 0 = nothing.
func deleterOf(p uintptr) (f, data, context uintptr) {
	h := header(p)
	if h.Flags&layout.TensorExternal == 0 {
		return 0, 0, 0
	}
	return h.Deleter, h.Data, h.DeleterContext
}

// dismantle ends what a dying tensor refers to.
func dismantle(c *object.Context, p uintptr) {
	if h := header(p); h.Flags&layout.TensorView != 0 {
		c.DropReference(h.Base)
	}
	if b, found := blocks.remove(p); found {
		b.end(c)
	}
}

// keepDead is object.TensorHooks.Keep: what dies on a device is kept, what dies on the CPU ends in the heap.
func keepDead(r *layout.Record, e layout.Entry) bool {
	b, found := blocks.find(e.Object)
	return found && keepOn(r, e, b)
}
