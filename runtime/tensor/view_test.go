package tensor

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func counting(t *testing.T, c *object.Context, shape ...int64) uintptr {
	t.Helper()
	p := empty(t, c, I32, shape...)
	for i := range elements[int32](c, p) {
		elements[int32](c, p)[i] = int32(i)
	}
	return p
}

// values reads a tensor in row-major order, through a copy.
func values(c *object.Context, p uintptr) []int32 { return elements[int32](c, Clone(c, p)) }

func TestViewsShareMemory(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p := counting(t, c, 2, 3)
		for name, v := range map[string]struct {
			view uintptr
			want []int32
		}{
			"reshape":   {Reshape(c, p, 2, array[int64](t, 3, -1)), []int32{0, 1, 2, 3, 4, 5}},
			"transpose": {Transpose(c, p, 0, 1), []int32{0, 3, 1, 4, 2, 5}},
			"permute":   {Permute(c, p, 2, array[int64](t, -1, 0)), []int32{0, 3, 1, 4, 2, 5}},
			"slice":     {Slice(c, p, 1, 1, 9, 1), []int32{1, 2, 4, 5}},
			"backwards": {Slice(c, p, 1, -1, -9, -2), []int32{2, 0, 5, 3}},
			"broadcast": {BroadcastTo(c, p, 3, array[int64](t, 2, -1, 3)), []int32{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
			"expand":    {ExpandDims(c, p, -1), []int32{0, 1, 2, 3, 4, 5}},
			"squeeze":   {Squeeze(c, Slice(c, p, 0, 1, 2, 1), 0), []int32{3, 4, 5}},
		} {
			require.NotZero(t, v.view, name)
			require.Equal(t, v.want, values(c, v.view), name)
			require.Equal(t, p, Base(c, v.view), name)
		}
		turned := Transpose(c, p, 0, 1)
		elements[int32](c, p)[3] = 77
		require.EqualValues(t, 77, values(c, turned)[1])
		require.Zero(t, Base(c, p))
		require.Zero(t, Base(c, Clone(c, turned)))
	})
}

// TestTheLastViewReturnsTheStorage: whoever goes last, and whatever stood between.
func TestTheLastViewReturnsTheStorage(t *testing.T) {
	c := newContext(t)
	var p, last uintptr
	inScope(t, c, func() {
		p = empty(t, c, F32, 6, 4)
		between := Transpose(c, p, 0, 1)
		last = Slice(c, between, 0, 1, 3, 1)
		require.Equal(t, p, Base(c, last))
		require.EqualValues(t, 3, c.Refcount(p))
		require.EqualValues(t, 1, c.Refcount(between))
		require.Equal(t, status.OK, Acquire(c, last))
	})
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, Release(c, last))
	c.Drain()
	require.EqualValues(t, -1, c.Refcount(p))
	inScope(t, c, func() { require.Equal(t, p, empty(t, c, F32, 12, 2)) })
}

func TestViewsOfLentMemory(t *testing.T) {
	c := newContext(t)
	calls := recordCalls(t)
	data := array[float64](t, 1, 2, 3, 4)
	var kept uintptr
	inScope(t, c, func() {
		p := Borrow(c, Borrowed{Dtype: int32(F64), Rank: 1, Shape: array[int64](t, 4), Data: data, ReadOnly: true,
			Deleter: 0x1000})
		kept = Slice(c, p, 0, 3, -9, -1)
		require.Equal(t, data+24, Data(c, kept))
		require.Equal(t, []int64{-1}, dims(c, Strides(c, kept), kept))
		require.EqualValues(t, layout.TensorView|layout.TensorReadOnly, header(kept).Flags)
		require.Equal(t, []float64{4, 3, 2, 1}, elements[float64](c, Clone(c, kept)))
		require.EqualValues(t, layout.TensorContiguous, header(Clone(c, kept)).Flags)
		require.Equal(t, status.OK, Acquire(c, kept))
	})
	require.Empty(t, *calls)
	require.Equal(t, status.OK, Release(c, kept))
	c.Drain()
	require.Equal(t, []call{{0x1000, data, 0}}, *calls)
}

