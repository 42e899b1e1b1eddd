package tensor

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// Devices is what package tensor knows of the devices of the process. Whoever puts the
// runtime together sets it; without it there is the CPU alone.
var Devices struct {
	Set     func() *device.Set
	Default func() (int32, error) // the device that TL_DEVICE names
}

// place checks the number of a device that a caller passes.
func place(c *object.Context, number int32) (uint8, status.Status) {
	if number == CPU {
		return CPU, status.OK
	}
	if Devices.Set == nil {
		return 0, c.Fail(status.Device, object.TextDevice, 0, uint64(int64(number)))
	}
	if number == DefaultDevice {
		wanted, err := Devices.Default()
		if err != nil {
			return 0, failed(c, err)
		}
		number = wanted
	}
	_, err := Devices.Set().At(number)
	return uint8(number), failed(c, err)
}

// deviceAt returns a device that a tensor is on. The number may stand in a header that a
// program has overwritten.
func deviceAt(number uint8) (device.Device, error) {
	if Devices.Set == nil {
		return nil, device.Errorf(status.Device, "there is no device %d", number)
	}
	return Devices.Set().At(int32(number))
}

// failed records why a device or its pool did not do what was asked.
func failed(c *object.Context, err error) status.Status {
	if err == nil {
		return status.OK
	}
	return c.Failf(statusOf(err), "%s", err.Error())
}

// inReach reports whether the CPU reads and writes what is on a device.
func inReach(number uint8) bool {
	if number == CPU {
		return true
	}
	d, err := deviceAt(number)
	return err == nil && d.Info().HostAccess
}
