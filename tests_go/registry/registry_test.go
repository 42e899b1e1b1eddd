// Package registry tests that the fast path and the slow one make the same of a registry of
// foreign pointers: after each step both tables hold the same blocks, and keep every invariant.
package registry

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
	"tlruntime/tests_go/registry/cpath"
)

const (
	base   = uintptr(0x7f00_0000_0000)
	unit   = uintptr(1 << 10)
	region = uintptr(1 << 16)
)

// machine is one random run.
type machine struct {
	fast  cpath.Path
	slow  *registry.Table
	known []uintptr // addresses that were ever entered
	ids   []uint64  // of shared blocks, of which some have ended
}

func open(t *rapid.T) *machine {
	shards := rapid.SampledFrom([]int{1, 2, 64}).Draw(t, "shards")
	table, st := registry.Open(shards)
	require.Equal(t, status.OK, st)
	m := &machine{fast: cpath.Attach(table)}
	m.slow, st = registry.Open(shards)
	require.Equal(t, status.OK, st)
	for i := range uintptr(rapid.SampledFrom([]int{0, 35}).Draw(t, "crowd")) { // cells that stand in each other's way
		_, wanted := m.slow.Adopt(base+(i+100)*region, 16)
		_, r := m.fast.Adopt(base+(i+100)*region, 16)
		require.Equal(t, wanted, r)
	}
	return m
}

// block draws one near the edge of a unit or of a region, that ends before it, beyond it or
// several units further.
func block(t *rapid.T) (p, bytes uintptr) {
	edge := rapid.SampledFrom([]uintptr{unit, unit, unit, region}).Draw(t, "edge")
	p = base + edge*uintptr(rapid.IntRange(1, 12).Draw(t, "at")) - 16*uintptr(rapid.IntRange(-1, 8).Draw(t, "before"))
	most := rapid.SampledFrom([]int{100, 300, 1500, 5000, 70_000, 200_000}).Draw(t, "most")
	between := 8 * uintptr(rapid.IntRange(0, 4).Draw(t, "between")/4) // as mallocs do that align to 8
	return p + between, uintptr(rapid.IntRange(1, most).Draw(t, "bytes"))
}

func (m *machine) one(t *rapid.T) uintptr {
	if len(m.known) == 0 {
		p, _ := block(t)
		return p
	}
	return rapid.SampledFrom(m.known).Draw(t, "known")
}

func (m *machine) enter(p uintptr) {
	if at, found := slices.BinarySearch(m.known, p); !found {
		m.known = slices.Insert(m.known, at, p)
	}
}

func (m *machine) adopt(t *rapid.T) {
	p, bytes := block(t)
	gen, r := m.fast.Adopt(p, bytes)
	want, wanted := m.slow.Adopt(p, bytes)
	require.Equal(t, wanted, r, "%#x, %d bytes", p, bytes)
	if r == registry.OK {
		require.Equal(t, want, gen)
		m.enter(p)
	}
}

func (m *machine) insert(t *rapid.T) {
	p, bytes := block(t)
	kind := rapid.SampledFrom([]uint8{layout.ForeignNewArray, layout.ForeignAligned}).Draw(t, "kind")
	_, wanted := m.slow.Insert(p, bytes, kind, 0)
	require.Equal(t, wanted, m.fast.Insert(p, bytes, kind), "%#x, %d bytes", p, bytes)
	if wanted == registry.OK {
		m.enter(p)
	}
}

// custom draws a block whose deleter is told from others by its context.
func (m *machine) custom(t *rapid.T) registry.Block {
	p, bytes := block(t)
	return registry.Block{Real: p, Bytes: bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: uintptr(len(m.known))}
}

func (m *machine) insertCustom(t *rapid.T) {
	b := m.custom(t)
	wanted := m.slow.InsertCustom(b)
	require.Equal(t, wanted, m.fast.InsertCustom(b), "%#x, %d bytes", b.Real, b.Bytes)
	if wanted == registry.OK {
		m.enter(b.Real)
	}
}

// insertShared is Go's in both tables, which give the block the same number.
func (m *machine) insertShared(t *rapid.T) {
	b := m.custom(t)
	b.Kind = rapid.SampledFrom([]uint8{layout.ForeignCustom, layout.ForeignMalloc}).Draw(t, "kind")
	aliases := []uintptr{b.Real + b.Bytes/2, b.Real}[:rapid.IntRange(0, 2).Draw(t, "aliases")]
	id, names, _, wanted := m.slow.InsertShared(b, aliases)
	same, as, _, r := m.fast.InsertShared(b, aliases)
	require.Equal(t, wanted, r)
	require.Equal(t, []uint64{id, names}, []uint64{same, as})
	if wanted == registry.OK {
		m.ids = append(m.ids, id)
		m.enter(b.Real)
		for _, p := range aliases {
			m.enter(p)
		}
	}
}

func (m *machine) addAlias(t *rapid.T) {
	id, p := uint64(rapid.IntRange(0, 1<<9).Draw(t, "no id")), base
	if len(m.ids) > 0 {
		id = rapid.SampledFrom(m.ids).Draw(t, "id")
		p = m.one(t) + 8*uintptr(rapid.IntRange(-2, 40).Draw(t, "offset"))
	}
	fresh, wanted := m.slow.AddAlias(id, p)
	got, r := m.fast.AddAlias(id, p)
	require.Equal(t, wanted, r, "%#x of %#x", p, id)
	require.Equal(t, fresh, got)
	if wanted == registry.OK {
		m.enter(p)
	}
}

