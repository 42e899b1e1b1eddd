package opencl

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/device/driver"
	"tlruntime/runtime/status"
)

// fake is a library of testdata/fakeopencl.c, and the functions that steer it.
type fake struct {
	path     string
	controls []uintptr
}

func compile(t testing.TB, flags ...string) *fake {
	path := devicetest.Compile(t, "testdata/fakeopencl.c", flags...)
	lib, err := driver.Open("fake", path)
	require.NoError(t, err)
	controls, err := lib.Bind([]string{"fakecl_fail", "fakecl_outstanding", "fakecl_pending", "fakecl_contexts"})
	require.NoError(t, err)
	return &fake{path, controls}
}

func (f *fake) fail(function string, call int, c code) {
	text := append([]byte(function), 0)
	driver.Call(f.controls[0], uintptr(unsafe.Pointer(&text[0])), uintptr(call), uintptr(c))
}

func (f *fake) count(control int) int { return int(int32(driver.Call(f.controls[control]))) }
func (f *fake) outstanding() int      { return f.count(1) }
func (f *fake) pending() int          { return f.count(2) }
func (f *fake) contexts() int         { return f.count(3) }

// kinds are the settings of FAKECL_SVM, and whether the CPU can use the memory then.
var kinds = []struct {
	name, svm string
	host      bool
}{{"FineGrained", "3", true}, {"CoarseGrained", "1", false}, {"Buffers", "0", false}}

func TestConformFakeLibrary(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Setenv("FAKECL_SVM", k.svm)
			t.Setenv("FAKECL_DEVICES", "2")
			f := compile(t)
			all, err := Open(Options{Library: f.path})
			require.NoError(t, err)
			require.Len(t, all, 2)
			for _, d := range all {
				require.Equal(t, k.host, d.Info().HostAccess)
				devicetest.Conform(t, d)
			}
			require.Zero(t, f.outstanding())
			require.Zero(t, f.pending(), "commands that nobody waited for")
		})
	}
}

// A library of version 1.2 has no shared virtual memory.
func TestConformOldLibrary(t *testing.T) {
	all, err := Open(Options{Library: compile(t, "-DclSVMAlloc=x1").path})
	require.NoError(t, err)
	require.IsType(t, bufferMemory{}, all[0].memory)
	devicetest.Conform(t, all[0])
}

// The machine's own devices, each with both kinds of memory.
func TestConformOpenCL(t *testing.T) {
	for _, o := range []Options{{}, {Buffers: true}} {
		all, err := Open(o)
		if err != nil {
			t.Skipf("skip: %v", err)
		}
		for _, d := range all {
			name := d.Name()
			if o.Buffers {
				name += "/buffers"
				require.IsType(t, bufferMemory{}, d.memory)
			}
			t.Run(name, func(t *testing.T) { devicetest.Conform(t, d) })
		}
	}
}

func TestInfo(t *testing.T) {
	f := compile(t)
	all, err := Open(Options{Library: f.path})
	require.NoError(t, err)
	require.Equal(t, device.Info{Name: "opencl:0", Kind: device.OpenCL, Description: "Fake Device",
		Driver: "OpenCL 3.0, Fake Platform 1.5", TotalBytes: 1 << 30, Alignment: 128, HostAccess: true}, all[0].Info())
	require.Zero(t, f.contexts(), "looking at a device takes nothing of it")
	block, err := all[0].Allocate(1 << 20)
	require.NoError(t, err)
	free, total, err := all[0].Memory()
	require.NoError(t, err)
	require.EqualValues(t, 1<<30, total)
	require.EqualValues(t, 1<<30-1<<20, free)
	require.NoError(t, all[0].Deallocate(block, 1<<20))
}

