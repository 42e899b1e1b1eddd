// # Devices
//
// A device is a place for data: the CPU, a GPU, or whatever else a driver on
// this machine offers. Device 0 is the CPU, device 1 memory that other processes
// can map ("shared"). The runtime looks for the others
// when a program first asks about one, never when the library is loaded. They
// get the next numbers in this order: CUDA devices, OpenCL devices, Metal
// devices, each kind in the order of its driver. A number keeps its meaning
// until the process ends; across processes, use names. The library builds and
// starts without any driver. When a driver is missing, a request for its device
// fails, and the message says what the runtime looked for.
//
// An allocator obtains whole blocks from a device's driver. That is slow
// (microseconds, and some drivers wait for the device), so allocators are meant
// for pools, which take large blocks and hand out parts. The CPU cannot access
// the memory of most devices; host_access in tl_device_properties tells.
// tl_device_copy copies bytes between any two devices.
package main

/*
#include "../cshim/host/descriptors.h"

extern const char* tlc_device_text(const char* text, size_t length);
*/
import "C"

import (
	"sync"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/backends"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_device_kind lists the kinds of devices.
//
//	C: enum tl_device_kind {
//	    TL_DEVICE_KIND_CPU = 0,
//	    TL_DEVICE_KIND_CUDA = 1,
//	    TL_DEVICE_KIND_OPENCL = 2,
//	    TL_DEVICE_KIND_METAL = 3,
//	    TL_DEVICE_KIND_CUSTOM = 4, /* of the program's own */
//	    TL_DEVICE_KIND_SHARED = 5  /* memory of the CPU that other processes can map */
//	};
const _ = "tl_device_kind"

// tl_device_properties is filled in by tl_device_info. New versions add fields
// at the end. The strings are static.
//
//	C: typedef struct tl_device_properties {
//	    size_t struct_size;      /* in: sizeof(tl_device_properties); out: bytes filled in */
//	    const char* name;        /* "cuda:0", as TL_DEVICE and tl_device_by_name take it */
//	    const char* description; /* what the driver calls the device */
//	    const char* driver;      /* the driver and its version */
//	    uint64_t total_bytes;    /* of memory; 0 when the driver does not tell */
//	    size_t alignment;        /* of every block */
//	    int32_t device;          /* its number */
//	    int32_t kind;            /* a tl_device_kind */
//	    uint32_t host_access;    /* 1: the CPU may use its memory at its addresses */
//	    uint32_t stream_ordered; /* 1: memory can be taken and returned in the order of a stream */
//	} tl_device_properties;
const _ = "tl_device_properties"

// tl_device_allocate returns a new block of at least that many bytes, NULL on
// failure.
//
//	C: typedef void* (*tl_device_allocate)(void* ctx, size_t bytes);
const _ = "tl_device_allocate"

// tl_device_deallocate takes a block back, with the size that was requested.
//
//	C: typedef void (*tl_device_deallocate)(void* ctx, void* block, size_t bytes);
const _ = "tl_device_deallocate"

// tl_device_allocator provides the memory of a device. The runtime calls its
// functions on any thread that uses a pool over it, on several threads at a
// time. They must return normally. They cannot call this library, which answers
// TL_E_BUSY, with one exception: they may call the functions of an allocator of
// tl_device_allocator_for, so that a program can wrap one.
//
//	C: typedef struct tl_device_allocator {
//	    size_t struct_size;              /* sizeof(tl_device_allocator) */
//	    const char* name;                /* for messages; NULL is "unnamed" */
//	    size_t alignment;                /* of every block, a power of two */
//	    void* ctx;                       /* handed to both functions */
//	    tl_device_allocate allocate;     /* needed */
//	    tl_device_deallocate deallocate; /* needed */
//	} tl_device_allocator;
const _ = "tl_device_allocator"

// tl_device_move copies bytes between the CPU and a device, or inside one. It
// returns TL_OK when the bytes have arrived.
//
//	C: typedef int32_t (*tl_device_move)(void* ctx, void* to, const void* from, size_t bytes);
const _ = "tl_device_move"

// tl_device_set sets every byte to a value.
//
//	C: typedef int32_t (*tl_device_set)(void* ctx, void* to, int32_t value, size_t bytes);
const _ = "tl_device_set"

// tl_device_copier tells how to copy the memory of a program's own device, and
// gives properties of the device. Its functions are called like those of the
// allocator: on any thread, on several at a time. They must return normally and
// cannot call this library. If the CPU may use the memory at its addresses, no
// function is needed.
//
//	C: typedef struct tl_device_copier {
//	    size_t struct_size;        /* sizeof(tl_device_copier) */
//	    void* ctx;                 /* handed to all functions */
//	    uint64_t total_bytes;      /* of memory; 0: not known */
//	    uint32_t host_access;      /* 1: the CPU may use the memory at its addresses */
//	    uint32_t reserved;         /* 0 */
//	    tl_device_move from_host;  /* needed without host_access, as are the next two */
//	    tl_device_move to_host;
//	    tl_device_move within;     /* the ranges do not overlap */
//	    tl_device_set fill;        /* NULL: from_host does it */
//	} tl_device_copier;
const _ = "tl_device_copier"

// tl_device_count returns how many devices there are, the CPU and shared memory
// included. The first call looks for devices.
//
//	C: int32_t tl_device_count(void);
//
// Ownership: none.
// Returns: the number, at least 2; devices have the numbers below it. On
// failure 1.
// Errors: none.
// Cost: slow call; the first call loads the drivers, which may take a second; then constant.
// Fails: 1.
//
//export tlgo_device_count
func tlgo_device_count(c uintptr) int32 {
	return guarded(c, 1, func(*object.Context) int32 { return int32(len(devices().All())) })
}

// tl_device_info describes a device. Set struct_size first. The call uses no
// memory and creates no context on the device.
//
//	C: tl_status tl_device_info(int32_t device, tl_device_properties* out_properties);
//
// Ownership: the strings are static.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (NULL, or a struct_size below 16), TL_E_DEVICE
// (there is no such device).
// Cost: slow call; constant; may look for devices.
//
//export tlgo_device_info
func tlgo_device_info(c uintptr, id int32, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return deviceInfo(o, id, out) })
}

