package tensor

import (
	"errors"

	"tlruntime/cshim/shapes"
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

const onDevice = layout.TensorContiguous | layout.TensorOnDevice

// obtainOn is obtain for devices. Object 0: no memory, the error is recorded.
func obtainOn(c *object.Context, s *spec, floating bool) layout.Entry {
	if d := sharer(s.device); d != nil {
		return s.reviveOn(c, newOwn(c, s, d), floating)
	}
	e := cacheOf(s.device).take(s.key()).Entry
	if e.Object == 0 {
		e = newOn(c, s)
	}
	return s.reviveOn(c, e, floating)
}

// reviveOn makes a tensor with a block live. Object 0 stays what it is.
func (s *spec) reviveOn(c *object.Context, e layout.Entry, floating bool) layout.Entry {
	if e.Object == 0 {
		return e
	}
	b, _ := blocks.find(e.Object)
	h := s.describe(e.Object, onDevice)
	h.Data = b.address
	if d := sharer(s.device); d != nil {
		noteFile(h, d, b.address)
	}
	c.Revive(e, floating)
	c.SpendObject(e, layout.TensorHeaderBytes+s.nbytes)
	return e
}

// newOn obtains a block and a header for a tensor.
func newOn(c *object.Context, s *spec) layout.Entry {
	b := block{device: s.device, bytes: uintptr(s.nbytes)}
	if s.nbytes > 0 {
		var err error
		b.address, err = Allocate(s.device, func(h mempool.Handle) (uintptr, error) {
			return mempool.Allocate(h, b.bytes)
		})
		if err != nil {
			noBlock(c, err)
			return layout.Entry{}
		}
		b.room = mempool.Lends(cacheOf(b.device).handle(), b.address)
	}
	return headFor(c, b)
}

// headFor returns the header of a tensor that is to have a block, which goes back where there is none.
func headFor(c *object.Context, b block) layout.Entry {
	e, _ := c.TakeTensor(layout.TensorHeaderBytes)
	if e.Object == 0 {
		failed(c, b.giveBack())
		return e
	}
	blocks.enter(c, e.Object, b)
	return e
}

// noBlock records why there is no block for a tensor. More bytes than any block has, and
// more pools than there can be, are a lack of memory to whoever wants a tensor.
func noBlock(c *object.Context, err error) {
	var e *mempool.Error
	if errors.As(err, &e) && e.Short > 0 {
		failed(c, err)
		c.Short(e.Device, e.Short)
		return
	}
	switch statusOf(err) {
	case status.Overflow, status.Limit:
		err = device.Errorf(status.OutOfMemory, "%v", err)
	}
	failed(c, err)
}

// zerosOn returns a registered tensor of zeros on a device.
func zerosOn(c *object.Context, s *spec) uintptr {
	if !c.HasRoom() {
		return 0
	}
	e := obtainOn(c, s, false)
	if e.Object == 0 {
		return 0
	}
	d, err := deviceAt(s.device)
	if _, zeros := d.(device.Sharer); err == nil && s.nbytes > 0 && !zeros {
		err = device.Fill(d, header(e.Object).Data, 0, uintptr(s.nbytes))
	}
	if err != nil {
		c.DropReference(e.Object)
		failed(c, err)
		return 0
	}
	c.Push(e)
	return e.Object
}

// To returns a contiguous copy of a tensor on a device, registered in the current scope.
func To(c *object.Context, p uintptr, number int32) uintptr {
	if p == 0 {
		return c.Null()
	}
	if _, st := c.FindTensor(p); st != status.OK {
		return 0
	}
	on, st := place(c, number)
	if st != status.OK || !c.HasRoom() {
		return 0
	}
	e, ok := copyOf(c, p, on, false)
	if ok {
		c.Push(e)
	}
	return e.Object
}

// Copy copies the elements of one tensor into another of the same shape and type, on
// whatever devices they are.
func Copy(c *object.Context, to, from uintptr) status.Status {
	for _, p := range []uintptr{to, from} {
		if p == 0 {
			return c.Failf(status.InvalidArgument, "both tensors are needed, not NULL")
		}
		if _, st := c.FindTensor(p); st != status.OK {
			return st
		}
	}
	t, f := header(to), header(from)
	switch {
	case t.Dtype != f.Dtype || t.Rank != f.Rank || t.Shape != f.Shape && !sameShape(t, f):
		return c.Failf(status.InvalidArgument, "the tensors differ in shape or element type")
	case t.Flags&layout.TensorReadOnly != 0:
		return c.Failf(status.Unsupported, "%#x is read-only: whoever lent its memory does not want it written", to)
	case shapes.Repeats(t):
		return c.Failf(status.Unsupported,
			"%#x is broadcast: one element stands under several indices; copy into the tensor itself", to)
	}
	return transfer(c, t, f)
}

func sameShape(a, b *layout.TensorHeader) bool {
	rank := min(int(a.Rank), layout.MaxRank)
	for i := range rank {
		if a.Shape[i] != b.Shape[i] {
			return false
		}
	}
	return true
}
