package object

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// newContext gives a test a context, and checks at the end that nothing lives.
func newContext(t *testing.T) *Context {
	t.Helper()
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	t.Cleanup(func() {
		c.Finish()
		settle()
		require.Zero(t, ReadStats().LiveObjects)
		require.Zero(t, ReadStats().LiveBytes)
		require.NoError(t, Check(nil))
	})
	return c
}

// settle has every parked context's work done.
func settle() {
	c, _ := NewContext()
	process.g.Reap = 1
	c.Reap()
	c.Drain()
	c.Finish()
}

// Owners make objects, hand references to others and end, with scopes open and
// releases in flight; every reference is dropped exactly once by somebody.
func TestStressHandOver(t *testing.T) {
	const owners, takers, perOwner = 12, 4, 400
	work := make(chan uintptr, 256)
	var wg, done sync.WaitGroup
	for range takers {
		done.Add(1)
		go func() {
			defer done.Done()
			takeReferences(t, work)
		}()
	}
	for seed := range owners {
		wg.Add(1)
		go func() {
			defer wg.Done()
			makeReferences(t, work, uint64(seed), perOwner)
		}()
	}
	wg.Wait()
	close(work)
	done.Wait()
	settle()
	require.Zero(t, ReadStats().LiveObjects)
}

func makeReferences(t *testing.T, work chan<- uintptr, seed uint64, n int) {
	c, st := NewContext()
	if st != status.OK {
		t.Error(st)
		return
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	c.EnterScope()
	for range n {
		p := c.New(uintptr(32 + rng.IntN(200)))
		for range 1 + rng.IntN(3) {
			if c.Acquire(p) != status.OK {
				t.Error(c.Message())
			}
			work <- p
		}
		if rng.IntN(8) == 0 {
			c.Share(p)
		}
		if rng.IntN(10) == 0 {
			c.ExitScope()
			c.EnterScope()
		}
	}
	if seed%2 == 0 {
		c.Park() // as a thread that ends with its scope open
		return
	}
	c.Finish()
}

func takeReferences(t *testing.T, work <-chan uintptr) {
	c, st := NewContext()
	if st != status.OK {
		t.Error(st)
		return
	}
	rng := rand.New(rand.NewPCG(11, 13))
	for p := range work {
		if rng.IntN(2) == 0 && (c.Acquire(p) != status.OK || c.Release(p) != status.OK) {
			t.Error(c.Message())
		}
		if c.Release(p) != status.OK {
			t.Error(c.Message())
		}
		c.Poll()
	}
	c.Finish()
}

// One object whose count is pushed past 65,535 by its owner and by others at once.
func TestCountsBeyondTheLocalWord(t *testing.T) {
	c := newContext(t)
	p := c.Alloc(64)
	const each = 40000
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			other, _ := NewContext()
			defer other.Finish()
			for range each {
				other.Acquire(p)
			}
			for range each {
				if other.Release(p) != status.OK {
					t.Error(other.Message())
				}
			}
		}()
	}
	for range 200000 {
		require.Equal(t, status.OK, c.Acquire(p))
	}
	wg.Wait()
	c.Poll()
	require.EqualValues(t, 200001, c.Refcount(p))
	for range 200001 {
		require.Equal(t, status.OK, c.Release(p))
	}
	require.Equal(t, status.NotLive, c.Check(p))
}

// A shared count that would overflow sticks: the object lives for ever.
func TestStickyCount(t *testing.T) {
	c := newContext(t)
	p := c.Alloc(32)
	r := process.heap.Record(process.heap.Find(p).Record)
	require.Equal(t, status.OK, c.Share(p))
	r.Sh = r.Sh&0x3FF | layout.ShCountMax<<10
	require.Equal(t, status.OK, c.Acquire(p))
	require.EqualValues(t, ImmortalCount, c.Refcount(p))
	require.Equal(t, status.OK, c.Release(p))
	require.Equal(t, status.OK, c.Check(p))
	r.Sh = layout.ShAlive | layout.ShMerged | layout.ShOne // undo, so that the test ends clean
	require.Equal(t, status.OK, c.Release(p))
}

