package object

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

func recordOf(p uintptr) *layout.Record { return process.heap.Record(process.heap.Find(p).Record) }

// A slot on its last life is retired, so no reference to it ever means another object.
func TestRefsOfTheLastLife(t *testing.T) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	for _, size := range []uintptr{32, 4000, 100000} {
		p := c.Alloc(size)
		r := recordOf(p)
		class := r.Gen & 0xFF
		r.Gen = layout.GenLast | class
		ref := c.RefOf(p)
		require.EqualValues(t, layout.GenLast|class, ref.gen())
		require.Equal(t, p, c.GetRef(ref))
		require.Equal(t, p, c.Upgrade(ref))
		require.Equal(t, status.OK, c.ReleaseRef(ref))
		require.Equal(t, status.OK, c.ReleaseRef(ref))
		for range 100 {
			q := c.Alloc(size)
			require.NotEqual(t, process.heap.Record(ref.record()), recordOf(q), "the slot was used again")
			require.Equal(t, status.NotLive, c.CheckRef(ref))
			require.Zero(t, c.Upgrade(ref))
			require.Equal(t, status.OK, status.Status(c.Error.Status))
			require.Equal(t, status.OK, c.Release(q))
		}
	}
	require.Zero(t, ReadStats().LiveObjects)
}

// Between the look at the shared word and the compare and swap the object may die and its
// slot get another one that looks alike: that one keeps its count.
func TestUpgradeMeetsALaterLife(t *testing.T) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	old, _ := c.AllocHeld(64)
	ref := c.RefOf(old)
	r, sh, s := ref.look()
	require.Equal(t, live, s)
	o := object{r, layout.Entry{Object: old, Record: ref.record(), Gen: ref.gen()}}
	require.Equal(t, status.OK, c.Release(old))
	later, _ := c.AllocHeld(64)
	require.Equal(t, old, later)
	require.Equal(t, sh, atomic.LoadUint32(&r.Sh), "the test needs words that look alike")
	require.False(t, c.upgradeShared(ref, o, sh))
	require.EqualValues(t, 1, c.Refcount(later))
	require.Zero(t, c.Upgrade(ref))

	// The holder of the later one lets go while the reference too many stands: whoever made it ends the object,
	// where that is now. The class, and so the address, may be another one than when it was looked up.
	next := c.RefOf(later)
	atomic.AddUint32(&r.Sh, layout.ShOne)
	require.Equal(t, status.OK, c.Release(later))
	astray := o.Entry
	astray.Object += 64
	require.False(t, c.isStill(ref, object{r, astray}))
	require.Equal(t, status.NotLive, c.CheckRef(next))
	again, _ := c.AllocHeld(64)
	require.Equal(t, old, again, "the slot that came back is the object's")
	require.Equal(t, status.OK, c.Release(again))
	require.Zero(t, ReadStats().LiveObjects)
}

// A release found its object before that ended, and comes to count when the slot has a later one: in whatever state
// that is, it keeps its references.
func TestReleaseMeetsALaterLife(t *testing.T) {
	c, other := twoContexts(t)
	old := c.Alloc(64)
	ref := c.RefOf(old)
	r, _, s := ref.look()
	require.Equal(t, live, s)
	stale := ref.object(r).Entry
	require.Equal(t, status.OK, c.Release(old))
	later := c.Alloc(64)
	require.Equal(t, old, later)
	require.Equal(t, status.OK, c.Acquire(later))
	keeps := func(state string) {
		loc, sh := atomic.LoadUint32(&r.Loc), atomic.LoadUint32(&r.Sh)
		require.Equal(t, dead, other.dropShared(r, stale), state)
		require.Equal(t, [2]uint32{loc, sh}, [2]uint32{atomic.LoadUint32(&r.Loc), atomic.LoadUint32(&r.Sh)}, state)
	}
	keeps("owned")
	require.Equal(t, status.OK, other.Release(later))
	keeps("queued")
	c.Poll()
	keeps("merged")
	require.Equal(t, status.OK, other.Release(later))
	require.Zero(t, ReadStats().LiveObjects)
}

// While the owner merges, nobody can tell who counts.
func TestUpgradeWaitsForAMerge(t *testing.T) {
	c, other := twoContexts(t)
	p := c.Alloc(64)
	ref, r := c.RefOf(p), recordOf(p)
	loc := atomic.SwapUint32(&r.Loc, 0)
	got := make(chan uintptr)
	go func() { got <- other.Upgrade(ref) }()
	merge(r, loc, 0)
	require.Equal(t, p, <-got)
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, other.Release(p))
	require.Equal(t, status.OK, c.Release(p))
	require.Zero(t, ReadStats().LiveObjects)
}

