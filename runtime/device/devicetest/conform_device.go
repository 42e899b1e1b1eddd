package devicetest

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

func info(t *testing.T, d device.Device) {
	i := d.Info()
	require.Equal(t, d.Name(), i.Name)
	require.Equal(t, d.Alignment(), i.Alignment)
	require.NotEmpty(t, i.Description)
	require.NotEmpty(t, i.Driver)
	_, _, err := device.ParseName(i.Name)
	require.NoError(t, err)
	free, total, err := d.Memory()
	require.NoError(t, err)
	require.LessOrEqual(t, free, total)
	if i.Kind != device.Custom {
		require.Positive(t, i.TotalBytes)
		require.Positive(t, total)
	}
}

// pattern is bytes that differ from their neighbours.
func pattern(n int, seed byte) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*131>>3) ^ byte(i) ^ seed
	}
	return p
}

// Host returns the address of memory of Go, which stays where it is to the test's end: a stack moves.
func Host(t testing.TB, b []byte) uintptr {
	var pin runtime.Pinner
	pin.Pin(&b[0])
	t.Cleanup(pin.Unpin)
	return layout.Address(&b[0])
}

// read returns n bytes of the device.
func read(t *testing.T, d device.Device, p uintptr, n int) []byte {
	t.Helper()
	out := bytes.Repeat([]byte{0xEE}, n)
	require.NoError(t, d.ToHost(Host(t, out), p, uintptr(n)))
	return out
}

// copies moves bytes in, around and out, at odd places inside of blocks, and looks
// at the neighbours.
func copies(t *testing.T, d device.Device) {
	const n = 100_003
	a, b := take(t, d, n), take(t, d, n)
	in, zeros := pattern(n, 0x5A), make([]byte, n)
	require.NoError(t, d.FromHost(a, Host(t, in), n))
	require.NoError(t, d.FromHost(b, Host(t, zeros), n))
	require.Equal(t, in, read(t, d, a, n))

	require.NoError(t, d.Within(b+13, a+7, 5000))
	expected := bytes.Clone(zeros)
	copy(expected[13:], in[7:5007])
	require.Equal(t, expected, read(t, d, b, n))

	require.NoError(t, d.Fill(b+17, 0xA5, 1001))
	copy(expected[17:], bytes.Repeat([]byte{0xA5}, 1001))
	require.Equal(t, expected, read(t, d, b, n))
	require.Equal(t, in[n-1:], read(t, d, a+n-1, 1))

	require.NoError(t, device.Copy(d, b, d, a, n))
	require.Equal(t, in, read(t, d, b, n))
	require.NoError(t, device.Copy(d, b, d, a, 0))
	require.NoError(t, device.Fill(d, b, 1, 0))
	require.NoError(t, device.Fill(d, b, 1, n))
	require.Equal(t, bytes.Repeat([]byte{1}, n), read(t, d, b, n))
	refused(t, device.Copy(d, 8, d, a, 16), status.InvalidArgument)
	refused(t, device.Copy(d, b, d, ^uintptr(0)-8, 16), status.InvalidArgument)
	refused(t, device.Fill(d, b, 0, 1<<60), status.InvalidArgument)

	require.NoError(t, d.Deallocate(a, n))
	require.NoError(t, d.Deallocate(b, n))
}

// hostAccess uses the memory without copying, where the device says that it can be.
func hostAccess(t *testing.T, d device.Device) {
	if !d.Info().HostAccess {
		t.Skipf("the CPU cannot use the memory of %s", d.Name())
	}
	const n = 10_000
	block := take(t, d, n)
	memory := layout.Bytes(block, n)
	copy(memory, pattern(n, 0x33))
	require.Equal(t, pattern(n, 0x33), read(t, d, block, n))
	require.NoError(t, d.Fill(block, 9, n))
	require.Equal(t, bytes.Repeat([]byte{9}, n), memory)
	require.NoError(t, d.Deallocate(block, n))
}

func pinned(t *testing.T, p device.Pinner) {
	a := p.Pinned()
	Conform(t, a)
	const n = 50_000
	d, block := p.(device.Device), take(t, a, n)
	memory := layout.Bytes(block, n)
	copy(memory, pattern(n, 0x44))
	there := take(t, d, n)
	require.NoError(t, d.FromHost(there, block, n))
	clear(memory)
	require.NoError(t, d.ToHost(block, there, n))
	require.Equal(t, pattern(n, 0x44), memory)
	require.NoError(t, d.Deallocate(there, n))
	require.NoError(t, a.Deallocate(block, n))
}

// streams has memory obtained and returned in the order of a stream, and events
// that tell when the work before them is done.
func streams(t *testing.T, s device.Streams, d device.Device) {
	if !d.Info().StreamOrdered {
		_, err := s.AllocateAsync(64, 0)
		refused(t, err, status.Unsupported)
		refused(t, s.DeallocateAsync(64, 64, 0), status.Unsupported)
		t.Skipf("%s does not allocate in the order of streams", d.Name())
	}
	stream, err := s.NewStream()
	require.NoError(t, err)
	event, err := s.NewEvent()
	require.NoError(t, err)
	done, err := s.Query(event)
	require.NoError(t, err)
	require.True(t, done, "an event that was never recorded waits for nothing")

	const n = 70_000
	block, err := s.AllocateAsync(n, stream)
	require.NoError(t, err)
	require.Zero(t, block%d.Alignment())
	require.NoError(t, s.Record(event, stream))
	require.NoError(t, s.Wait(0, event))
	require.NoError(t, s.Synchronize(stream))
	require.NoError(t, d.FromHost(block, Host(t, pattern(n, 1)), n))
	require.Equal(t, pattern(n, 1), read(t, d, block, n))

	refused(t, s.DeallocateAsync(block, n-1, stream), status.InvalidArgument)
	refused(t, d.Deallocate(block, n), status.UnknownPointer)
	require.NoError(t, s.DeallocateAsync(block, n, stream))
	refused(t, s.DeallocateAsync(block, n, stream), status.UnknownPointer)
	_, err = s.AllocateAsync(0, stream)
	refused(t, err, status.InvalidArgument)
	_, err = s.AllocateAsync(1<<55, stream)
	refused(t, err, status.OutOfMemory)

	require.NoError(t, s.Record(event, stream))
	require.Eventually(t, func() bool {
		done, err := s.Query(event)
		return err == nil && done
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, s.CloseEvent(event))
	require.NoError(t, s.CloseStream(stream))
}
