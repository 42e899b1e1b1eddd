package tensor

import (
	"os"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/shared"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// withShared is newContext with memory that processes share as device 1; the test ends with none of it left.
func withShared(t *testing.T) *object.Context {
	set := device.NewSet([]device.Device{cpu.New(func() bool { return false }), shared.New()})
	Devices.Set = func() *device.Set { return set }
	c := newContext(t)
	before := openFiles(t)
	t.Cleanup(func() {
		require.Equal(t, before, openFiles(t))
		require.Zero(t, limit.Used(sharedDevice))
		require.Zero(t, DeviceAllocatedBytes(c))
		Devices.Set = nil
	})
	return c
}

func openFiles(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// numbered returns a tensor on the shared device whose elements are their numbers.
func numbered(t *testing.T, c *object.Context, shape ...int64) uintptr {
	p := Empty(c, int32(I64), sharedDevice, int64(len(shape)), array(t, shape...))
	require.NotZero(t, p, c.Message())
	for i := range elements[int64](c, p) {
		elements[int64](c, p)[i] = int64(i)
	}
	return p
}

// sent shares a tensor and opens it.
func sent(t *testing.T, c *object.Context, p uintptr, readOnly bool) uintptr {
	s, st := Share(c, p, readOnly)
	require.Equal(t, status.OK, st, c.Message())
	defer memory.CloseFile(int(s.Fd))
	return Open(c, s, array(t, s))
}

func TestSharedTensorsHaveOneMemory(t *testing.T) {
	c := withShared(t)
	inScope(t, c, func() {
		p := numbered(t, c, 20, 100)
		q := sent(t, c, p, false)
		elements[int64](c, q)[7] = -7
		require.Equal(t, elements[int64](c, p), elements[int64](c, q))
		require.EqualValues(t, 2*16384, limit.Used(sharedDevice))
		require.EqualValues(t, 2*16384, limit.Read(sharedDevice).InUse)
		require.EqualValues(t, 2, limit.Read(sharedDevice).Live)
		column := sent(t, c, View(c, View(c, p, layout.ViewTranspose, 0, 1), layout.ViewSlice, 0, 99, -101, -50), false)
		require.Equal(t, []int64{2, 20}, dims(c, Shape(c, column), column))
		require.Equal(t, []int64{-50, 100}, dims(c, Strides(c, column), column))
		require.EqualValues(t, 99, *layout.At[int64](Data(c, column)))
		checkPool(t)
		held := map[int32]uint64{}
		AddOwnBlocks(held)
		require.Equal(t, limit.Used(sharedDevice), held[sharedDevice])
	})
}

func TestSharedMemoryIsNeverKept(t *testing.T) {
	c := withShared(t)
	before := openFiles(t)
	for range 3 {
		inScope(t, c, func() { numbered(t, c, 100) })
		require.Equal(t, before, openFiles(t))
		require.Zero(t, limit.Used(sharedDevice))
		require.Zero(t, PoolAcquire(c, 100, uint8(I64), sharedDevice))
	}
}

// A program can overwrite headers: what they say is held against the block.
func TestOverwrittenHeadersAreNotShared(t *testing.T) {
	c := withShared(t)
	inScope(t, c, func() {
		p := numbered(t, c, 10, 10)
		for _, damage := range []func(h *layout.TensorHeader){
			func(h *layout.TensorHeader) { h.Dtype = 200 },
			func(h *layout.TensorHeader) { h.Rank = 9 },
			func(h *layout.TensorHeader) { h.Shape[0] = 11 },
			func(h *layout.TensorHeader) { h.Strides[0] = -10 },
			func(h *layout.TensorHeader) { h.Data -= 8 },
			func(h *layout.TensorHeader) { h.Data += 1 << 40 },
		} {
			kept := *header(p)
			damage(header(p))
			_, st := Share(c, p, false)
			require.Equal(t, status.InvalidArgument, st)
			*header(p) = kept
		}
		header(p).Device = 0
		_, st := Share(c, p, false)
		require.Equal(t, status.Unsupported, st)
	})
}

func TestLimitsBoundWhatIsShared(t *testing.T) {
	c := withShared(t)
	defer limit.Set(sharedDevice, 0, 0)
	inScope(t, c, func() {
		p := numbered(t, c, 1000)
		limit.Set(sharedDevice, 0, 8192)
		require.Zero(t, sent(t, c, p, false))
		require.Equal(t, status.OutOfMemory, status.Status(c.Error.Status))
		require.Contains(t, c.Message(), "requested of")
		limit.Set(sharedDevice, 0, 16384)
		require.NotZero(t, sent(t, c, p, false))
	})
}

// Descriptions of random bytes are refused, or stand for memory that can be read.
func FuzzOpen(f *testing.F) {
	f.Add(uint32(0), uint64(0), int32(3), int32(2), int64(3), int64(4), int64(4), int64(1))
	f.Add(uint32(16), uint64(96), int32(23), int32(1), int64(2), int64(0), int64(-1), int64(0))
	f.Add(uint32(0), ^uint64(0), int32(-1), int32(9), int64(-1), int64(1)<<62, int64(1<<63-1), int64(-1<<63))
	f.Fuzz(func(t *testing.T, flags uint32, offset uint64, dtype, rank int32, d0, d1, s0, s1 int64) {
		c := withShared(t)
		inScope(t, c, func() {
			s, st := Share(c, numbered(t, c, 1000), false)
			require.Equal(t, status.OK, st)
			defer memory.CloseFile(int(s.Fd))
			s.Flags, s.Offset, s.Dtype, s.Rank = flags, offset, dtype, rank
			s.Shape[0], s.Shape[1], s.Strides[0], s.Strides[1] = d0, d1, s0, s1
			p := Open(c, s, array(t, s))
			if p == 0 {
				require.NotZero(t, c.Error.Status)
				return
			}
			h := header(p)
			if h.Numel == 0 {
				return
			}
			low, high := reach(h)
			b, _ := blocks.find(p)
			require.True(t, low >= b.address && high <= b.address+b.bytes, "%+v", s)
			_ = append([]byte(nil), layout.Bytes(low, uint64(high-low))...)
		})
	})
}

func TestSharedIsTheStructOfC(t *testing.T) {
	require.EqualValues(t, 160, unsafe.Sizeof(Shared{}))
}