// A block of records keeps its place in the table for ever, with one class.
func TestRefsOfBlocksThatAreUsedAgain(t *testing.T) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	for round := range 3 {
		var all []uintptr
		var refs []Ref
		for i := range 6000 {
			p := c.Alloc(uintptr(32 << (i % 3)))
			all, refs = append(all, p), append(refs, c.RefOf(p))
		}
		for i, ref := range refs {
			require.Equal(t, all[i], c.GetRef(ref), "round %d", round)
			require.Equal(t, all[i], process.heap.LocateAny(ref.record(), ref.gen()&0xFF))
			require.Equal(t, status.OK, c.ReleaseRef(ref))
		}
		c.Purge()
		for _, ref := range refs {
			require.Equal(t, status.NotLive, c.CheckRef(ref))
			require.Zero(t, c.Upgrade(ref))
		}
		require.NoError(t, process.heap.Check(func(uint32) {}))
	}
	require.Zero(t, ReadStats().LiveObjects)
}

func twoContexts(t *testing.T) (c, other *Context) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	other, st = NewContext()
	require.Equal(t, status.OK, st)
	return c, other
}

// staleMark returns a live object of c's, its record, and the entry of the object that was in its slot before.
func staleMark(t *testing.T, c *Context) (later uintptr, r *layout.Record, old layout.Entry) {
	p := c.Alloc(64)
	ref := c.RefOf(p)
	old = layout.Entry{Object: p, Record: ref.record(), Gen: ref.gen()}
	require.Equal(t, status.OK, c.Release(p))
	later = c.Alloc(64)
	require.Equal(t, p, later, "the test needs the same slot")
	r = recordOf(later)
	require.Equal(t, uint32(layout.ShAlive), atomic.LoadUint32(&r.Sh), "the test needs words that look alike")
	return later, r, old
}

// An acquire by a stale reference counts at the slot's next object, which gives it back, or the owner of the object
// that was meant has stored over the count: then the next one loses nothing.
func TestAStaleAcquireCostsNoReference(t *testing.T) {
	for _, counted := range []bool{false, true} {
		c, other := twoContexts(t)
		later, r, old := staleMark(t, c)
		if counted {
			require.Equal(t, status.OK, other.retain(r))
		}
		require.False(t, other.isStill(Ref(old.Gen)<<32|Ref(old.Record), object{Entry: old, Record: r}))
		require.Equal(t, uint32(layout.ShAlive), atomic.LoadUint32(&r.Sh))
		require.Equal(t, status.OK, c.Release(later))
		require.Zero(t, ReadStats().LiveObjects)
	}
}

// A release that comes too late marks the slot's next object as queued: that one loses nothing, and ends with its
// owner's release.
func TestALateMarkCostsNoReference(t *testing.T) {
	c, other := twoContexts(t)
	later, r, old := staleMark(t, c)
	done, out := other.queue(r, old, layout.ShAlive, layout.ShAlive|layout.ShQueued, atomic.LoadUint32(&r.Loc))
	require.True(t, done)
	require.Equal(t, dead, out)
	c.drain(c)
	require.EqualValues(t, 1, c.Refcount(later))
	require.Equal(t, status.OK, c.Release(later))
	require.Zero(t, ReadStats().LiveObjects)
}

// Two late releases, of which one lost its mark, give the object two references and two nodes, however they come.
func TestTwoLateMarksCostNoReference(t *testing.T) {
	c, other := twoContexts(t)
	for _, released := range []bool{false, true} {
		later, r, old := staleMark(t, c)
		loc := atomic.LoadUint32(&r.Loc)
		_, out := other.queue(r, old, layout.ShAlive, layout.ShAlive|layout.ShQueued, loc)
		require.Equal(t, dead, out)
		atomic.AddUint32(&r.Sh, layout.Sh{Count: 1}.Pack())
		n := other.takeNode()
		*nodeAt(n) = layout.Node{Object: later, Record: old.Record, Gen: atomic.LoadUint32(&r.Gen)}
		other.deliver(process.slices.slice(layout.LocOwner(loc)), n)
		if released {
			require.Equal(t, status.OK, c.Release(later))
		}
		c.drain(c)
		if !released {
			require.EqualValues(t, 1, c.Refcount(later))
			require.Equal(t, status.OK, c.Release(later))
		}
		require.Zero(t, ReadStats().LiveObjects)
	}
}
