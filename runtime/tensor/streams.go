package tensor

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// storage returns the tensor that has the memory of the one at p, and its device, if
// that has streams; a stream other than NULL needs them.
func storage(c *object.Context, p uintptr, s device.Stream) (owner uintptr, of device.Streams, st status.Status) {
	if _, st = c.FindTensor(p); st != status.OK {
		return 0, nil, st
	}
	h := header(p)
	if owner = p; h.Flags&layout.TensorView != 0 {
		owner = h.Base
	}
	if h.Device != CPU {
		d, err := deviceAt(h.Device)
		if err != nil {
			return 0, nil, failed(c, err)
		}
		of, _ = d.(device.Streams)
	}
	if of == nil && s != 0 {
		return 0, nil, c.Failf(status.Unsupported, "%#x is on a device without streams; pass NULL", p)
	}
	return owner, of, status.OK
}

// RecordStream notes that work in a stream uses a tensor: when the last reference goes,
// its memory is others' only after the work that is in the stream then.
func RecordStream(c *object.Context, p uintptr, s device.Stream) status.Status {
	if p == 0 {
		return status.OK
	}
	owner, of, st := storage(c, p, s)
	if st != status.OK || of == nil {
		return st
	}
	if !blocks.use(owner, s) {
		return c.Failf(status.Unsupported, "the memory of %#x is lent; whoever lent it says when it may be used again",
			p)
	}
	return status.OK
}

// AwaitStreams lets later work in a stream wait for the work that is now in those where
// the tensor is used; where none is known, in the default one.
func AwaitStreams(c *object.Context, p uintptr, s device.Stream) status.Status {
	if p == 0 {
		return status.OK
	}
	owner, of, st := storage(c, p, s)
	if st != status.OK || of == nil {
		return st
	}
	b, _ := blocks.find(owner)
	if len(b.streams) == 0 {
		b.streams = []device.Stream{0}
	}
	for _, producer := range b.streams {
		if producer == s {
			continue
		}
		if err := follow(of, s, producer); err != nil {
			return failed(c, err)
		}
	}
	return status.OK
}

// follow puts s behind the work that is in another stream.
func follow(of device.Streams, s, other device.Stream) error {
	e, err := of.NewEvent()
	if err != nil {
		return err
	}
	if err = of.Record(e, other); err == nil {
		err = of.Wait(s, e)
	}
	if closed := of.CloseEvent(e); err == nil {
		err = closed
	}
	return err
}
