package tensor

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func TestReturning(t *testing.T) {
	c := newContext(t)
	for _, promote := range []func(uintptr) uintptr{
		func(p uintptr) uintptr { return PrepareReturn(c, p) },
		func(p uintptr) uintptr { require.Equal(t, status.OK, Promote(c, p)); return p },
	} {
		inScope(t, c, func() {
			require.Equal(t, status.OK, c.FunctionEnter(0))
			p := empty(t, c, F32, 3)
			require.Equal(t, p, promote(p))
			require.Equal(t, status.OK, c.FunctionExit())
			require.EqualValues(t, 1, c.Refcount(p))
			require.Equal(t, status.OK, Register(c, p))
			require.EqualValues(t, 1, c.Refcount(p))
		})
	}
}

func TestReturningAParameter(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p := empty(t, c, F32, 3)
		require.Equal(t, status.OK, c.FunctionEnter(0))
		require.Equal(t, status.NotRegistered, Promote(c, p))
		c.Error.Status = 0
		require.Equal(t, p, PrepareReturn(c, p))
		require.Zero(t, c.Error.Status)
		require.Equal(t, status.OK, c.FunctionExit())
		require.EqualValues(t, 1, c.Refcount(p))
	})
}

func TestFreeTakesTheScopesEntryWithIt(t *testing.T) {
	c := newContext(t)
	skipped := c.Skipped
	inScope(t, c, func() {
		p := empty(t, c, F32, 5)
		require.Equal(t, status.OK, Free(c, p))
		require.EqualValues(t, -1, c.Refcount(p))
		again := empty(t, c, F32, 5)
		require.Equal(t, p, again, "out of the magazine")
		require.Equal(t, status.OK, Acquire(c, again))
		require.Equal(t, status.OK, Free(c, again))
		require.EqualValues(t, 1, c.Refcount(again))
		require.Equal(t, status.OK, Free(c, again), "no entry: the caller's reference")
		require.Equal(t, status.NotLive, Free(c, again))
	})
	require.Equal(t, skipped, c.Skipped)
}

// A scope's entry of an earlier life of a pooled tensor must not release the next.
func TestStaleEntriesSkipTheNextLife(t *testing.T) {
	c := newContext(t)
	skipped := c.Skipped
	var p uintptr
	inScope(t, c, func() {
		p = empty(t, c, F32, 5)
		require.Equal(t, status.OK, PoolRelease(c, p, 5, uint8(F32), CPU))
		require.Equal(t, p, PoolAcquire(c, 5, uint8(F32), CPU))
	})
	require.Equal(t, skipped+1, c.Skipped)
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, Release(c, p))
}

func TestFreePassesOverStaleEntries(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p := empty(t, c, F32, 5)
		require.Equal(t, status.OK, PoolRelease(c, p, 5, uint8(F32), CPU))
		require.Equal(t, p, PoolAcquire(c, 5, uint8(F32), CPU))
		require.Equal(t, status.OK, Acquire(c, p))
		require.Equal(t, status.OK, Free(c, p))
		require.EqualValues(t, 1, c.Refcount(p))
		require.Equal(t, status.OK, Release(c, p))
	})
}

