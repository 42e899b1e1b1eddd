// Package opencl is the memory of OpenCL devices, on the CPU too. The loader of
// drivers (ICD) is loaded when its devices are first wanted.
package opencl

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/driver"
	"tlruntime/runtime/status"
)

// symbol is a function of OpenCL.
type symbol int

// names are those of the library. A ? marks what version 1.2 lacks.
var names []string

func named(name string) symbol {
	names = append(names, name)
	return symbol(len(names) - 1)
}

var (
	clGetPlatformIDs     = named("clGetPlatformIDs")
	clGetPlatformInfo    = named("clGetPlatformInfo")
	clGetDeviceIDs       = named("clGetDeviceIDs")
	clGetDeviceInfo      = named("clGetDeviceInfo")
	clCreateContext      = named("clCreateContext")
	clReleaseContext     = named("clReleaseContext")
	clCreateCommandQueue = named("clCreateCommandQueue")
	clCreateBuffer       = named("clCreateBuffer")
	clReleaseMemObject   = named("clReleaseMemObject")
	clEnqueueReadBuffer  = named("clEnqueueReadBuffer")
	clEnqueueWriteBuffer = named("clEnqueueWriteBuffer")
	clEnqueueCopyBuffer  = named("clEnqueueCopyBuffer")
	clEnqueueFillBuffer  = named("clEnqueueFillBuffer")
	clFinish             = named("clFinish")
	clSVMAlloc           = named("?clSVMAlloc")
	clSVMFree            = named("?clSVMFree")
	clEnqueueSVMMemcpy   = named("?clEnqueueSVMMemcpy")
	clEnqueueSVMMemFill  = named("?clEnqueueSVMMemFill")
)

// api is the loaded library.
type api struct {
	library   string
	functions []uintptr
}

// load loads the library that is named, or else the system's.
func load(library string) (*api, error) {
	paths := []string{"libOpenCL.so.1", "libOpenCL.so", "/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	if library != "" {
		paths = []string{library}
	}
	lib, err := driver.Open("OpenCL library", paths...)
	if err != nil {
		return nil, err
	}
	functions, err := lib.Bind(names)
	if err != nil {
		return nil, err
	}
	return &api{lib.Path, functions}, nil
}

// hasSVM reports whether the library has the functions of shared virtual memory.
func (a *api) hasSVM() bool {
	for s := clSVMAlloc; s <= clEnqueueSVMMemFill; s++ {
		if a.functions[s] == 0 {
			return false
		}
	}
	return true
}

// call calls a function that returns an error code.
//
//go:uintptrescapes
func (a *api) call(s symbol, args ...uintptr) code {
	return code(int32(driver.Call(a.functions[s], args...)))
}

// pointer calls a function that returns an address or a handle.
//
//go:uintptrescapes
func (a *api) pointer(s symbol, args ...uintptr) uintptr { return driver.Call(a.functions[s], args...) }

// code is what a function of OpenCL answers.
type code int32

// Codes that mean something of their own here.
const (
	memObjectAllocationFailure code = -4
	outOfResources             code = -5
	outOfHostMemory            code = -6
	invalidValue               code = -30
	invalidBufferSize          code = -61
)

var words = map[code]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE",
	-5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY", -8: "CL_MEM_COPY_OVERLAP",
	-13: "CL_MISALIGNED_SUB_BUFFER_OFFSET", -14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-30: "CL_INVALID_VALUE", -31: "CL_INVALID_DEVICE_TYPE", -32: "CL_INVALID_PLATFORM", -33: "CL_INVALID_DEVICE",
	-34: "CL_INVALID_CONTEXT", -35: "CL_INVALID_QUEUE_PROPERTIES", -36: "CL_INVALID_COMMAND_QUEUE",
	-37: "CL_INVALID_HOST_PTR", -38: "CL_INVALID_MEM_OBJECT", -57: "CL_INVALID_EVENT_WAIT_LIST",
	-58: "CL_INVALID_EVENT", -59: "CL_INVALID_OPERATION", -61: "CL_INVALID_BUFFER_SIZE",
	-64: "CL_INVALID_PROPERTY", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
}

// failure is what a function answered, as an error.
func failure(s symbol, c code, detail string) error {
	st := status.Device
	switch c {
	case memObjectAllocationFailure, outOfResources, outOfHostMemory, invalidBufferSize:
		st = status.OutOfMemory
	case invalidValue:
		st = status.InvalidArgument
	}
	text := words[c]
	if text == "" {
		text = "an error of the driver's own"
	}
	return device.Errorf(st, "%s (%s) answered %s (%d)", name(s), detail, text, c)
}

func name(s symbol) string { return strings.TrimPrefix(names[s], "?") }

// platforms returns the handles of all platforms.
func (a *api) platforms() ([]uintptr, error) {
	return a.all(clGetPlatformIDs, func(room []uintptr, count *uint32) code {
		return a.call(clGetPlatformIDs, uintptr(len(room)), uintptr(unsafe.Pointer(unsafe.SliceData(room))),
			uintptr(unsafe.Pointer(count)))
	})
}

// devices returns the handles of a platform's devices.
func (a *api) devices(platform uintptr) ([]uintptr, error) {
	return a.all(clGetDeviceIDs, func(room []uintptr, count *uint32) code {
		return a.call(clGetDeviceIDs, platform, allDevices, uintptr(len(room)),
			uintptr(unsafe.Pointer(unsafe.SliceData(room))), uintptr(unsafe.Pointer(count)))
	})
}

// all asks how many handles there are, and then for them.
func (a *api) all(s symbol, ask func(room []uintptr, count *uint32) code) ([]uintptr, error) {
	var count uint32
	if c := ask(nil, &count); c != 0 {
		return nil, failure(s, c, a.library)
	}
	room := make([]uintptr, count)
	if count == 0 {
		return room, nil
	}
	if c := ask(room, &count); c != 0 {
		return nil, failure(s, c, a.library)
	}
	return room, nil
}

// text asks for a property that is a string, "" where it is not told.
func (a *api) text(s symbol, handle, property uintptr) string {
	var buffer [256]byte
	if a.call(s, handle, property, uintptr(len(buffer)), uintptr(unsafe.Pointer(&buffer)), 0) != 0 {
		return ""
	}
	end := bytes.IndexByte(buffer[:], 0)
	return string(bytes.TrimSpace(buffer[:max(end, 0)]))
}

// number asks for a property of a device that is one integer of the size of T.
func number[T uint32 | uint64](a *api, handle, property uintptr) (T, error) {
	var value T
	c := a.call(clGetDeviceInfo, handle, property, unsafe.Sizeof(value), uintptr(unsafe.Pointer(&value)), 0)
	if c != 0 {
		return 0, failure(clGetDeviceInfo, c, fmt.Sprintf("property %#x", property))
	}
	return value, nil
}
