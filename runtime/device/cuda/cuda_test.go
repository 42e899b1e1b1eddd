package cuda

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/device/driver"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// fake is a driver of testdata/fakecuda.c, and the functions that steer it.
type fake struct {
	path     string
	controls []uintptr
}

func compile(t testing.TB, flags ...string) *fake {
	path := devicetest.Compile(t, "testdata/fakecuda.c", flags...)
	lib, err := driver.Open("fake", path)
	require.NoError(t, err)
	controls, err := lib.Bind([]string{"fakecuda_fail", "fakecuda_outstanding", "fakecuda_pushed", "fakecuda_retained",
		"fakecuda_pending"})
	require.NoError(t, err)
	return &fake{path, controls}
}

// fail lets a call of a function answer r, counted from now on.
func (f *fake) fail(function string, call int, r result) {
	text := append([]byte(function), 0)
	driver.Call(f.controls[0], uintptr(unsafe.Pointer(&text[0])), uintptr(call), uintptr(r))
}

func (f *fake) outstanding() int   { return int(int32(driver.Call(f.controls[1]))) }
func (f *fake) pushed() int        { return int(int32(driver.Call(f.controls[2]))) }
func (f *fake) pending() int       { return int(int32(driver.Call(f.controls[4]))) }
func (f *fake) retained(i int) int { return int(int32(driver.Call(f.controls[3], uintptr(i)))) }

// open returns the devices of a new fake driver.
func open(t testing.TB, devices string, flags ...string) (*fake, []*Device) {
	t.Setenv("FAKECUDA_DEVICES", devices)
	f := compile(t, flags...)
	all, err := Open(f.path)
	require.NoError(t, err)
	return f, all
}

func TestConformFakeDriver(t *testing.T) {
	f, all := open(t, "2")
	require.Len(t, all, 2)
	for _, d := range all {
		devicetest.Conform(t, d)
	}
	require.Zero(t, f.pushed(), "contexts left current")
	require.Zero(t, f.outstanding())
}

// A driver from before CUDA 11.2 has no memory in the order of streams.
func TestConformOldDriver(t *testing.T) {
	_, all := open(t, "1", "-DcuMemAllocAsync=x1", "-DcuMemFreeAsync=x2")
	require.False(t, all[0].Info().StreamOrdered)
	devicetest.Conform(t, all[0])
}

func TestConformCUDA(t *testing.T) {
	all, err := Open("")
	if err != nil {
		t.Skipf("skip: %v", err)
	}
	for _, d := range all {
		t.Run(d.Name(), func(t *testing.T) { devicetest.Conform(t, d) })
	}
}

func TestInfo(t *testing.T) {
	f, all := open(t, "2")
	require.Equal(t, device.Info{Name: "cuda:1", Kind: device.CUDA, Description: "Fake Device 1", Driver: "CUDA 12.4",
		TotalBytes: 1 << 30, Alignment: 256, StreamOrdered: true}, all[1].Info())
	require.Zero(t, f.retained(1), "looking at a device takes no memory on it")
	free, total, err := all[1].Memory()
	require.NoError(t, err)
	require.EqualValues(t, 1<<30, free)
	require.EqualValues(t, 1<<30, total)
	require.Equal(t, []int{0, 1}, []int{f.retained(0), f.retained(1)})
}

func TestMissingLibrary(t *testing.T) {
	_, err := Open("/nowhere/libcuda.so.1")
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err,
		"no CUDA driver here; looked for /nowhere/libcuda.so.1: cannot open shared object file")
}

func TestMissingSymbol(t *testing.T) {
	f := compile(t, "-DcuMemAlloc_v2=x1", "-DcuMemcpyPeer=x2")
	_, err := Open(f.path)
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err, f.path+" lacks cuMemAlloc_v2, cuMemcpyPeer;")
}

func TestNoDevice(t *testing.T) {
	t.Setenv("FAKECUDA_DEVICES", "-1")
	_, err := Open(compile(t).path)
	require.Equal(t, status.Device, device.StatusOf(err))
	require.ErrorContains(t, err, "cuInit")
	require.ErrorContains(t, err, "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected")
}

// Whatever the driver refuses while devices are looked for is an error with its name.
func TestFailuresOfDiscovery(t *testing.T) {
	for _, name := range []string{"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
		"cuDeviceTotalMem_v2"} {
		f := compile(t)
		f.fail(name, 1, 999)
		_, err := Open(f.path)
		require.Equal(t, status.Device, device.StatusOf(err), name)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "answered an unknown error (999)")
	}
	f := compile(t)
	f.fail("cuDeviceGetAttribute", 1, invalidValue)
	all, err := Open(f.path)
	require.NoError(t, err)
	require.False(t, all[0].Info().StreamOrdered)
}