func TestMissing(t *testing.T) {
	_, err := Open(Options{Library: "/nowhere/libOpenCL.so.1"})
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err, "no OpenCL library here; looked for /nowhere/libOpenCL.so.1: cannot open")

	f := compile(t, "-DclCreateBuffer=x1", "-DclFinish=x2")
	_, err = Open(Options{Library: f.path})
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err, f.path+" lacks clCreateBuffer, clFinish;")

	t.Setenv("FAKECL_DEVICES", "0")
	_, err = Open(Options{Library: compile(t).path})
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err, "clGetDeviceIDs")
	require.ErrorContains(t, err, "answered CL_DEVICE_NOT_FOUND (-1)")
}

// use goes through everything that a device does and returns the first failure.
func use(t *testing.T, o Options) (err error) {
	all, err := Open(o)
	if err != nil {
		return err
	}
	d := all[0]
	block, err := d.Allocate(4096)
	if err != nil {
		return err
	}
	defer func() {
		late := d.Deallocate(block, 4096)
		if late != nil {
			_ = d.Deallocate(block, 4096)
		}
		if err == nil {
			err = late
		}
		if blocks, _ := d.Outstanding(); blocks != 0 && err == nil {
			err = device.Errorf(status.Internal, "%d blocks left", blocks)
		}
	}()
	memory := make([]byte, 4096)
	at := devicetest.Host(t, memory)
	for _, step := range []func() error{
		func() error { return d.FromHost(block, at, 4096) },
		func() error { return d.ToHost(at, block, 4096) },
		func() error { return d.Within(block, block+2048, 1024) },
		func() error { return d.Fill(block, 1, 4096) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// silent are the functions whose failure is no error: texts that are missing, and
// what returns nothing.
var silent = map[symbol]bool{clGetPlatformInfo: true, clReleaseContext: true, clSVMFree: true}

// Every function of the library fails at each of its calls: the status is that of the
// code, the text names the function, nothing stays behind.
func TestFailureOfEveryCall(t *testing.T) {
	for _, k := range kinds {
		t.Setenv("FAKECL_SVM", k.svm)
		f := compile(t)
		require.NoError(t, use(t, Options{Library: f.path}))
		for s := range symbol(len(names)) {
			for call := 1; call < 12; call++ {
				contexts := f.contexts()
				f.fail(name(s), call, outOfResources)
				err := use(t, Options{Library: f.path})
				f.fail("", 0, 0)
				require.Zero(t, f.outstanding(), "%s, call %d: blocks left", name(s), call)
				if err == nil {
					continue // it is not called so often, or it may fail
				}
				require.False(t, silent[s], "%s: %v", name(s), err)
				require.Equal(t, status.OutOfMemory, device.StatusOf(err), "%v", err)
				require.ErrorContains(t, err, name(s)+" (")
				if s == clCreateCommandQueue {
					require.Equal(t, contexts, f.contexts(), "the context goes with the queue that was not made")
				}
			}
		}
	}
}

// What each kind of memory must call: a failure of it is seen.
func TestFailuresAreSeen(t *testing.T) {
	calls := map[string][]symbol{
		"3": {clGetPlatformIDs, clGetDeviceIDs, clGetDeviceInfo, clCreateContext, clCreateCommandQueue, clFinish,
			clSVMAlloc, clEnqueueSVMMemcpy, clEnqueueSVMMemFill},
		"0": {clCreateBuffer, clReleaseMemObject, clEnqueueReadBuffer, clEnqueueWriteBuffer, clEnqueueCopyBuffer,
			clEnqueueFillBuffer},
	}
	for svm, all := range calls {
		t.Setenv("FAKECL_SVM", svm)
		f := compile(t)
		for _, s := range all {
			f.fail(name(s), 1, invalidValue)
			err := use(t, Options{Library: f.path})
			require.ErrorContains(t, err, name(s))
			if s != clSVMAlloc { // which tells no reason
				require.Equal(t, status.InvalidArgument, device.StatusOf(err))
				require.ErrorContains(t, err, "answered CL_INVALID_VALUE (-30)")
			}
		}
	}
}

func TestLargestBlock(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: fills gigabytes")
	}
	for _, k := range kinds {
		t.Setenv("FAKECL_SVM", k.svm)
		all, err := Open(Options{Library: compile(t).path})
		require.NoError(t, err)
		_, err = all[0].Allocate(1<<29 + 1)
		require.EqualError(t, err, "opencl:0 has no block of 536870913 bytes; its largest is 536870912")
		first, err := all[0].Allocate(1 << 29)
		require.NoError(t, err)
		second, err := all[0].Allocate(1 << 29)
		require.NoError(t, err)
		_, err = all[0].Allocate(1)
		require.Equal(t, status.OutOfMemory, device.StatusOf(err))
		require.NoError(t, all[0].Deallocate(first, 1<<29))
		require.NoError(t, all[0].Deallocate(second, 1<<29))
	}
}

// A copy that leaves its buffer is refused before the library sees it, also into the
// next one.
func TestCopyStaysInItsBuffer(t *testing.T) {
	t.Setenv("FAKECL_SVM", "0")
	all, err := Open(Options{Library: compile(t).path})
	require.NoError(t, err)
	d := all[0]
	a, _ := d.Allocate(4096)
	b, _ := d.Allocate(4096)
	require.Equal(t, status.InvalidArgument, device.StatusOf(d.Within(a+1, b, 4096)))
	require.Equal(t, status.InvalidArgument, device.StatusOf(d.Within(a, b+1, 4096)))
	require.Equal(t, status.InvalidArgument, device.StatusOf(d.Fill(b+4000, 0, 97)))
	require.Equal(t, status.UnknownPointer, device.StatusOf(d.Fill(a+4096, 0, 1)), "the end of a belongs to nobody")
	require.NoError(t, d.Deallocate(a, 4096))
	require.Equal(t, status.UnknownPointer, device.StatusOf(d.Fill(a, 0, 1)))
	require.NoError(t, d.Deallocate(b, 4096))
}

// A buffer that no address is left for goes back.
func TestNoAddressIsLeft(t *testing.T) {
	t.Setenv("FAKECL_SVM", "0")
	f := compile(t)
	all, err := Open(Options{Library: f.path})
	require.NoError(t, err)
	d := all[0]
	d.Add(device.Block{Start: d.places.first, Bytes: placesBytes - 2*granule})
	_, err = d.Allocate(4096)
	require.Equal(t, status.OutOfMemory, device.StatusOf(err))
	require.ErrorContains(t, err, "no room for 4096 bytes in the addresses of buffers")
	require.Zero(t, f.outstanding())
}

func TestBufferOfAnAddress(t *testing.T) {
	for _, k := range kinds {
		t.Setenv("FAKECL_SVM", k.svm)
		all, err := Open(Options{Library: compile(t).path})
		require.NoError(t, err)
		d := all[0]
		block, err := d.Allocate(4096)
		require.NoError(t, err)
		buffer, offset, err := d.Buffer(block + 100)
		if k.svm == "0" {
			require.NoError(t, err)
			require.NotZero(t, buffer)
			require.EqualValues(t, 100, offset)
		} else {
			require.Equal(t, status.Unsupported, device.StatusOf(err))
		}
		_, _, err = d.Buffer(block + 4096)
		require.Equal(t, status.UnknownPointer, device.StatusOf(err))
		require.NoError(t, d.Deallocate(block, 4096))
	}
}

func BenchmarkAllocateDeallocate(b *testing.B) {
	for _, o := range []Options{{}, {Buffers: true}} {
		all, err := Open(o)
		if err != nil {
			b.Skipf("skip: %v", err)
		}
		for _, d := range all {
			b.Run(d.Name()+"/"+memoryName(d), func(b *testing.B) { devicetest.Benchmark(b, d) })
		}
	}
}

// memoryName says which kind of memory a device is used with.
func memoryName(d *Device) string {
	if _, buffers := d.memory.(bufferMemory); buffers {
		return "buffers"
	}
	return "shared"
}
