package object

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// TestCountsOfEveryKindFollowAModel makes and frees objects of every kind at random
// and compares what was ever made, what is live and its bytes with a model's.
func TestCountsOfEveryKindFollowAModel(t *testing.T) {
	c := newContext(t)
	kinds := modelKinds(t, c)
	rapid.Check(t, func(r *rapid.T) {
		before := census()
		made, live := make([]uint64, len(kinds)), make([][]uintptr, len(kinds))
		kind := rapid.IntRange(0, len(kinds)-1)
		r.Repeat(map[string]func(*rapid.T){
			"make": func(r *rapid.T) {
				k := kind.Draw(r, "kind")
				live[k] = append(live[k], kinds[k].make())
				made[k]++
			},
			"free": func(r *rapid.T) {
				k := kind.Draw(r, "kind")
				if n := len(live[k]); n > 0 {
					require.Equal(r, status.OK, c.Release(live[k][n-1]))
					c.Drain()
					live[k] = live[k][:n-1]
				}
			},
			"return magazines": func(*rapid.T) { c.returnMagazines() },
			"": func(r *rapid.T) {
				require.NoError(r, CheckStats())
				now := census()
				for k := range kinds {
					got, first := kinds[k].read(now), kinds[k].read(before)
					require.Equal(r, made[k], got.Allocations-first.Allocations, kinds[k].name)
					require.Equal(r, made[k]-uint64(len(live[k])), got.Frees-first.Frees, kinds[k].name)
					require.Equal(r, uint64(len(live[k]))*kinds[k].bytes, got.Bytes-first.Bytes, kinds[k].name)
				}
			},
		})
		for _, objects := range live {
			for _, p := range objects {
				require.Equal(r, status.OK, c.Release(p))
			}
		}
		c.Drain()
	})
}

// counts are all figures at one moment.
type counts struct {
	stats Stats
	types []TypeStats
}

func census() counts { return counts{ReadStats(), ReadTypes()} }

// modelKind is a kind of objects that the model test makes.
type modelKind struct {
	name  string
	bytes uint64
	make  func() uintptr
	read  func(counts) KindStats
}

func modelKinds(t *testing.T, c *Context) []modelKind {
	class := func(class int) func(counts) KindStats {
		return func(n counts) KindStats {
			k := n.stats.Classes[class]
			return KindStats{k.Allocations, k.Frees, k.Bytes}
		}
	}
	kinds := []modelKind{
		{"1000 bytes", 1024, func() uintptr { return c.Alloc(1000) }, class(int(layout.ClassOf(1000)))},
		{"held", 8192, func() uintptr { p, _ := c.AllocHeld(8000); return p }, class(int(layout.ClassOf(8000)))},
		{"large", 3 << 16, func() uintptr { return c.Alloc(150_000) }, class(layout.ClassLarge)},
		{"Vec", 32, unregistered(c, func() uintptr { return c.VecNew(0) }),
			func(n counts) KindStats { return n.stats.Kinds[layout.TypeVec] }},
	}
	for _, size := range []uintptr{24, 4000, 20_000} {
		typ, st := c.Define(Type{Name: "model", Size: size})
		require.Equal(t, status.OK, st)
		kinds = append(kinds, modelKind{"typed", slotBytes(size), unregistered(c, func() uintptr {
			return c.ObjectNew(typ)
		}),
			func(n counts) KindStats { return n.types[typ-layout.TypeFirstUser].KindStats }})
	}
	return kinds
}

func unregistered(c *Context, make func() uintptr) func() uintptr {
	return func() uintptr {
		p := make()
		c.Unregister(p)
		return p
	}
}

// TestATypeThatContextsDoNotCountIsCounted has no room for any type in the contexts.
func TestATypeThatContextsDoNotCountIsCounted(t *testing.T) {
	c := newContext(t)
	counted := process.g.CountedTypes
	process.g.CountedTypes = 0
	defer func() { process.g.CountedTypes = counted }()
	typ, st := c.Define(Type{Name: "beyond", Size: 64})
	require.Equal(t, status.OK, st)
	c.EnterScope()
	for range 5 {
		c.ObjectNew(typ)
	}
	kept := c.ObjectNew(typ)
	c.Acquire(kept)
	c.ExitScope()
	types := ReadTypes()
	got := types[len(types)-1]
	require.Equal(t, TypeStats{typ, "beyond", KindStats{Allocations: 6, Frees: 5, Bytes: 64}}, got)
	var each KindStats
	for i := range types {
		each.Allocations += types[i].Allocations
		each.Frees += types[i].Frees
		each.Bytes += types[i].Bytes
	}
	require.Equal(t, each, SumTypes())
	require.Equal(t, status.OK, c.Release(kept))
	c.Drain()
	process.counters.types.Delete(typ - layout.TypeFirstUser)
}

// TestLiveIsNeverNegativeWhileThreadsWork reads all the time: what is live may be too
// high, and no figure may be below what nobody touches.
func TestLiveIsNeverNegativeWhileThreadsWork(t *testing.T) {
	c := newContext(t)
	typ, st := c.Define(Type{Name: "busy", Size: 48})
	require.Equal(t, status.OK, st)
	const kept = 100
	var still []uintptr
	for range kept {
		still = append(still, c.Alloc(64))
	}
	var workers sync.WaitGroup
	var stop atomic.Bool
	for seed := range uint64(4) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			workUntil(t, &stop, typ, seed)
		}()
	}
	for range 300 {
		checkAtAnyMoment(t, kept)
	}
	stop.Store(true)
	workers.Wait()
	for _, p := range still {
		require.Equal(t, status.OK, c.Release(p))
	}
	settle()
}

// implausible is more than the test can have live, and less than a negative number.
const implausible = 1 << 30

func checkAtAnyMoment(t *testing.T, kept uint64) {
	t.Helper()
	s := ReadStats()
	require.Equal(t, s.Allocations-s.Frees, s.LiveObjects)
	require.GreaterOrEqual(t, s.LiveObjects, kept)
	require.Less(t, s.LiveObjects, uint64(implausible))
	for class := range s.Classes {
		require.Less(t, s.Classes[class].Live(), uint64(implausible), "class %d", class)
		require.Less(t, s.Classes[class].Bytes, uint64(implausible)<<6, "class %d", class)
	}
	for kind := range s.Kinds {
		require.Less(t, s.Kinds[kind].Live(), uint64(implausible), "kind %d", kind)
	}
	for _, typ := range ReadTypes() {
		require.Less(t, typ.Live(), uint64(implausible), typ.Name)
	}
}

// workUntil makes objects in contexts that come and go.
func workUntil(t *testing.T, stop *atomic.Bool, typ uint32, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	for !stop.Load() {
		c, st := NewContext()
		if st != status.OK {
			t.Error(st)
			return
		}
		for range 20 {
			c.EnterScope()
			for range rng.IntN(60) {
				c.New(uintptr(1 + rng.IntN(100_000)))
				c.ObjectNew(typ)
			}
			c.VecNew(uintptr(rng.IntN(50)))
			c.ExitScope()
			c.Poll()
		}
		c.Finish()
	}
}

// A processor may show a thread's frees before the allocations that came first.
func TestLiveIsNeverBelowZero(t *testing.T) {
	if got := (&KindStats{Allocations: 1, Frees: 2}).Live(); got != 0 {
		t.Errorf("%d slots of a kind are live", got)
	}
	if got := (&ClassStats{Allocations: 1, Frees: 2}).Live(); got != 0 {
		t.Errorf("%d slots of a class are live", got)
	}
}
