// Package backends puts together what package device knows only by its interfaces:
// the CPU, the memory that processes share, and the drivers that may be on this machine.
package backends

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/cuda"
	"tlruntime/runtime/device/metal"
	"tlruntime/runtime/device/opencl"
	"tlruntime/runtime/device/shared"
)

// Options are where to look, and how.
type Options struct {
	HugePages     func() bool // asked at each allocation of the CPU
	CUDALibrary   string      // "" looks in the usual places
	OpenCLLibrary string
}

// New returns the devices of this machine. Nothing is looked for until a device
// other than the first two is wanted.
func New(o Options) *device.Set {
	return device.NewSet([]device.Device{cpu.New(o.HugePages), shared.New()},
		cuda.Driver(o.CUDALibrary),
		opencl.Driver(opencl.Options{Library: o.OpenCLLibrary}),
		metal.Driver())
}
