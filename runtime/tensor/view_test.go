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

// TestAnOverwrittenBase: a header lies in the program's reach; what it says then is
// refused or left alone.
func TestAnOverwrittenBase(t *testing.T) {
	c := newContext(t)
	p := floating(t, c, F32, 4)
	inScope(t, c, func() {
		v := View(c, p, layout.ViewSlice, 0, 0, 2, 1)
		for _, bad := range []uintptr{0, 0x10, p + 8, 1 << 62} {
			header(v).Base = bad
			require.Zero(t, View(c, v, layout.ViewSlice, 0, 0, 1, 1))
		}
	})
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, Release(c, p))
}

// TestWhatIsSaidOfViews: each refusal has a sentence of its own.
func TestWhatIsSaidOfViews(t *testing.T) {
	c := newContext(t)
	said := map[string]bool{}
	for why := range noView[1:] {
		require.Zero(t, refuse(c, uint32(why+1), &[4]int64{71, 72, -73}))
		require.NotContains(t, c.Message(), "%!")
		said[c.Message()] = true
	}
	require.Len(t, said, len(noView)-1)
	refuse(c, layout.NoViewDivided, &[4]int64{-1, 5})
	require.Contains(t, c.Message(), "18446744073709551615 elements cannot be divided among 5")
	require.EqualValues(t, status.InvalidArgument, c.Error.Status)
	refuse(c, layout.NoViewScattered, &[4]int64{})
	require.EqualValues(t, status.Unsupported, c.Error.Status)
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
				v := View(me, p, layout.ViewSlice, 0, 8, 16, 1)
				if Base(me, View(me, v, layout.ViewSlice, 0, 1, 2, 1)) != p {
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
			for _, v := range [...]uintptr{View(c, p, layout.ViewReshape, 1, int64(six)),
				View(c, p, layout.ViewSlice, 1, 0, 2, 1), View(c, p, layout.ViewPermute, 2, int64(order))} {
				if v == 0 {
					t.Error(c.Message())
				}
			}
			c.ExitScope()
		}))
	})
}
