package tensor

import (
	"fmt"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// dlKinds are those whose data is an address (CUDA) or a handle with an offset.
var dlKinds = map[device.Kind]int32{device.CUDA: layout.DlCuda, device.OpenCL: layout.DlOpencl,
	device.Metal: layout.DlMetal}

// dlPlace returns where DLPack says that a tensor's data is: an address, or a buffer's handle and an offset. What the
// CPU may use at its addresses is the CPU's, but for Metal, which knows buffers.
func dlPlace(h *layout.TensorHeader) (layout.DlTensor, error) {
	at := layout.DlTensor{DeviceType: layout.DlCpu, Data: h.Data}
	if h.Numel == 0 {
		at.Data = 0
	}
	if h.Device == CPU {
		return at, nil
	}
	d, err := deviceAt(h.Device)
	if err != nil {
		return at, err
	}
	info := d.Info()
	kind, known := dlKinds[info.Kind]
	switch {
	case info.HostAccess && info.Kind != device.Metal:
		return at, nil
	case !known:
		return at, device.Errorf(status.Unsupported, "DLPack has no number for %s; copy the tensor to the CPU",
			info.Name)
	}
	_, ordinal, err := device.ParseName(info.Name)
	if err != nil {
		return at, err
	}
	at.DeviceType, at.DeviceId = kind, int32(ordinal)
	if buffers, ok := d.(device.Buffers); ok && at.Data != 0 {
		handle, offset, err := buffers.Buffer(at.Data)
		if err != nil {
			return at, err
		}
		at.Data, at.ByteOffset = handle, uint64(offset)
	}
	return at, nil
}

// DLDevice returns the device of a tensor as DLPack numbers it.
func DLDevice(c *object.Context, p uintptr) (kind, ordinal int32, st status.Status) {
	if p == 0 {
		return layout.DlCpu, 0, status.OK
	}
	if _, st := c.FindTensor(p); st != status.OK {
		return 0, 0, st
	}
	at, err := dlPlace(header(p))
	return at.DeviceType, at.DeviceId, failed(c, err)
}

// fromDLPlace returns the address and the device of the data that DLPack describes.
// Handles of buffers have an address here where they are of this library's own.
func fromDLPlace(t *layout.DlTensor) (data uintptr, number int32, err error) {
	if t.DeviceType == layout.DlCpu || t.DeviceType == layout.DlCpuPinned {
		return t.Data, CPU, nil
	}
	for kind, dl := range dlKinds {
		if dl != t.DeviceType || Devices.Set == nil {
			continue
		}
		all := Devices.Set()
		if number, err = all.ByName(fmt.Sprintf("%s:%d", kind, t.DeviceId)); err != nil {
			return 0, 0, err
		}
		d, err := all.At(number)
		if buffers, ok := d.(device.Buffers); ok && err == nil && t.Data != 0 {
			data, err = buffers.Place(t.Data)
			return data, number, err
		}
		return t.Data, number, err
	}
	return 0, 0, device.Errorf(status.Device, "the tensor is on DLPack's device %d:%d, of which nothing is known here",
		t.DeviceType, t.DeviceId)
}