// A scope whose object was freed by hand and whose slot was used again must not
// release the newcomer: without the generation in its entry it would.
func TestScopeEntrySkipsAReusedSlot(t *testing.T) {
	c := newContext(t)
	c.EnterScope()
	p := c.New(64)
	require.Equal(t, status.OK, c.Release(p)) // frees it under the scope's feet
	q := c.Alloc(64)
	require.Equal(t, p, q, "the slot is used again")
	before := c.Skipped
	require.Equal(t, status.OK, c.ExitScope())
	require.Equal(t, before+1, c.Skipped)
	require.EqualValues(t, 1, c.Refcount(q))
	require.Equal(t, status.OK, c.Free(q))
}

func TestUnregisterAnywhereInALargeScope(t *testing.T) {
	c := newContext(t)
	n := 200000
	if memory.Instrumented {
		n = 3000 // the scope stack is small there
	}
	c.EnterScope()
	objects := make([]uintptr, n)
	for i := range objects {
		objects[i] = c.New(32)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	rng.Shuffle(n, func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	for _, p := range objects[:n*7/8] {
		require.Equal(t, status.OK, c.Unregister(p))
		require.Equal(t, status.OK, c.Free(p))
	}
	for _, p := range objects[n*7/8:] {
		require.EqualValues(t, 1, c.Refcount(p))
	}
	if !memory.Instrumented {
		require.Less(t, c.entryCount(), uint64(n/2), "holes were closed")
	}
	require.Equal(t, status.OK, c.ExitScope())
}

// The same pointer many times in nested scopes: unregister takes the newest.
func TestIndexKeepsTheNewestFirst(t *testing.T) {
	c := newContext(t)
	p := c.Alloc(32)
	for depth := range 5 {
		c.EnterScope()
		for range 20 + depth {
			require.Equal(t, status.OK, c.Register(p))
			for range 20 { // all in all fewer entries than the race build's scope stack holds
				c.New(32)
			}
		}
	}
	for range 50 {
		for range 14 {
			at, found := c.find(p, 0)
			want, _ := c.findLinear(p, 0, c.entryCount())
			require.True(t, found)
			require.Equal(t, want, at)
			require.Equal(t, status.OK, c.Unregister(p))
		}
		for range 14 {
			require.Equal(t, status.OK, c.Register(p))
		}
	}
	require.Equal(t, status.OK, c.ExitScopesTo(0))
}

// The owner's float is handed to another thread, which registers it, while the owner
// registers too: both must end up with a count of their own.
func TestAFloatIsSunkOnce(t *testing.T) {
	c, other := newContext(t), newContext(t)
	p := c.Alloc(64)
	require.Equal(t, status.OK, c.Acquire(p))
	other.EnterScope()
	c.EnterScope()
	require.Equal(t, status.OK, other.Register(p))
	require.Equal(t, status.OK, c.Register(p)) // before the inbox is read
	require.Equal(t, status.OK, c.ExitScope())
	require.Equal(t, status.OK, c.Release(p))
	c.Poll()
	require.EqualValues(t, 1, c.Refcount(p), "the other scope holds it")
	require.Equal(t, status.OK, other.ExitScope())
	c.Poll()
	require.Equal(t, status.NotLive, c.Check(p))
}

// Handed over and not registered by the owner: the claim drops the float.
func TestAClaimTakesTheFloat(t *testing.T) {
	c, other := newContext(t), newContext(t)
	p := c.Alloc(64)
	other.EnterScope()
	require.Equal(t, status.OK, other.Register(p))
	c.Poll()
	require.EqualValues(t, 1, c.Refcount(p))
	require.Equal(t, status.OK, other.ExitScope())
	c.Poll()
	require.Equal(t, status.NotLive, c.Check(p))
}

// A float made after a claim is not the claim's: if the owner did not merge first, the claim
// would take it and leave one count too few.
func TestAClaimNeverTakesALaterFloat(t *testing.T) {
	c, other := newContext(t), newContext(t)
	p := c.Alloc(64)
	c.Acquire(p)
	other.EnterScope()
	require.Equal(t, status.OK, other.Register(p))
	require.Equal(t, status.OK, other.ExitScope())
	c.EnterScope()
	require.Equal(t, status.OK, c.Register(p))
	require.Equal(t, status.OK, c.Unregister(p))
	c.Poll()
	before := c.Refcount(p)
	require.Equal(t, status.OK, c.Release(p))
	require.Equal(t, before-1, c.Refcount(p), "the floating reference is still there")
	require.Equal(t, status.OK, c.Free(p))
	c.ExitScope()
}