// settled is what Go hands out for freeing, its record given back, as far as C tells of it.
func (m *machine) settled(e registry.Ended, r registry.Result) registry.Ended {
	if e.Record != 0 {
		m.slow.Settle(e.Record)
	}
	if r != registry.Gone {
		return registry.Ended{}
	}
	e.Record, e.Bytes, e.Returned = 0, 0, false
	return e
}

func (m *machine) release(t *rapid.T) {
	p, keep := m.one(t), rapid.Bool().Draw(t, "keep")
	want, wanted := m.slow.Release(p)
	got, r := m.fast.Release(p, keep)
	require.Equal(t, wanted, r, "%#x", p)
	require.Equal(t, m.settled(want, wanted), got)
}

func (m *machine) releaseEntry(t *rapid.T) {
	p, keep := m.one(t), rapid.Bool().Draw(t, "keep")
	info, _ := m.slow.Info(p)
	gen := info.Gen + uint32(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "other"))
	want, wanted := m.slow.ReleaseEntry(p, gen)
	got, r := m.fast.ReleaseEntry(p, gen, keep)
	require.Equal(t, wanted, r, "%#x", p)
	require.Equal(t, m.settled(want, wanted), got)
}

func (m *machine) register(t *rapid.T) {
	p := m.one(t)
	gen, r := m.fast.Register(p)
	want, wanted := m.slow.Register(p)
	require.Equal(t, wanted, r)
	if r == registry.OK {
		require.Equal(t, want, gen)
	}
}

// each runs a step on a known pointer in both paths; most often with the generation that it has.
func (m *machine) each(fast, slow func(p uintptr, gen uint32) registry.Result) func(*rapid.T) {
	return func(t *rapid.T) {
		p := m.one(t)
		info, _ := m.slow.Info(p)
		gen := info.Gen + uint32(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "other"))
		wanted := slow(p, gen)
		require.Equal(t, wanted, fast(p, gen), "%#x", p)
	}
}

// freeAligned is what Go does for tl_aligned_free (object.Context.AlignedFree).
func (m *machine) freeAligned(p uintptr) registry.Result {
	info, known := m.slow.Info(p)
	if !known {
		return registry.Miss
	}
	if info.Count != 0 || info.Kind != layout.ForeignAligned || info.Link != 0 {
		return registry.Refused
	}
	_, r := m.slow.Forget(p)
	return r
}

func (m *machine) covered(t *rapid.T) {
	p, _ := block(t)
	p &^= 15 // between granules Go alone knows
	require.Equal(t, m.slow.Covered(p), m.fast.Covered(p), "%#x", p)
}

func (m *machine) check(t *rapid.T) {
	require.NoError(t, m.fast.Check())
	for _, p := range m.known {
		info, known := m.fast.Info(p)
		want, wanted := m.slow.Info(p)
		require.Equal(t, wanted, known, "%#x", p)
		require.Equal(t, want, info)
		told, live := m.fast.Describe(p)
		wantTold, wantLive := m.slow.Describe(p)
		require.Equal(t, wantLive, live)
		require.Equal(t, wantTold, told)
	}
	got, want := m.fast.Totals(), m.slow.Totals()
	got.Memory, want.Memory = 0, 0
	require.Equal(t, want, got)
}

func TestBothPathsMakeTheSameTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := open(t)
		defer m.fast.Close()
		defer m.slow.Close()
		without := func(f func(uintptr) registry.Result) func(uintptr, uint32) registry.Result {
			return func(p uintptr, _ uint32) registry.Result { return f(p) }
		}
		floated := func(p uintptr, gen uint32) registry.Result { _, r := m.slow.Float(p, gen); return r }
		t.Repeat(map[string]func(*rapid.T){
			"adopt": m.adopt, "adopt too": m.adopt, "adopt more": m.adopt, "insert": m.insert, "insert too": m.insert,
			"register": m.register, "covered": m.covered, "": m.check,
			"acquire":       m.each(without(m.fast.Acquire), without(m.slow.Acquire)),
			"dec ref":       m.each(without(m.fast.DecRef), without(m.slow.DecRef)),
			"float":         m.each(m.fast.Float, floated),
			"free aligned":  m.each(without(m.fast.FreeAligned), without(m.freeAligned)),
			"release":       m.release,
			"release entry": m.releaseEntry,
			"insert custom": m.insertCustom, "insert shared": m.insertShared,
			"add alias": m.addAlias, "add alias too": m.addAlias,
		})
	})
}

// C cannot wait for the thread that reads a block, so it changes nothing.
func TestTheFastPathDoesNotEndABlockThatIsRead(t *testing.T) {
	const owner, typ = 3 << 20, 7
	table, st := registry.Open(1)
	require.Equal(t, status.OK, st)
	defer table.Close()
	fast := cpath.Attach(table)
	gen, r := table.InsertTyped(base, 64, typ, owner)
	require.Equal(t, registry.OK, r)
	block, reading := table.StartReading(base, owner)
	require.True(t, reading)
	_, r = fast.Release(base, false)
	require.Equal(t, cpath.Slow, r)
	_, r = fast.ReleaseEntry(base, gen, false)
	require.Equal(t, cpath.Slow, r)
	require.True(t, table.IsUntouched(block))
	require.Equal(t, registry.OK, fast.Acquire(base))
	_, r = fast.Release(base, false)
	require.Equal(t, registry.OK, r, "not the last reference")
	table.StopReading(base)
	ended, r := table.Release(base)
	require.Equal(t, registry.Gone, r)
	table.SettleTyped(ended.Record)
	require.NoError(t, table.Check())
}
