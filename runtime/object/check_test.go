package object

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// opened gives a context something of everything that the checkers look at.
func opened(t *testing.T, c *Context) (object uintptr) {
	require.Equal(t, status.OK, c.EnterScope())
	require.Equal(t, status.OK, c.FunctionEnter(2))
	require.NotZero(t, c.GetBuffer(1, 100))
	require.NotZero(t, c.FrameEnter(64))
	object = c.New(64)
	oldest := c.New(96)
	for range 100 {
		require.Equal(t, status.OK, c.Register(object))
		c.New(96)
	}
	require.Equal(t, status.OK, c.Unregister(oldest)) // by the index
	require.Equal(t, status.OK, c.Release(oldest))
	require.NotZero(t, c.Index.Below)
	require.NotZero(t, c.Holes)
	warm(c, 64, 96, 64)
	require.NoError(t, Check(nil))
	return object
}

// warm leaves free slots of these sizes above the top of the scope stack, as the fast path does.
func warm(c *Context, sizes ...uintptr) {
	c.Cool()
	c.End, c.Warm = c.Top, c.Top
	for _, size := range sizes {
		m := &c.Magazines[layout.ClassOf(size)]
		m.Top -= layout.EntryBytes
		*layout.At[layout.Entry](c.Warm) = *layout.At[layout.Entry](m.Top)
		c.Warm += layout.EntryBytes
	}
}

// Each of these is a way in which a context, or a record, can be wrong. It is found, and
// no longer once it is undone.
func TestTheCheckersFind(t *testing.T) {
	c := newContext(t)
	object := opened(t, c)
	r := process.heap.Record(process.heap.Find(object).Record)
	m := &c.Magazines[layout.ClassOf(64)]
	top := layout.At[layout.Entry](m.Top - layout.EntryBytes)
	unused := process.heap.Record(top.Record)
	place := layout.At[layout.Entry](c.End)
	placed := process.heap.Record(place.Record)
	slot := c.probe(object)
	lost := process.registry.Wait(registry.Ended{Pointer: 1 << 44, Bytes: 1, Kind: layout.ForeignNewScalar})
	process.registry.Settle(lost)
	set := func(at *uint32, value uint32) damage {
		before := *at
		return damage{func() { *at = value }, func() { *at = before }}
	}
	add := func(at *uint64, n uint64) damage { return damage{func() { *at += n }, func() { *at -= n }} }
	move := func(at *uintptr, n uintptr) damage { return damage{func() { *at += n }, func() { *at -= n }} }
	for what, d := range map[string]damage{
		"the current function":         add(&c.Function, 1),
		"the floor of the function":    add(&c.Floor, 1),
		"its slots":                    add(&c.Slots, 1),
		"its table":                    move(&c.SlotTable, 64),
		"a buffer beyond the frames":   add(&layout.At[layout.Slot](c.SlotTable+layout.SlotBytes).Bytes, 4096),
		"planned frames":               add(&c.Planned, 1),
		"the entries below a mark":     move(&c.OpenMark(2).Top, 1000*layout.EntryBytes),
		"the frame bytes below a mark": move(&c.OpenMark(1).FrameTop, 4096),
		"the function around a mark":   set(&c.OpenMark(2).Outer, 1),
		"a mark that keeps no arena":   move(&c.ArenaMark, c.MarkTop-c.ArenaMark),
		"a mark with another arena":    set(&c.OpenMark(1).Kind, c.OpenMark(1).Kind|layout.MarkArena),
		"the kind of a mark":           set(&c.OpenMark(0).Kind, layout.MarkFunction<<layout.MarkKindShift),
		"holes":                        add(&c.Holes, 1),
		"a top between two entries":    move(&c.Top, 8),
		"an arena of another context": damage{func() {
			c.Arena.Base, c.Arena.Top, c.Arena.End = 64, 64, 64
		}, func() { c.Arena.Base, c.Arena.Top, c.Arena.End = 0, 0, 0 }},
		"the index ends too early":           add(&c.Index.Below, ^uint64(0)),
		"a generation in the index":          set(&slot.gen, slot.gen+layout.GenOne),
		"a chain that is cut":                set(&slot.position, slot.position&^older),
		"a chain that skips entries":         set(&slot.position, slot.position-1),
		"a slot that is lost":                move(&m.Top, ^uintptr(layout.EntryBytes-1)),
		"a magazine above its limit":         move(&m.Limit, ^(m.Limit - m.Top + layout.EntryBytes - 1)),
		"warm places below the top":          move(&c.End, ^uintptr(layout.EntryBytes-1)),
		"a warm place that is lost":          move(&c.End, layout.EntryBytes),
		"more warm places than there are":    move(&c.Warm, 4*layout.EntryBytes),
		"an end without warm places":         move(&c.Warm, -c.Warm),
		"a warm place between two entries":   move(&c.Warm, 8),
		"a warm place of another class":      set(&place.Gen, place.Gen+1),
		"a warm place of a large class":      set(&place.Gen, place.Gen|0x10),
		"a warm place of another life":       set(&place.Gen, place.Gen+layout.GenOne),
		"a warm slot that is alive":          set(&placed.Sh, layout.ShAlive|layout.ShMerged|layout.ShOne),
		"a warm slot with a type":            set(&placed.TypeFlags, layout.TypeVecData),
		"a slot of another class":            set(&top.Gen, top.Gen+1),
		"another slot's record":              set(&top.Record, top.Record+1),
		"a free slot that is alive":          set(&unused.Sh, layout.ShAlive|layout.ShMerged|layout.ShOne),
		"a free slot with a type":            set(&unused.TypeFlags, layout.TypeVecData),
		"an unknown type":                    set(&r.TypeFlags, 1<<20),
		"an owner that there is not":         set(&r.Loc, r.Loc|0xFF<<layout.LocOwnerShift),
		"a merged local word":                set(&r.Sh, r.Sh|layout.ShMerged),
		"an object that is dead":             set(&r.Sh, 0),
		"a destruction queue that is longer": set(&c.Draining.DestroyFirst, top.Record),
		"an object that is said to wait":     damage{func() { c.Handed.Deferred++ }, func() { c.Handed.Deferred-- }},
		"a node that is lost":                set(&process.nodes.fresh, process.nodes.fresh+1),
		"a pending deleter call that is in no list": damage{func() {
			lost = process.registry.Wait(registry.Ended{Pointer: 1 << 44, Bytes: 1, Kind: layout.ForeignNewScalar})
		}, func() { process.registry.Settle(lost) }},
		"a pending deleter call of none": damage{func() { c.Draining.DeleterFirst, c.Draining.DeleterLast = lost, lost },
			func() { c.Draining.DeleterFirst, c.Draining.DeleterLast = 0, 0 }},
	} {
		d.do()
		require.Error(t, Check(nil), what)
		d.undo()
		require.NoError(t, Check(nil), what)
	}
	c.Cool()
	require.Zero(t, c.Warm)
	require.NoError(t, Check(nil))
	require.Equal(t, status.OK, c.ExitScopesTo(0))
}

// Warm places are free for whoever reads statistics.
func TestWarmPlacesAreFree(t *testing.T) {
	c := newContext(t)
	c.New(64)
	c.New(96)
	before := ReadStats()
	warm(c, 64, 64, 96)
	after := ReadStats()
	require.Equal(t, before.LiveObjects, after.LiveObjects)
	require.Equal(t, before.LiveBytes, after.LiveBytes)
	require.NoError(t, CheckStats())
	require.NotZero(t, c.returnMagazines())
	require.Zero(t, c.Warm)
	require.NoError(t, Check(nil))
}

type damage struct{ do, undo func() }
