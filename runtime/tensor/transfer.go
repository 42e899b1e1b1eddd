package tensor

import (
	"tlruntime/cshim/copies"
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// transfer copies the elements of a tensor into another of the same shape. Elements
// without gaps go as they are, between any devices. Others are picked by the CPU: where
// they lie on a device out of its reach, all that they are spread over comes to it first.
// Into gaps on such a device nothing can be put without writing what lies between.
func transfer(c *object.Context, to, from *layout.TensorHeader) status.Status {
	switch {
	case to.Numel == 0:
		return status.OK
	case dense(to) && dense(from) && !overlap(to, from):
		return move(c, to.Device, to.Data, from.Device, from.Data, uintptr(to.Nbytes))
	case !dense(to) && !inReach(to.Device):
		return c.Failf(status.Unsupported,
			"the elements written to lie apart from each other, on a device whose memory the CPU "+
				"cannot reach; copy into a contiguous tensor")
	}
	return transferByCPU(c, to, from)
}

func dense(h *layout.TensorHeader) bool { return h.Flags&layout.TensorContiguous != 0 }

// transferByCPU is transfer by way of memory that the CPU reads.
func transferByCPU(c *object.Context, to, from *layout.TensorHeader) status.Status {
	near, spread, st := readable(c, from)
	if st != status.OK {
		return st
	}
	defer drop(c, spread)
	if inReach(to.Device) && !overlap(to, &near) {
		scatter(to, &near)
		return status.OK
	}
	row, st := scratch(c, to.Nbytes)
	if st != status.OK {
		return st
	}
	defer drop(c, row.object)
	s := specOf(to, CPU)
	if st := s.compact(c); st != status.OK {
		return st
	}
	packed := layout.TensorHeader{Data: row.data, Dtype: to.Dtype, Rank: to.Rank, Shape: to.Shape, Numel: to.Numel,
		Nbytes: to.Nbytes, Strides: s.strides, Flags: layout.TensorContiguous}
	scatter(&packed, &near)
	if dense(to) {
		return move(c, to.Device, to.Data, CPU, row.data, uintptr(to.Nbytes))
	}
	scatter(to, &packed)
	return status.OK
}

// readable returns a header whose elements the CPU can read: that of the tensor itself, or one over a copy of all the
// memory that the elements are spread over. The caller drops the copy.
func readable(c *object.Context, from *layout.TensorHeader) (near layout.TensorHeader, spread uintptr,
	st status.Status) {
	near = *from
	if inReach(from.Device) {
		return near, 0, status.OK
	}
	low, high := reach(from)
	copied, st := scratch(c, uint64(high-low))
	if st != status.OK {
		return near, 0, st
	}
	if st := move(c, CPU, copied.data, from.Device, low, high-low); st != status.OK {
		drop(c, copied.object)
		return near, 0, st
	}
	near.Device, near.Data = CPU, copied.data+(from.Data-low)
	return near, copied.object, status.OK
}

// buffer is memory of the CPU for the time of a call.
type buffer struct{ object, data uintptr }

func scratch(c *object.Context, n uint64) (buffer, status.Status) {
	s := vector(U8, n)
	e, _ := obtain(c, &s, false)
	if e.Object == 0 {
		return buffer{}, status.Status(c.Error.Status)
	}
	return buffer{e.Object, e.Object + layout.TensorHeaderBytes}, status.OK
}

func drop(c *object.Context, object uintptr) {
	if object != 0 {
		c.DropReference(object)
	}
}

// move copies bytes between devices.
func move(c *object.Context, target uint8, to uintptr, source uint8, from, n uintptr) status.Status {
	if target == CPU && source == CPU {
		copyMemory(to, from, n)
		return status.OK
	}
	t, err := deviceAt(target)
	if err == nil {
		var f device.Device
		if f, err = deviceAt(source); err == nil {
			err = device.Copy(t, to, f, from, n)
		}
	}
	return failed(c, err)
}

// reach returns where the lowest element begins and where the highest one ends.
func reach(h *layout.TensorHeader) (low, high uintptr) {
	return copies.Reach(h, ElementType(h.Dtype).Size())
}

// scatter copies elements that are not dense. Both tensors are in the CPU's reach, apart from each other and not empty.
func scatter(target, source *layout.TensorHeader) {
	copies.Elements(target, source, ElementType(source.Dtype).Size())
}

// overlap reports whether two tensors may have bytes in common.
func overlap(a, b *layout.TensorHeader) bool {
	if a.Device != b.Device && !(inReach(a.Device) && inReach(b.Device)) {
		return false
	}
	aLow, aHigh := reach(a)
	bLow, bHigh := reach(b)
	return aLow < bHigh && bLow < aHigh
}