// tl_device_by_name returns the number of a device by its name: "cpu",
// "shared", "cuda:0", "opencl:1", "metal:0". A name without a number means 0. If the
// device does not exist, the message says which libraries the runtime looked
// for, which symbol was missing or what the driver answered.
//
//	C: tl_status tl_device_by_name(const char* name, int32_t* out_device);
//
// Ownership: the string is only read.
// Returns: TL_OK, or why no number was returned.
// Errors: TL_E_INVALID_ARGUMENT (NULL, or not the name of a device), TL_E_DEVICE.
// Cost: slow call; constant; may look for devices.
//
//export tlgo_device_by_name
func tlgo_device_by_name(c, name, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return deviceByName(o, name, out) })
}

// tl_device_default returns the number of the device that the option TL_DEVICE
// names.
//
//	C: tl_status tl_device_default(int32_t* out_device);
//
// Ownership: none.
// Returns: TL_OK, or why no number was returned.
// Errors: TL_E_INVALID_ARGUMENT (NULL), TL_E_DEVICE.
// Cost: slow call; constant; may look for devices.
//
//export tlgo_device_default
func tlgo_device_default(c, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return deviceDefault(o, out) })
}

// tl_device_memory_info returns the free and the total memory of a device at
// this moment. Both numbers are 0 when the device does not tell. On CUDA the
// call creates the device's context, which takes memory there.
//
//	C: tl_status tl_device_memory_info(int32_t device, uint64_t* out_free, uint64_t* out_total);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was measured.
// Errors: TL_E_INVALID_ARGUMENT (an output is NULL), TL_E_DEVICE,
// TL_E_OUT_OF_MEMORY (no memory for the context), TL_E_UNSUPPORTED (the driver
// says so).
// Cost: slow call; a call of the driver.
//
//export tlgo_device_memory_info
func tlgo_device_memory_info(c uintptr, id int32, free, total uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return deviceMemory(o, id, free, total) })
}

