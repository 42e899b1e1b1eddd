package device_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/config"
	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/status"
)

func processor() device.Device { return cpu.New(func() bool { return false }) }

// found is a driver that finds so many devices, and counts how often it is asked.
func found(kind device.Kind, n int, asked *atomic.Int32) device.Driver {
	return device.Driver{Kind: kind, Discover: func() (all []device.Device, err error) {
		asked.Add(1)
		for i := range n {
			all = append(all, devicetest.NewFake(fmt.Sprintf("%s:%d", kind, i), 1<<24))
		}
		return all, nil
	}}
}

func missing(kind device.Kind, why string) device.Driver {
	return device.Driver{Kind: kind, Discover: func() ([]device.Device, error) {
		return nil, device.Errorf(status.Device, "%s", why)
	}}
}

func TestStandardDescriptorsAreFilledForDrivers(t *testing.T) {
	kept, inside, times := device.WithStandardFilled, false, 0
	defer func() { device.WithStandardFilled = kept }()
	device.WithStandardFilled = func(body func()) {
		inside, times = true, times+1
		body()
		inside = false
	}
	opens := device.Driver{Kind: device.CUDA, Discover: func() ([]device.Device, error) {
		require.True(t, inside)
		return nil, nil
	}}
	device.NewSet([]device.Device{processor()}, opens, opens).All()
	require.Equal(t, 2, times)
}

func TestDiscoveryIsLazyAndOnce(t *testing.T) {
	var asked atomic.Int32
	s := device.NewSet([]device.Device{processor()}, found(device.CUDA, 2, &asked), found(device.OpenCL, 1, &asked))
	_, err := s.At(0)
	require.NoError(t, err)
	id, err := s.ByName("cpu")
	require.NoError(t, err)
	require.Zero(t, id)
	for _, wrong := range []int32{-1, -1 << 31, 256, 1 << 30} {
		_, err = s.At(wrong)
		require.Equal(t, status.Device, device.StatusOf(err))
	}
	_, err = s.ByName("no name")
	require.Equal(t, status.InvalidArgument, device.StatusOf(err))
	require.Zero(t, asked.Load(), "nothing but the CPU was wanted")

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { s.All() })
	}
	group.Wait()
	require.EqualValues(t, 2, asked.Load())
	for id, name := range []string{"cpu", "cuda:0", "cuda:1", "opencl:0"} {
		d, err := s.At(int32(id))
		require.NoError(t, err)
		require.Equal(t, name, d.Name())
		again, err := s.ByName(name)
		require.NoError(t, err)
		require.EqualValues(t, id, again)
	}
	_, err = s.At(4)
	require.EqualError(t, err, "there is no device 4; known devices: cpu, cuda:0, cuda:1, opencl:0")
}

func TestMissingDevicesSayWhy(t *testing.T) {
	var asked atomic.Int32
	s := device.NewSet([]device.Device{processor()}, missing(device.CUDA, "no CUDA driver here; looked for libcuda.so.1"),
		found(device.OpenCL, 1, &asked))
	_, err := s.ByName("cuda")
	require.EqualError(t, err, "cuda:0: no CUDA driver here; looked for libcuda.so.1")
	_, err = s.ByName("opencl:1")
	require.EqualError(t, err, "there is no device opencl:1; known devices: cpu, opencl:0")
	id, err := s.ByName("opencl")
	require.NoError(t, err)
	require.EqualValues(t, 1, id)
}

func TestRegister(t *testing.T) {
	var asked atomic.Int32
	s := device.NewSet([]device.Device{processor()}, found(device.CUDA, 1, &asked))
	id, err := s.Register(devicetest.NewFake("npu:0", 1<<20))
	require.NoError(t, err)
	require.EqualValues(t, 1, id)
	_, err = s.Register(devicetest.NewFake("npu:0", 1<<20))
	require.Equal(t, status.AlreadyRegistered, device.StatusOf(err))
	for _, name := range []string{"cuda:7", "cpu:1", "npu", "NPU:0", ""} {
		_, err = s.Register(devicetest.NewFake(name, 1<<20))
		require.Equal(t, status.InvalidArgument, device.StatusOf(err), "%q", name)
	}
	id, err = s.ByName("npu")
	require.NoError(t, err)
	require.EqualValues(t, 1, id, "found without asking drivers")
	require.Zero(t, asked.Load())
	cuda, err := s.ByName("cuda")
	require.NoError(t, err)
	require.EqualValues(t, 2, cuda)
	for i := len(s.Known()); i < device.MaxDevices; i++ {
		_, err = s.Register(devicetest.NewFake(fmt.Sprintf("npu:%d", i), 1<<20))
		require.NoError(t, err)
	}
	_, err = s.Register(devicetest.NewFake("last:0", 1<<20))
	require.Equal(t, status.Limit, device.StatusOf(err))
}

func TestMoreDevicesThanNumbers(t *testing.T) {
	var asked atomic.Int32
	s := device.NewSet([]device.Device{processor()}, found(device.CUDA, 300, &asked))
	require.Len(t, s.All(), device.MaxDevices)
}

