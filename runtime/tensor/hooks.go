package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

func init() {
	object.TensorHooks.Keep = keepAnywhere
	object.TensorHooks.GiveBack = giveBack
	object.TensorHooks.Deleter = deleterOf
	object.TensorHooks.Dismantle = dismantle
	object.TensorHooks.DeviceBytes = func(p uintptr) uint64 {
		b, _ := blocks.find(p)
		return uint64(b.bytes)
	}
	object.TensorHooks.DeviceName = func(p uintptr) string {
		b, found := blocks.find(p)
		if !found {
			return ""
		}
		d, err := deviceAt(b.device)
		if err != nil {
			return ""
		}
		return d.Name()
	}
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
	c.TensorsGone++
	if h := header(p); h.Flags&layout.TensorView != 0 {
		c.DropReference(h.Base)
	}
	if b, found := blocks.remove(p); found {
		failed(c, b.giveBack())
	}
}

// keepAnywhere is object.TensorHooks.Keep.
func keepAnywhere(me *object.Context, r *layout.Record, e layout.Entry) bool {
	if b, found := blocks.find(e.Object); found {
		return keepOn(me, r, e, b)
	}
	return keep(me, r, e)
}
