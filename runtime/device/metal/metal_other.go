//go:build !darwin

// Package metal is the memory of Apple's devices, which exist on macOS.
package metal

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Driver says that there is no Metal here.
func Driver() device.Driver {
	return device.Driver{Kind: device.Metal, Discover: func() ([]device.Device, error) {
		return nil, device.Errorf(status.Device, "Metal exists on macOS only")
	}}
}