// tl_device_allocator_for returns the allocator of a device. Its functions may
// be called from any thread until the process ends. On failure allocate returns
// NULL and sets the thread's last status; for 0 bytes it returns NULL with
// TL_OK. When the block is not one of this allocator or has another size,
// deallocate sets the last status and does nothing. For NULL it does nothing,
// with TL_OK. The blocks of device 0 are zeroed pages.
//
//	C: const tl_device_allocator* tl_device_allocator_for(int32_t device);
//
// Ownership: the allocator is static; its blocks are the caller's until they
// are deallocated.
// Returns: the allocator, NULL when there is no such device.
// Errors: TL_E_DEVICE; and by its functions TL_E_OUT_OF_MEMORY,
// TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_INVALID_ARGUMENT (another
// size), TL_E_UNSUPPORTED (the driver says so).
// Cost: slow call; constant; may look for devices. Its functions: a call of the driver, 2 to 1000 microseconds.
//
//export tlgo_device_allocator_for
func tlgo_device_allocator_for(c uintptr, id int32) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return allocatorFor(o, id, false) })
}

// tl_device_pinned_allocator_for returns an allocator of CPU memory that is
// never paged out, so that a device copies to and from it at full speed and
// during other work. CUDA devices have such memory.
//
//	C: const tl_device_allocator* tl_device_pinned_allocator_for(int32_t device);
//
// Ownership: as with tl_device_allocator_for.
// Returns: the allocator, NULL on failure.
// Errors: TL_E_DEVICE (there is no such device), TL_E_UNSUPPORTED (it has no
// such memory).
// Cost: slow call; constant; may look for devices.
//
//export tlgo_device_pinned_allocator_for
func tlgo_device_pinned_allocator_for(c uintptr, id int32) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return allocatorFor(o, id, true) })
}

// tl_device_copy copies bytes between any two devices, the CPU being device 0.
// The copy is complete when the call returns. Both addresses may lie inside
// blocks. Within a device whose memory the CPU cannot use, the ranges must not
// overlap. When two devices have no direct path to each other, the copy goes
// through the CPU's memory. The call refuses CPU memory that cannot be read or
// written before it copies the first byte, and does not fault.
//
//	C: tl_status tl_device_copy(int32_t to_device, void* to, int32_t from_device, const void* from, size_t bytes);
//
// Ownership: none.
// Returns: TL_OK, also for 0 bytes, or why the copy was not completed.
// Errors: TL_E_INVALID_ARGUMENT (no memory at an address, or fewer bytes than
// requested), TL_E_UNKNOWN_POINTER (not in a block, for a device without
// addresses of its own), TL_E_DEVICE (no such device, or its driver failed),
// TL_E_OUT_OF_MEMORY, TL_E_UNSUPPORTED (the driver says so).
// Cost: slow call; that of the copy; 1 to 20 microseconds for few bytes.
//
//export tlgo_device_copy
func tlgo_device_copy(c uintptr, target int32, to uintptr, source int32, from, bytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return deviceStatus(o, devices().Copy(target, to, source, from, bytes))
	})
}

// tl_device_fill sets bytes of a device to a value. The memory is filled when
// the call returns. The call refuses memory that cannot be written, as
// tl_device_copy does.
//
//	C: tl_status tl_device_fill(int32_t device, void* to, uint8_t value, size_t bytes);
//
// Ownership: none.
// Returns: TL_OK, also for 0 bytes, or why the memory was not filled.
// Errors: TL_E_INVALID_ARGUMENT, TL_E_UNKNOWN_POINTER, TL_E_DEVICE,
// TL_E_OUT_OF_MEMORY, TL_E_UNSUPPORTED, as with tl_device_copy.
// Cost: slow call; that of writing the bytes; 1 to 20 microseconds for few of them.
//
//export tlgo_device_fill
func tlgo_device_fill(c uintptr, id int32, to uintptr, value uint8, bytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return fillDevice(o, id, to, value, bytes) })
}