func TestCloneOfAViewIsContiguous(t *testing.T) {
	c := newContext(t)
	data := array[int32](t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	inScope(t, c, func() {
		for _, v := range []struct {
			shape, strides []int64
			want           []int32
		}{
			{[]int64{4, 3}, []int64{1, 4}, []int32{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
			{[]int64{3, 2}, []int64{4, 1}, []int32{0, 1, 4, 5, 8, 9}},
			{[]int64{2, 3}, []int64{0, 1}, []int32{0, 1, 2, 0, 1, 2}},
			{[]int64{2, 2, 2}, []int64{6, 3, 2}, []int32{0, 2, 3, 5, 6, 8, 9, 11}},
			{[]int64{3}, []int64{4}, []int32{0, 4, 8}},
		} {
			p := fromBuffer(c, int32(I32), CPU, int64(len(v.shape)), array(t, v.shape...), data, array(t, v.strides...),
				0, 0)
			require.NotZero(t, p)
			require.False(t, IsContiguous(c, p))
			q := Clone(c, p)
			require.True(t, IsContiguous(c, q))
			require.Equal(t, v.want, elements[int32](c, q))
		}
	})
}

type call struct{ f, data, context uintptr }

// recordCalls notes what would be called in C.
func recordCalls(t *testing.T) *[]call {
	var calls []call
	object.CallC = func(c *object.Context) {
		next := c.Draining.Callback
		calls = append(calls, call{next.Function, next.Object, next.Context})
		c.Draining.Arguments = 0
	}
	t.Cleanup(func() { object.CallC = nil })
	return &calls
}

func fromBuffer(c *object.Context, dtype, device int32, rank int64, shape, data, strides, deleter,
	context uintptr) uintptr {
	return Borrow(c, Borrowed{Dtype: dtype, Device: device, Rank: rank, Shape: shape, Strides: strides, Data: data,
		Deleter: deleter, Context: context})
}

func TestFromBufferEndsItsMemoryOnce(t *testing.T) {
	c := newContext(t)
	calls := recordCalls(t)
	data := array[float64](t, 1, 2, 3, 4)
	inScope(t, c, func() {
		p := fromBuffer(c, int32(F64), CPU, 2, array[int64](t, 2, 2), data, array[int64](t, 1, 2), 0x1000, 0x2000)
		require.Equal(t, data, Data(c, p))
		require.False(t, IsContiguous(c, p))
		require.Equal(t, status.OK, Acquire(c, p))
		require.Equal(t, status.OK, Release(c, p))
		q := fromBuffer(c, int32(F64), CPU, 1, array[int64](t, 0), data, 0, 0x3000, 0)
		require.Zero(t, Data(c, q))
		require.NotZero(t, fromBuffer(c, int32(F64), CPU, 1, array[int64](t, 4), data, 0, 0, 0), "no deleter")
		require.Empty(t, *calls)
	})
	require.Equal(t, []call{{0x3000, data, 0}, {0x1000, data, 0x2000}}, *calls)
	require.Zero(t, ReadPool().Tensors)
}

func TestFromBufferRefuses(t *testing.T) {
	c := newContext(t)
	calls := recordCalls(t)
	data, four := array[float32](t, 1, 2, 3, 4), array[int64](t, 4)
	for name, r := range map[string]struct{ data, strides uintptr }{
		"NULL data":     {0, 0},
		"small data":    {64, 0},
		"lowest stride": {data, array[int64](t, math.MinInt64)},
		"huge stride":   {data, array[int64](t, 1<<60)},
		"small strides": {data, 8},
	} {
		require.Zero(t, fromBuffer(c, int32(F32), CPU, 1, four, r.data, r.strides, 0x1000, 0), name)
		require.EqualValues(t, status.InvalidArgument, c.Error.Status, name)
	}
	require.Empty(t, *calls)
}

func TestSlots(t *testing.T) {
	c := newContext(t)
	shape := array[int64](t, 2, 5)
	require.Zero(t, InSlot(c, 0, int32(I32), 2, shape))
	require.EqualValues(t, status.NoFrame, c.Error.Status)
	before := object.ReadStats().Allocations
	require.Equal(t, status.OK, c.FunctionEnter(2))
	p := InSlot(c, 0, int32(I32), 2, shape)
	require.NotZero(t, p)
	require.Equal(t, p+layout.TensorHeaderBytes, Data(c, p))
	require.Equal(t, p, InSlot(c, 0, int32(I32), 2, shape), "the next iteration")
	for i := range elements[int32](c, p) {
		elements[int32](c, p)[i] = int32(i * i)
	}
	require.Equal(t, status.OK, Acquire(c, p))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, Register(c, p))
	require.Equal(t, status.OK, Free(c, p))
	require.Equal(t, status.Unsupported, Promote(c, p))
	require.Equal(t, status.Unsupported, PoolRelease(c, p, 10, uint8(I32), CPU))
	require.EqualValues(t, -1, Numel(c, p+64), "not a header")
	require.EqualValues(t, status.Unsupported, c.Error.Status)
	require.Zero(t, InSlot(c, 2, int32(I32), 2, shape))
	require.EqualValues(t, status.SlotOutOfRange, c.Error.Status)
	require.Equal(t, before, object.ReadStats().Allocations)

	q := PrepareReturn(c, p)
	require.NotEqual(t, p, q)
	require.Equal(t, status.OK, c.FunctionExit())
	require.Zero(t, Data(c, p))
	require.EqualValues(t, status.NotLive, c.Error.Status)
	require.EqualValues(t, 81, elements[int32](c, q)[9])
	inScope(t, c, func() { require.Equal(t, status.OK, Register(c, q)) })
	require.EqualValues(t, -1, c.Refcount(q))
}

// A header that outlived its function is no tensor once the data is beyond the top.
func TestStaleHeaderInTheFrame(t *testing.T) {
	c := newContext(t)
	require.Equal(t, status.OK, c.FunctionEnter(1))
	p := InSlot(c, 0, int32(F64), 1, array[int64](t, 100))
	require.Equal(t, status.OK, c.FunctionExit())
	require.Equal(t, status.OK, c.FunctionEnter(1))
	require.Equal(t, p, c.GetBuffer(0, layout.TensorHeaderBytes))
	require.Zero(t, Clone(c, p))
	require.EqualValues(t, status.Unsupported, c.Error.Status)
	require.Equal(t, status.OK, c.FunctionExit())
}
