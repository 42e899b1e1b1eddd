package object

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// ringOfBlocks makes two blocks of which each holds the only reference to the other. They are freed once.
func ringOfBlocks(t *testing.T, c *Context, typ uint32) (ring [2]uintptr) {
	const bytes, purpose = 64, "tests"
	page, err := memory.Map(memory.PageBytes, purpose)
	require.NoError(t, err)
	free, freed := process.cfg.Free, []uintptr{}
	process.cfg.Free = func(p uintptr) { freed = append(freed, p) }
	t.Cleanup(func() {
		process.cfg.Free = free
		require.ElementsMatch(t, ring, freed)
		memory.Unmap(page, memory.PageBytes, purpose)
	})
	for i := range ring {
		ring[i] = page + uintptr(i)*bytes
		_, res := process.registry.InsertTyped(ring[i], bytes, typ, c.Owner)
		require.Equal(t, registry.OK, res)
		c.ForeignAdopted++
	}
	*field(ring[0]), *field(ring[1]) = ring[1], ring[0]
	return ring
}

func endRing(t *testing.T, c *Context, ring [2]uintptr) {
	for _, p := range ring {
		*field(p) = 0
		block, live := process.registry.TypedAt(p)
		require.True(t, live)
		ended, res := process.registry.End(p, block.Gen)
		require.Equal(t, registry.Gone, res)
		c.freeForeign(ended)
	}
}

// Another thread that was given a block may count it or freeze its count while the collector looks.
func TestABlockThatIsTouchedDuringACollectionStays(t *testing.T) {
	c, other := newContext(t), newContext(t)
	typ, st := c.Define(Type{Name: "block of a ring", Size: 8, Offsets: []uintptr{0}})
	require.Equal(t, status.OK, st)
	for name, touch := range map[string]func(p uintptr) status.Status{
		"by nobody":             nil,
		"by counting it":        other.Acquire,
		"by making it immortal": other.MakeImmortal,
	} {
		t.Run(name, func(t *testing.T) {
			ring := ringOfBlocks(t, c, typ)
			require.Equal(t, status.OK, process.heap.Side().Begin())
			k := newCollector(c)
			k.find()
			k.findBlocks()
			if touch != nil {
				require.Equal(t, status.OK, touch(ring[1]))
			}
			died := k.collect()
			k.close()
			process.heap.Side().End()
			c.Drain()
			if touch == nil {
				require.EqualValues(t, 2, died)
				require.False(t, isTypedBlock(ring[0]))
				require.False(t, isTypedBlock(ring[1]))
				return
			}
			require.Zero(t, died)
			for i, p := range ring {
				require.Equal(t, ring[1-i], *field(p), "what a block of the ring refers to")
				require.Zero(t, process.registry.Side(p))
			}
			endRing(t, c, ring)
			c.Drain()
		})
	}
}

// Threads that own no objects have one owner in common, which says of no block whose it is.
func TestThreadsThatOwnNothingCollectNoBlocks(t *testing.T) {
	c := newContext(t)
	typ, st := c.Define(Type{Name: "block of an unowned ring", Size: 8, Offsets: []uintptr{0}})
	require.Equal(t, status.OK, st)
	owner := c.Owner
	c.Owner = layout.OwnerNever
	ring := ringOfBlocks(t, c, typ)
	require.Zero(t, c.CollectCycles())
	endRing(t, c, ring)
	c.Drain()
	c.Owner = owner
}

// Another thread was given the reference to an object of two that refer to each other, and counts it while the
// collector looks.
func TestAnObjectThatIsCountedDuringACollectionStays(t *testing.T) {
	c, other := newContext(t), newContext(t)
	typ, st := c.Define(Type{Name: "object of a ring", Size: 8, Offsets: []uintptr{0}})
	require.Equal(t, status.OK, st)
	require.Equal(t, status.OK, c.EnterScope())
	given, held := c.ObjectNew(typ), c.ObjectNew(typ)
	require.Equal(t, status.OK, c.Acquire(given))
	require.Equal(t, status.OK, c.Acquire(held))
	require.Equal(t, status.OK, c.ExitScope())
	*field(given), *field(held) = held, 0
	require.Equal(t, status.OK, process.heap.Side().Begin())
	k := newCollector(c)
	k.find()
	k.findBlocks()
	require.Equal(t, status.OK, other.Acquire(given))
	*field(held) = given // the reference that the thread was given
	died := k.collect()
	k.close()
	process.heap.Side().End()
	require.Zero(t, died)
	require.Equal(t, held, *field(given))
	*field(held) = 0
	require.Equal(t, status.OK, other.Release(given))
	require.Equal(t, status.OK, other.Release(given))
	c.Poll()
	c.Drain()
	require.NotEqual(t, status.OK, c.Check(given), "it ends with its last reference")
}
