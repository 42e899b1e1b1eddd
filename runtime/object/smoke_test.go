package object

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/status"
)

func TestSmoke(t *testing.T) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	require.Equal(t, status.OK, c.EnterScope())
	p := c.New(64)
	require.NotZero(t, p)
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, c.Acquire(p))
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, c.ExitScope())
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, c.Release(p))
	require.Equal(t, status.NotLive, c.Release(p))
	t.Log(c.Message())
	typ, st := c.Define(Type{Name: "node", Size: 16, Offsets: []uintptr{0, 8}})
	require.Equal(t, status.OK, st)
	require.Equal(t, status.OK, c.EnterScope())
	a, b := c.ObjectNew(typ), c.ObjectNew(typ)
	*field(a), *field(b) = b, a
	c.Acquire(a)
	c.Acquire(b)
	copied := c.DeepClone(a)
	require.NotZero(t, copied)
	require.Equal(t, copied, *field(*field(copied)))
	c.ExitScope()
	require.EqualValues(t, 4, c.CollectCycles())
	require.Zero(t, ReadStats().LiveObjects)
	v := c.VecNew(0)
	for i := 0; i < 200; i++ {
		e := c.Alloc(1 << 17)
		require.NotZero(t, e)
		require.Equal(t, status.OK, c.VecPush(v, e))
		require.Equal(t, status.OK, c.Release(e))
	}
	c.Unregister(v)
	c.Free(v)
	c.Drain()
	require.Zero(t, ReadStats().LiveObjects)
}