// tl_device_register adds a device of the program's own. Tensors, pools and
// copies accept its number like any other. The device has the name of the
// allocator: a family that is not built in and a number, for example "npu:0".
// Addresses of its memory are 65536 or more. Without a copier the device can
// have tensors, but they cannot be copied.
//
//	C: tl_status tl_device_register(const tl_device_allocator* allocator, const tl_device_copier* copier, int32_t* out_device);
//
// Ownership: both structs are copied; what they refer to has to stay usable until the
// process ends.
// Returns: TL_OK and the number in *out_device, or why no device was added.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a struct_size that is too small, a function that
// is missing, an alignment that is not a power of two, a name that a device
// cannot have), TL_E_ALREADY_REGISTERED (a device has that name already),
// TL_E_LIMIT (256 devices).
// Cost: slow call; constant.
//
//export tlgo_device_register
func tlgo_device_register(c, allocator, copier, outDevice uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return registerDevice(o, allocator, copier, outDevice)
	})
}

// devices are those of this process; the first call about a device makes them.
var devices = sync.OnceValue(func() *device.Set {
	return backends.New(backends.Options{
		HugePages:     func() bool { return options.Word("TL_HUGE_PAGES") == "1" },
		CUDALibrary:   options.Word("TL_CUDA_LIBRARY"),
		OpenCLLibrary: options.Word("TL_OPENCL_LIBRARY"),
	})
})

// ownFamilies are those of the devices that the program has registered. Options are checked before there is a set of
// devices, which is made by them.
var ownFamilies sync.Map

// A family of which the program has a device is no misspelling of another one.
func init() {
	options.Registered = func(family string) bool {
		_, own := ownFamilies.Load(family)
		return own
	}
}

// withStandardFilled runs body while no descriptor of standard input, output or error is free.
func withStandardFilled(body func()) {
	var filled C.tlc_filled_descriptors
	C.tlc_fill_standard_descriptors(&filled)
	defer C.tlc_close_filled_descriptors(&filled)
	body()
}

// deviceStatus records why a call about a device failed.
func deviceStatus(o *object.Context, err error) status.Status {
	if err == nil {
		return status.OK
	}
	return o.Failf(device.StatusOf(err), "%v", err)
}

func deviceInfo(o *object.Context, id int32, out uintptr) status.Status {
	d, err := devices().At(id)
	if err != nil {
		return deviceStatus(o, err)
	}
	info, name := d.Info(), kept(d.Name())
	return fillStruct(o, out, "tl_device_properties", func() tl_device_properties {
		return tl_device_properties{
			Name:          name,
			Description:   kept(info.Description),
			Driver:        kept(info.Driver),
			TotalBytes:    info.TotalBytes,
			Alignment:     info.Alignment,
			Device:        id,
			Kind:          int32(info.Kind),
			HostAccess:    word(info.HostAccess),
			StreamOrdered: word(info.StreamOrdered),
		}
	})
}

func word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func deviceByName(o *object.Context, name, out uintptr) status.Status {
	wanted, st := textOf(o, name, "name")
	if st != status.OK {
		return st
	}
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_device is NULL")
	}
	return storeDevice(o, wanted, out)
}

func deviceDefault(o *object.Context, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_device is NULL")
	}
	return storeDevice(o, options.Word("TL_DEVICE"), out)
}

func storeDevice(o *object.Context, name string, out uintptr) status.Status {
	id, err := devices().ByName(name)
	if err == nil {
		store(out, id)
	}
	return deviceStatus(o, err)
}

func deviceMemory(o *object.Context, id int32, outFree, outTotal uintptr) status.Status {
	if !usable(outFree) || !usable(outTotal) {
		return fail(o, status.InvalidArgument, "out_free and out_total are both needed")
	}
	d, err := devices().At(id)
	if err != nil {
		return deviceStatus(o, err)
	}
	free, total, err := d.Memory()
	if err == nil {
		store(outFree, free)
		store(outTotal, total)
	}
	return deviceStatus(o, err)
}

func fillDevice(o *object.Context, id int32, to uintptr, value uint8, bytes uintptr) status.Status {
	d, err := devices().At(id)
	if err == nil {
		err = device.Fill(d, to, value, bytes)
	}
	return deviceStatus(o, err)
}

var keeping sync.Mutex // guards the strings that C keeps

// kept returns the address of a copy in C's memory that is never freed.
func kept(text string) uintptr {
	keeping.Lock()
	defer keeping.Unlock()
	bytes := []byte(text)
	at := C.tlc_device_text((*C.char)(unsafe.Pointer(unsafe.SliceData(bytes))), C.size_t(len(bytes)))
	return uintptr(unsafe.Pointer(at))
}
