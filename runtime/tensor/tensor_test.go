package tensor

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// newContext returns a context; the test ends with no tensor live or pooled, and
// no heap object out.
func newContext(t *testing.T) *object.Context {
	t.Helper()
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	t.Cleanup(func() {
		Purge(c)
		c.Finish()
		checkPool(t)
		all := object.ReadStats()
		require.Zero(t, ReadPool().Tensors)
		require.Zero(t, all.LiveObjects)
		require.Zero(t, all.Kinds[layout.TypeTensor].Live())
	})
	return c
}

// array puts values where an address of them stays good for the test.
func array[T any](t *testing.T, values ...T) uintptr {
	kept := append(make([]T, 0, len(values)+1), values...)
	t.Cleanup(func() { runtime.KeepAlive(kept) })
	return uintptr(unsafe.Pointer(unsafe.SliceData(kept)))
}

func empty(t *testing.T, c *object.Context, d ElementType, shape ...int64) uintptr {
	t.Helper()
	p := Empty(c, int32(d), CPU, int64(len(shape)), array(t, shape...))
	require.NotZero(t, p, c.Message())
	return p
}

// floating returns a tensor that no scope holds.
func floating(t *testing.T, c *object.Context, d ElementType, shape ...int64) uintptr {
	t.Helper()
	p := empty(t, c, d, shape...)
	require.Equal(t, status.OK, Promote(c, p))
	return p
}

func elements[T any](c *object.Context, p uintptr) []T {
	return layout.Slice[T](Data(c, p), uint64(Numel(c, p)))
}

func dims(c *object.Context, at uintptr, p uintptr) []int64 {
	return layout.Slice[int64](at, uint64(Rank(c, p)))
}

// inScope runs body in a scope of its own.
func inScope(t *testing.T, c *object.Context, body func()) {
	t.Helper()
	require.Equal(t, status.OK, c.EnterScope())
	body()
	require.Equal(t, status.OK, c.ExitScope())
}

func TestNewCopiesItsData(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p := New(c, array[float32](t, 1, 2, 3, 4, 5, 6), 2, array[int64](t, 2, 3))
		require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, elements[float32](c, p))
		q := NewI64(c, array[int64](t, -1, 7), 1, array[int64](t, 2))
		require.Equal(t, []int64{-1, 7}, elements[int64](c, q))
		require.EqualValues(t, I64, Dtype(c, q))
		scalar := New(c, array[float32](t, 1.5), 0, 0)
		require.Equal(t, []float32{1.5}, elements[float32](c, scalar))
		require.EqualValues(t, 1, c.Refcount(p))
	})
}

func TestLargeCopies(t *testing.T) {
	c := newContext(t)
	data := make([]int64, copyChunk/4+3)
	for i := range data {
		data[i] = int64(i)
	}
	inScope(t, c, func() {
		p := NewI64(c, array(t, data...), 1, array(t, int64(len(data))))
		require.Equal(t, data, elements[int64](c, p))
		require.Equal(t, data, elements[int64](c, Clone(c, p)))
	})
}

func TestProperties(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		for d := range C128 + 1 {
			size := d.Size()
			if size == 0 {
				continue
			}
			p := empty(t, c, d, 2, 3, 5, 7)
			require.EqualValues(t, d, Dtype(c, p))
			require.EqualValues(t, CPU, Device(c, p))
			require.EqualValues(t, 4, Rank(c, p))
			require.EqualValues(t, 210, Numel(c, p))
			require.EqualValues(t, 210*int(size), Nbytes(c, p))
			require.Zero(t, Data(c, p)%layout.TensorAlign)
			require.Equal(t, []int64{2, 3, 5, 7}, dims(c, Shape(c, p), p))
			require.Equal(t, []int64{105, 35, 7, 1}, dims(c, Strides(c, p), p))
			require.True(t, IsContiguous(c, p))
			require.EqualValues(t, 7, Dim(c, p, -1))
			require.EqualValues(t, 2, Dim(c, p, -4))
			clear(layout.Bytes(Data(c, p), uint64(Nbytes(c, p))))
		}
		p := empty(t, c, F32, 3)
		for _, axis := range []int64{1, -2, -1 << 63, 1<<63 - 1} {
			require.EqualValues(t, -1, Dim(c, p, axis))
			require.EqualValues(t, status.InvalidArgument, c.Error.Status)
		}
	})
}