func TestCustom(t *testing.T) {
	memory := processor()
	shared := device.NewOwn(device.Own{Allocator: named{memory, "npu:0"}, HostAccess: true})
	devicetest.Conform(t, shared)
	closed := device.NewOwn(device.Own{Allocator: named{memory, "npu:1"}})
	block, err := closed.Allocate(64)
	require.NoError(t, err)
	for _, err := range []error{
		device.Fill(closed, block, 1, 64), device.Copy(closed, block, closed, block+32, 32),
		device.Copy(closed, block, memory, block, 32), device.Copy(memory, block, closed, block, 32),
	} {
		require.Equal(t, status.Unsupported, device.StatusOf(err))
	}
	require.NoError(t, closed.Deallocate(block, 64))
}

// named is an allocator under another name.
type named struct {
	device.Allocator
	name string
}

func (n named) Name() string { return n.name }

// deep is a device whose functions need so much stack that it moves. Others write where it was.
type deep struct{ *devicetest.Fake }

func fillStack(n int) (sum int) {
	var room [512]byte
	for i := range room {
		room[i] = byte(i + n)
	}
	if n > 0 {
		sum = fillStack(n - 1)
	}
	return sum + int(room[n%len(room)])
}

func moveStack() {
	fillStack(1000)
	var all sync.WaitGroup
	for depth := range 200 {
		all.Go(func() { fillStack(depth % 20) })
	}
	all.Wait()
}

func (d deep) ToHost(to, from, n uintptr) error {
	defer moveStack()
	return d.Fake.ToHost(to, from, n)
}

func (d deep) FromHost(to, from, n uintptr) error {
	moveStack()
	return d.Fake.FromHost(to, from, n)
}

// A few bytes on their way between devices do not lie in a stack, which moves.
func TestAFewBytesThroughTheCPU(t *testing.T) {
	a, b := deep{devicetest.NewFake("a:0", 1<<10)}, deep{devicetest.NewFake("b:0", 1<<10)}
	from, err := a.Allocate(8)
	require.NoError(t, err)
	to, err := b.Allocate(8)
	require.NoError(t, err)
	for _, step := range []struct {
		run    func() error
		expect string
	}{
		{func() error { return a.FromHost(from, devicetest.Host(t, []byte("12345678")), 8) }, ""},
		{func() error { return device.Copy(b, to, a, from, 8) }, "12345678"},
		{func() error { return device.FillByCopies(b.FromHost, to, 'x', 8) }, "xxxxxxxx"},
	} {
		done := make(chan error)
		go func() { done <- step.run() }() // with a small stack
		require.NoError(t, <-done)
		out := make([]byte, 8)
		require.NoError(t, b.ToHost(devicetest.Host(t, out), to, 8))
		if step.expect != "" {
			require.Equal(t, step.expect, string(out))
		}
	}
	require.NoError(t, a.Deallocate(from, 8))
	require.NoError(t, b.Deallocate(to, 8))
}

// Between devices without a way to each other, piece by piece: the bytes arrive, and
// a failure of any piece is told.
func TestCopyThroughTheCPU(t *testing.T) {
	const n = 9<<20 + 5
	a, b := devicetest.NewFake("a:0", 1<<24), devicetest.NewFake("b:0", 1<<24)
	from, err := a.Allocate(n)
	require.NoError(t, err)
	to, err := b.Allocate(n)
	require.NoError(t, err)
	in, out := make([]byte, n), make([]byte, n)
	for i := range in {
		in[i] = byte(i ^ i>>8 ^ i>>16)
	}
	s := device.NewSet([]device.Device{processor()})
	for _, d := range []device.Device{a, b} {
		_, err := s.Register(d)
		require.NoError(t, err)
	}
	require.NoError(t, s.Copy(1, from, 0, devicetest.Host(t, in), n))
	require.NoError(t, s.Copy(2, to, 1, from, n))
	require.Equal(t, 3, b.Calls(devicetest.FromHost))
	require.NoError(t, s.Copy(0, devicetest.Host(t, out), 2, to, n))
	require.Equal(t, in, out)

	for k := 1; k <= 3; k++ {
		a.FailAt(devicetest.ToHost, k)
		require.Equal(t, status.Device, device.StatusOf(s.Copy(2, to, 1, from, n)))
		a.FailAt(devicetest.ToHost, 0)
		b.FailAt(devicetest.FromHost, k)
		require.Equal(t, status.Device, device.StatusOf(s.Copy(2, to, 1, from, n)))
		b.FailAt(devicetest.FromHost, 0)
	}
	require.Equal(t, status.Device, device.StatusOf(s.Copy(3, to, 1, from, n)))
	require.Equal(t, status.Device, device.StatusOf(s.Copy(1, to, -1, from, n)))
}

func TestStatusOf(t *testing.T) {
	require.Equal(t, status.OK, device.StatusOf(nil))
	require.Equal(t, status.Limit, device.StatusOf(device.Errorf(status.Limit, "x")))
	require.Equal(t, status.Internal, device.StatusOf(fmt.Errorf("another")))
}

// Options know the families of the library's devices, to tell a misspelled one.
func TestOptionsKnowTheFamilies(t *testing.T) {
	for _, kind := range []device.Kind{device.CPU, device.CUDA, device.OpenCL, device.Metal, device.Shared} {
		require.NoError(t, checkDevice(kind.String()))
		require.ErrorContains(t, checkDevice(kind.String()+"x"), "did you mean "+kind.String()+"?")
	}
}

func checkDevice(name string) error {
	_, err := config.New().Check("TL_DEVICE", name)
	return err
}