func TestNegativeStridesOfLentMemory(t *testing.T) {
	c := newContext(t)
	data := array[int32](t, 0, 1, 2, 3, 4, 5)
	inScope(t, c, func() {
		p := fromBuffer(c, int32(I32), CPU, 2, array[int64](t, 2, 3), data+5*4, array[int64](t, -3, -1), 0, 0)
		require.NotZero(t, p, c.Message())
		require.False(t, IsContiguous(c, p))
		require.Equal(t, []int32{5, 4, 3, 2, 1, 0}, values(c, p))
		require.Equal(t, []int32{0, 1, 2, 3, 4, 5}, values(c, Slice(c, Slice(c, p, 0, 9, -9, -1), 1, 9, -9, -1)))
	})
}

func TestViewsAreRefused(t *testing.T) {
	c := newContext(t)
	require.Equal(t, status.OK, c.FunctionEnter(1))
	slot := InSlot(c, 0, int32(F32), 1, array[int64](t, 4))
	p := empty(t, c, F32, 4)
	plain := c.New(64)
	four := array[int64](t, 4)
	require.Zero(t, Reshape(c, 0, 1, four))
	require.EqualValues(t, status.OK, c.Status)
	for name, r := range map[string]struct {
		view func() uintptr
		want status.Status
	}{
		"slot":      {func() uintptr { return Transpose(c, slot, 0, 0) }, status.Unsupported},
		"no tensor": {func() uintptr { return Transpose(c, plain, 0, 0) }, status.Unsupported},
		"unknown":   {func() uintptr { return Squeeze(c, 0x10, 0) }, status.UnknownPointer},
		"interior":  {func() uintptr { return Squeeze(c, p+64, 0) }, status.InteriorPointer},
		"rank":      {func() uintptr { return Reshape(c, p, 9, four) }, status.InvalidArgument},
		"low rank":  {func() uintptr { return Permute(c, p, -1, four) }, status.InvalidArgument},
		"no shape":  {func() uintptr { return Reshape(c, p, 1, 0) }, status.InvalidArgument},
		"no axes":   {func() uintptr { return Permute(c, p, 1, 8) }, status.InvalidArgument},
		"no extent": {func() uintptr { return BroadcastTo(c, p, 1, 0) }, status.InvalidArgument},
	} {
		c.Status = 0
		require.Zero(t, r.view(), name)
		require.EqualValues(t, r.want, c.Status, name)
		require.Contains(t, c.Message(), r.want.String(), name)
	}
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, c.FunctionExit())
}

// TestAnOverwrittenBase: a header lies in the program's reach; what it says then is
// refused or left alone.
func TestAnOverwrittenBase(t *testing.T) {
	c := newContext(t)
	p := floating(t, c, F32, 4)
	inScope(t, c, func() {
		v := Slice(c, p, 0, 0, 2, 1)
		for _, bad := range []uintptr{0, 0x10, p + 8, 1 << 62} {
			header(v).Base = bad
			require.Zero(t, Slice(c, v, 0, 0, 1, 1))
		}
	})
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, Release(c, p))
}

// TestViewsAcrossThreads: threads make views of one tensor and drop them while
// its maker lets it go.
func TestViewsAcrossThreads(t *testing.T) {
	c := newContext(t)
	p := floating(t, c, F32, 64)
	var all sync.WaitGroup
	for range 4 {
		require.Equal(t, status.OK, Acquire(c, p))
		all.Go(func() {
			me, st := object.NewContext()
			if st != status.OK {
				t.Error(st)
				return
			}
			defer me.Finish()
			for range 200 {
				me.EnterScope()
				v := Slice(me, p, 0, 8, 16, 1)
				if Base(me, Slice(me, v, 0, 1, 2, 1)) != p {
					t.Error(me.Message())
				}
				me.ExitScope()
			}
			Release(me, p)
		})
	}
	require.Equal(t, status.OK, Release(c, p))
	all.Wait()
	require.EqualValues(t, -1, c.Refcount(p))
}

// TestViewsLeaveNoGarbage: emitted code makes them by the million.
func TestViewsLeaveNoGarbage(t *testing.T) {
	c := newContext(t)
	inScope(t, c, func() {
		p, six, order := counting(t, c, 2, 3), array[int64](t, 6), array[int64](t, 1, 0)
		require.Zero(t, testing.AllocsPerRun(200, func() {
			c.EnterScope()
			for _, v := range [...]uintptr{Reshape(c, p, 1, six), Slice(c, p, 1, 0, 2, 1), Permute(c, p, 2, order)} {
				if v == 0 {
					t.Error(c.Message())
				}
			}
			c.ExitScope()
		}))
	})
}