func TestNullIsAValue(t *testing.T) {
	c := newContext(t)
	c.Error.Status = int32(status.Internal)
	require.Zero(t, Data(c, 0))
	require.Zero(t, c.Error.Status)
	require.Zero(t, Shape(c, 0))
	require.Zero(t, Strides(c, 0))
	require.Zero(t, Nbytes(c, 0))
	require.Zero(t, Numel(c, 0))
	require.Zero(t, Rank(c, 0))
	require.Zero(t, Dtype(c, 0))
	require.Zero(t, Device(c, 0))
	require.Zero(t, Dim(c, 0, 3))
	require.True(t, IsContiguous(c, 0))
	require.Zero(t, Clone(c, 0))
	require.Zero(t, PrepareReturn(c, 0))
	for _, call := range []func(*object.Context, uintptr) status.Status{Acquire, Release, Register, Promote, Free} {
		require.Equal(t, status.OK, call(c, 0))
	}
	require.Equal(t, status.OK, PoolRelease(c, 0, 1, 0, 0))
}

func TestRequestsAreChecked(t *testing.T) {
	c := newContext(t)
	one := array[int64](t, 1)
	for name, r := range map[string]struct {
		dtype, device int32
		rank          int64
		shape         uintptr
		want          status.Status
	}{
		"dtype 7":            {7, 0, 1, one, status.InvalidArgument},
		"dtype -1":           {-1, 0, 1, one, status.InvalidArgument},
		"dtype 24":           {24, 0, 1, one, status.InvalidArgument},
		"device 1":           {0, 1, 1, one, status.Device},
		"device -1":          {0, -1, 1, one, status.Device},
		"rank -1":            {0, 0, -1, one, status.InvalidArgument},
		"rank 9":             {0, 0, 9, one, status.InvalidArgument},
		"no shape":           {0, 0, 1, 0, status.InvalidArgument},
		"small shape":        {0, 0, 1, 4095, status.InvalidArgument},
		"negative":           {0, 0, 2, array[int64](t, 3, -1), status.InvalidArgument},
		"negative and 0":     {0, 0, 2, array[int64](t, 0, -1), status.InvalidArgument},
		"product":            {0, 0, 2, array[int64](t, 1<<40, 1<<40), status.InvalidArgument},
		"product beside 0":   {0, 0, 3, array[int64](t, 1<<40, 0, 1<<40), status.InvalidArgument},
		"bytes":              {1, 0, 1, array[int64](t, 1<<61), status.InvalidArgument},
		"more than there is": {0, 0, 1, array[int64](t, 1<<45), status.OutOfMemory},
	} {
		require.Zero(t, Empty(c, r.dtype, r.device, r.rank, r.shape), name)
		require.EqualValues(t, r.want, c.Error.Status, name)
		require.NotEmpty(t, c.Message(), name)
	}
	require.Zero(t, New(c, 0, 1, one))
	require.EqualValues(t, status.InvalidArgument, c.Error.Status)
}

func TestEmptyTensors(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p := NewZeroed(c, int32(F32), CPU, 3, array[int64](t, 4, 0, 5))
		require.Zero(t, Numel(c, p))
		require.Zero(t, Data(c, p))
		require.Zero(t, c.Error.Status)
		require.True(t, IsContiguous(c, p))
		require.Equal(t, []int64{5, 5, 1}, dims(c, Strides(c, p), p))
		require.EqualValues(t, 5, Dim(c, Clone(c, p), 2))
		require.NotZero(t, New(c, 0, 1, array[int64](t, 0)))
	})
}

func TestZerosAfterReuse(t *testing.T) {
	c := newContext(t)
	for range 3 {
		inScope(t, c, func() {
			p := NewZeroed(c, int32(U8), CPU, 1, array[int64](t, 300))
			require.Equal(t, make([]uint8, 300), elements[uint8](c, p))
			for i := range elements[uint8](c, p) {
				elements[uint8](c, p)[i] = 0xFF
			}
		})
	}
}

func TestBadPointersAreRefused(t *testing.T) {
	c := newContext(t)
	plain := c.Alloc(256)
	p := floating(t, c, F32, 10)
	require.Equal(t, status.OK, Acquire(c, p))
	dead := floating(t, c, F32, 500)
	require.Equal(t, status.OK, Release(c, dead))
	for _, bad := range []struct {
		p    uintptr
		want status.Status
	}{
		{1, status.UnknownPointer}, {4095, status.UnknownPointer}, {1 << 50, status.UnknownPointer},
		{array[byte](t, 1), status.UnknownPointer},
		{p + 1, status.InteriorPointer}, {p + layout.TensorHeaderBytes, status.InteriorPointer},
		{plain, status.Unsupported}, {dead, status.NotLive},
	} {
		for _, call := range []func(*object.Context, uintptr) status.Status{Acquire, Release, Register, Promote, Free} {
			require.Equal(t, bad.want, call(c, bad.p))
		}
		require.EqualValues(t, -1, Numel(c, bad.p))
		require.EqualValues(t, bad.want, c.Error.Status)
		require.Zero(t, Clone(c, bad.p))
		require.Equal(t, bad.p, PrepareReturn(c, bad.p))
		require.Equal(t, bad.want, PoolRelease(c, bad.p, 10, uint8(F32), CPU))
	}
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, c.Release(plain))
}
