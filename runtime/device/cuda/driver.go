// Package cuda is the memory of NVIDIA's devices, by the driver API. The driver is
// loaded when its devices are first wanted. Nothing is linked, and no function of
// ours is called by it.
package cuda

import (
	"fmt"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/driver"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// symbol is a function of the driver.
type symbol int

// names are those of the library, with the version of their signature. A ? marks
// what drivers before CUDA 11.2 lack.
var names []string

func named(name string) symbol {
	names = append(names, name)
	return symbol(len(names) - 1)
}

var (
	cuInit                   = named("cuInit")
	cuDriverGetVersion       = named("cuDriverGetVersion")
	cuGetErrorName           = named("cuGetErrorName")
	cuGetErrorString         = named("cuGetErrorString")
	cuDeviceGetCount         = named("cuDeviceGetCount")
	cuDeviceGet              = named("cuDeviceGet")
	cuDeviceGetName          = named("cuDeviceGetName")
	cuDeviceTotalMem         = named("cuDeviceTotalMem_v2")
	cuDeviceGetAttribute     = named("cuDeviceGetAttribute")
	cuDevicePrimaryCtxRetain = named("cuDevicePrimaryCtxRetain")
	cuCtxPushCurrent         = named("cuCtxPushCurrent_v2")
	cuCtxPopCurrent          = named("cuCtxPopCurrent_v2")
	cuMemGetInfo             = named("cuMemGetInfo_v2")
	cuMemAlloc               = named("cuMemAlloc_v2")
	cuMemFree                = named("cuMemFree_v2")
	cuMemHostAlloc           = named("cuMemHostAlloc")
	cuMemFreeHost            = named("cuMemFreeHost")
	cuMemcpyHtoD             = named("cuMemcpyHtoD_v2")
	cuMemcpyDtoH             = named("cuMemcpyDtoH_v2")
	cuMemcpyDtoD             = named("cuMemcpyDtoD_v2")
	cuMemcpyPeer             = named("cuMemcpyPeer")
	cuMemsetD8               = named("cuMemsetD8_v2")
	cuStreamCreate           = named("cuStreamCreate")
	cuStreamDestroy          = named("cuStreamDestroy_v2")
	cuStreamSynchronize      = named("cuStreamSynchronize")
	cuStreamWaitEvent        = named("cuStreamWaitEvent")
	cuEventCreate            = named("cuEventCreate")
	cuEventDestroy           = named("cuEventDestroy_v2")
	cuEventRecord            = named("cuEventRecord")
	cuEventQuery             = named("cuEventQuery")
	cuEventSynchronize       = named("cuEventSynchronize")
	cuMemAllocAsync          = named("?cuMemAllocAsync")
	cuMemFreeAsync           = named("?cuMemFreeAsync")
)

// result is a CUresult.
type result int32

// Results that mean something of their own here.
const (
	invalidValue result = 1
	outOfMemory  result = 2
	notReady     result = 600
	notSupported result = 801
)

// api is the loaded driver.
type api struct {
	library   string
	functions []uintptr
}

// load loads and starts the driver: the library that is named, or else the system's.
func load(library string) (*api, error) {
	paths := []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1"}
	if library != "" {
		paths = []string{library}
	}
	lib, err := driver.Open("CUDA driver", paths...)
	if err != nil {
		return nil, err
	}
	functions, err := lib.Bind(names)
	if err != nil {
		return nil, err
	}
	a := &api{lib.Path, functions}
	if r := a.call(cuInit, 0); r != 0 {
		return nil, a.failure(cuInit, r, library)
	}
	return a, nil
}

// has reports whether an optional function is there.
func (a *api) has(s symbol) bool { return a.functions[s] != 0 }

//go:uintptrescapes
func (a *api) call(s symbol, args ...uintptr) result {
	return result(int32(driver.Call(a.functions[s], args...)))
}

// failure is what a function answered, as an error: its status, its name and the
// driver's own words.
func (a *api) failure(s symbol, r result, detail string) error {
	st := status.Device
	switch r {
	case outOfMemory:
		st = status.OutOfMemory
	case invalidValue:
		st = status.InvalidArgument
	case notSupported:
		st = status.Unsupported
	}
	if detail != "" {
		detail = " (" + detail + ")"
	}
	return device.Errorf(st, "%s%s answered %s (%d): %s", name(s), detail, a.words(cuGetErrorName, r), r,
		a.words(cuGetErrorString, r))
}

// name is a symbol's name as the driver has it.
func name(s symbol) string {
	if text := names[s]; text[0] != '?' {
		return text
	}
	return names[s][1:]
}

// words asks the driver for a text about a result.
func (a *api) words(s symbol, r result) string {
	var text uintptr
	if a.call(s, uintptr(r), uintptr(unsafe.Pointer(&text))) != 0 || text == 0 {
		return "an unknown error"
	}
	return cString(text)
}

// cString copies a string of the driver's.
func cString(p uintptr) string {
	n := uintptr(0)
	for *layout.At[byte](p + n) != 0 {
		n++
	}
	return string(layout.Bytes(p, uint64(n)))
}

// version is the newest CUDA that the driver serves.
func (a *api) version() string {
	var v int32
	if a.call(cuDriverGetVersion, uintptr(unsafe.Pointer(&v))) != 0 {
		return "CUDA"
	}
	return fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10)
}