// use goes through everything that a device does; it returns the first failure and
// leaves nothing behind but what a failing return left.
func use(d, other *Device) error {
	steps := []func() error{
		func() error { _, _, err := d.Memory(); return err },
		func() error { return useBlocks(d, other) },
		func() error { return useStreams(d) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// held returns a block when use has failed; the driver no longer does then.
func held(a device.Allocator, block, n uintptr, failed *error) {
	if err := a.Deallocate(block, n); err == nil {
		return
	} else if *failed == nil {
		*failed = err
	}
	_ = a.Deallocate(block, n)
}

func useBlocks(d, other *Device) (err error) {
	block, err := d.Allocate(4096)
	if err != nil {
		return err
	}
	defer held(d, block, 4096, &err)
	there, err := other.Allocate(4096)
	if err != nil {
		return err
	}
	defer held(other, there, 4096, &err)
	pinned, err := d.Pinned().Allocate(4096)
	if err != nil {
		return err
	}
	defer held(d.Pinned(), pinned, 4096, &err)
	for _, step := range []error{
		d.FromHost(block, pinned, 4096), d.ToHost(pinned, block, 4096), d.Within(block, block+2048, 1024), d.Fill(block,
			1, 4096),
		device.Copy(other, there, d, block, 4096),
	} {
		if step != nil {
			return step
		}
	}
	return nil
}

func useStreams(d *Device) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	e, err := d.NewEvent()
	if err != nil {
		_ = d.CloseStream(s)
		return err
	}
	block, first := d.AllocateAsync(4096, s)
	if first == nil {
		if first = d.DeallocateAsync(block, 4096, s); first != nil {
			_ = d.DeallocateAsync(block, 4096, s)
		}
	}
	_, asked := d.Query(e)
	for _, err := range []error{asked, d.Record(e, s), d.Wait(s, e), d.Await(e), d.Synchronize(s)} {
		if first == nil {
			first = err
		}
	}
	for _, end := range []func() error{func() error {
		return d.CloseEvent(e)
	}, func() error { return d.CloseStream(s) }} {
		if err := end(); err != nil {
			if first == nil {
				first = err
			}
			_ = end()
		}
	}
	return first
}

// Every function of the driver fails at each of its calls: the status is that of the
// code, the text names function and code, no context stays current, and nothing
// stays behind.
func TestFailureOfEveryCall(t *testing.T) {
	f, all := open(t, "2")
	require.NoError(t, use(all[0], all[1]))
	for s := cuDevicePrimaryCtxRetain; s < symbol(len(names)); s++ {
		if s == cuCtxPopCurrent {
			continue // what was done stands
		}
		for call := 1; ; call++ {
			for _, d := range all {
				d.context = 0 // retained anew
			}
			f.fail(name(s), call, outOfMemory)
			err := use(all[0], all[1])
			f.fail("", 0, 0)
			require.Zero(t, f.pushed(), "%s, call %d: contexts left current", name(s), call)
			require.Zero(t, f.outstanding(), "%s, call %d: blocks left", name(s), call)
			for _, d := range all {
				blocks, _ := d.Outstanding()
				require.Zero(t, blocks, "%s, call %d", name(s), call)
			}
			if err == nil {
				require.Greater(t, call, 1, "%s is never called", name(s))
				break
			}
			require.Equal(t, status.OutOfMemory, device.StatusOf(err), "%v", err)
			require.ErrorContains(t, err, name(s)+" (cuda:")
			require.ErrorContains(t, err, "answered CUDA_ERROR_OUT_OF_MEMORY (2): out of memory")
		}
	}
}

func TestStatusOfCodes(t *testing.T) {
	f, all := open(t, "1")
	for code, st := range map[result]status.Status{
		invalidValue: status.InvalidArgument, outOfMemory: status.OutOfMemory, notSupported: status.Unsupported,
		notReady: status.Device, 700: status.Device,
	} {
		f.fail("cuMemAlloc_v2", 1, code)
		_, err := all[0].Allocate(64)
		require.Equal(t, st, device.StatusOf(err), "code %d", code)
	}
}

func TestOutOfMemory(t *testing.T) {
	_, all := open(t, "1")
	_, err := all[0].Allocate(1<<30 + 1)
	require.Equal(t, status.OutOfMemory, device.StatusOf(err))
	require.EqualError(t, err, "cuda:0 has no block of 1073741825 bytes; it has 1073741824 in all")
	block, err := all[0].Allocate(1 << 29)
	require.NoError(t, err)
	_, err = all[0].Allocate(1<<29 + 1)
	require.Equal(t, status.OutOfMemory, device.StatusOf(err))
	require.EqualError(t, err,
		"cuMemAlloc_v2 (cuda:0, 536870913 bytes) answered CUDA_ERROR_OUT_OF_MEMORY (2): out of memory")
	require.NoError(t, all[0].Deallocate(block, 1<<29))
}

func TestCopyBetweenDevices(t *testing.T) {
	f, all := open(t, "2")
	_, others := open(t, "1") // of another driver: by way of the CPU
	const n = 5 << 20
	in, out := bytes.Repeat([]byte("abcdefg"), n/7+1)[:n], make([]byte, n)
	processor := cpu.New(func() bool { return false })
	places := []device.Device{all[0], all[1], others[0], all[0], processor}
	blocks := make([]uintptr, len(places))
	for i, d := range places {
		var err error
		blocks[i], err = d.Allocate(n)
		require.NoError(t, err)
	}
	require.NoError(t, device.Copy(places[0], blocks[0], processor, devicetest.Host(t, in), n))
	for i := 1; i < len(places); i++ {
		require.NoError(t, device.Copy(places[i], blocks[i], places[i-1], blocks[i-1], n))
		require.Zero(t, f.pending(), "a copy that has returned has happened")
	}
	copy(out, layout.Bytes(blocks[len(blocks)-1], n))
	require.Equal(t, in, out)
	f.fail("cuMemcpyPeer", 1, 700)
	require.Equal(t, status.Device, device.StatusOf(device.Copy(all[1], blocks[1], all[0], blocks[0], n)))
	wrong := device.Copy(all[1], blocks[1]+1, all[0], blocks[0], n)
	require.Equal(t, status.InvalidArgument, device.StatusOf(wrong))
	for i, d := range places {
		require.NoError(t, d.Deallocate(blocks[i], n))
	}
}

// Memory that was returned to one stream is not given out in another before that is done.
func TestReuseInTheOrderOfStreams(t *testing.T) {
	f, all := open(t, "1")
	d := all[0]
	a, err := d.NewStream()
	require.NoError(t, err)
	b, err := d.NewStream()
	require.NoError(t, err)
	first, err := d.AllocateAsync(4096, a)
	require.NoError(t, err)
	require.NoError(t, d.DeallocateAsync(first, 4096, a))
	require.Equal(t, 1, f.outstanding(), "the driver keeps it for the stream")
	elsewhere, err := d.AllocateAsync(4096, b)
	require.NoError(t, err)
	require.NotEqual(t, first, elsewhere)
	again, err := d.AllocateAsync(4096, a)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NoError(t, d.DeallocateAsync(again, 4096, a))
	require.NoError(t, d.DeallocateAsync(elsewhere, 4096, b))
	require.NoError(t, d.CloseStream(a))
	require.NoError(t, d.CloseStream(b))
	require.Zero(t, f.outstanding())
}

// Nothing that has returned is still under way, whatever it is.
func TestCopiesHaveHappened(t *testing.T) {
	f, all := open(t, "1")
	d := all[0]
	block, err := d.Allocate(4096)
	require.NoError(t, err)
	memory := make([]byte, 2048)
	at := devicetest.Host(t, memory)
	for _, step := range []func() error{
		func() error { return d.FromHost(block, at, 2048) },
		func() error { return d.ToHost(at, block, 2048) },
		func() error { return d.Within(block, block+2048, 2048) },
		func() error { return d.Fill(block, 3, 4096) },
	} {
		require.NoError(t, step())
		require.Zero(t, f.pending())
	}
	require.NoError(t, d.Deallocate(block, 4096))
}

// The fake driver is busy when it is asked for the first time.
func TestEventsTellWhenWorkIsDone(t *testing.T) {
	f, all := open(t, "1")
	d := all[0]
	event, err := d.NewEvent()
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, d.Record(event, 0))
		for _, want := range []bool{false, true, true} {
			done, err := d.Query(event)
			require.NoError(t, err)
			require.Equal(t, want, done)
		}
	}
	f.fail("cuEventQuery", 1, 719)
	_, err = d.Query(event)
	require.ErrorContains(t, err, "cuEventQuery (cuda:0) answered")
	require.NoError(t, d.CloseEvent(event))
	require.Error(t, d.Record(event, 0), "the driver knows the event no more")
}

// A context that the calling thread has current is current again afterwards.
func TestTheProgramsContextStays(t *testing.T) {
	f, all := open(t, "2")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	theirs, err := all[1].primary()
	require.NoError(t, err)
	require.Zero(t, all[1].api.call(cuCtxPushCurrent, theirs))
	block, err := all[0].Allocate(64)
	require.NoError(t, err)
	require.NoError(t, all[0].Deallocate(block, 64))
	require.Equal(t, 1, f.pushed())
	var current uintptr
	require.Zero(t, all[1].api.call(cuCtxPopCurrent, uintptr(unsafe.Pointer(&current))))
	require.Equal(t, theirs, current)
}

func BenchmarkAllocateDeallocate(b *testing.B) {
	all, err := Open("")
	if err != nil {
		b.Skipf("skip: %v", err)
	}
	for _, d := range all {
		b.Run(d.Name(), func(b *testing.B) { devicetest.Benchmark(b, d) })
	}
}

// What the way through Go to a driver costs when the driver does next to nothing.
func BenchmarkFakeDriver(b *testing.B) {
	_, all := open(b, "1")
	devicetest.Benchmark(b, all[0])
}
