package registry

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

// model is the registry as a map, with coverage by looking at every block.
type model struct {
	table  *Table
	blocks map[uintptr]*modelBlock
	shared []*modelShared // also those that ended
}

type modelBlock struct {
	bytes         uintptr
	count, floats uint32
	gen           uint32
	adopted, back bool
	shared        *modelShared // of which it is an alias
	ctx           uintptr      // of its deleter, 0 = none
}

func (b *modelBlock) live() bool { return b.count > 0 && !b.back }

// owns tells whether a block of bytes is covered.
func (b *modelBlock) owns() bool { return b.live() || b.ctx != 0 }

// inside tells whether p is in a block that is covered. What is before the first granule of a block is
// known where p is its start, or an alias of it.
func (m *model) inside(p uintptr) bool {
	in := func(start, bytes uintptr) bool { return start <= p&^15 && p-start < bytes }
	if b := m.blocks[p]; b != nil && (b.shared != nil || b.owns() && b.bytes > 0) {
		return true
	}
	for start, b := range m.blocks {
		if b.owns() && in(start, b.bytes) {
			return true
		}
	}
	return slices.ContainsFunc(m.shared, func(b *modelShared) bool { return b.aliases > 0 && in(b.real, b.bytes) })
}

// mayBeRefused tells whether a block overlaps another one, or begins between granules in one that
// another block owns.
func (m *model) mayBeRefused(p, bytes uintptr) bool {
	return m.overlaps(p, bytes) || p&15 != 0 && m.inside(p&^15)
}

// overlaps tells whether a covered block starts in [p, p+bytes).
func (m *model) overlaps(p, bytes uintptr) bool {
	if slices.ContainsFunc(m.shared, func(b *modelShared) bool { return b.aliases > 0 && b.real-p < bytes }) {
		return true
	}
	for start, b := range m.blocks {
		if b.owns() && b.bytes > 0 && start >= p && start-p < bytes {
			return true
		}
	}
	return false
}

var strides = []uintptr{16, 32, 48, 80, 128, 1008, 1024, 1040, 2048, 4096, 4112, 1 << 16, 1<<16 + 16, 1 << 18, 1 << 22,
	1<<22 + 16,
	1 << 28, 1 << 32}

func genPointer(t *rapid.T) uintptr {
	stride := rapid.SampledFrom(strides).Draw(t, "stride")
	between := 8 * uintptr(rapid.IntRange(0, 4).Draw(t, "between")/4)
	return base + stride*uintptr(rapid.IntRange(0, 40).Draw(t, "index")) + between
}

func genBytes(t *rapid.T) uintptr {
	if rapid.Bool().Draw(t, "small") {
		return uintptr(rapid.IntRange(1, 300).Draw(t, "bytes"))
	}
	size := int(rapid.SampledFrom(strides).Draw(t, "size"))
	size *= rapid.IntRange(1, 3).Draw(t, "times")
	return uintptr(max(1, size+rapid.IntRange(-17, 17).Draw(t, "more")))
}

// known prefers pointers that are in the model.
func (m *model) known(t *rapid.T) uintptr {
	if len(m.blocks) == 0 || rapid.IntRange(0, 9).Draw(t, "any") == 0 {
		return genPointer(t)
	}
	n := rapid.IntRange(0, len(m.blocks)-1).Draw(t, "which")
	return slices.Sorted(maps.Keys(m.blocks))[n] // by order, so that a seed replays
}

func (m *model) adopt(t *rapid.T) {
	p, bytes := genPointer(t), genBytes(t)
	gen, r := m.table.Adopt(p, bytes)
	b := m.blocks[p]
	switch {
	case b != nil && b.live():
		require.Equal(t, OK, r)
		require.Equal(t, b.gen, gen)
		b.take()
		return
	case b != nil && !b.adopted: // held at zero, and not known to be malloc's
		require.Equal(t, Stale, r)
		return
	case m.inside(p):
		require.Equal(t, Refused, r, "%#x is inside a block", p)
		return
	case r == Refused:
		require.True(t, m.mayBeRefused(p, bytes), "%#x + %d overlaps nothing", p, bytes)
		return
	}
	require.Equal(t, OK, r)
	if b == nil || b.count == 0 {
		b = &modelBlock{count: 1}
		m.blocks[p] = b
	} else {
		if b.count != b.floats {
			require.Equal(t, b.gen, gen)
		}
		b.floats--
	}
	b.bytes, b.gen, b.adopted, b.back = bytes, gen, true, false
}

func (b *modelBlock) take() {
	if b.floats > 0 {
		b.floats--
	} else {
		b.count++
	}
}

// insert adds a block of another owner.
func (m *model) insert(t *rapid.T) {
	p, bytes := genPointer(t), genBytes(t)
	made, r := m.table.Insert(p, bytes, layout.ForeignNewScalar, 7)
	b := m.blocks[p]
	switch {
	case b != nil && (b.live() || b.shared != nil || b.ctx != 0):
		require.Equal(t, Present, r)
		return
	case m.inside(p):
		require.Equal(t, Refused, r)
		return
	case r == Refused:
		require.True(t, m.mayBeRefused(p, bytes), "%#x + %d overlaps nothing", p, bytes)
		return
	}
	require.Equal(t, OK, r)
	if rapid.IntRange(0, 3).Draw(t, "retract") == 0 {
		m.table.Retract(p, made)
		return
	}
	m.blocks[p] = &modelBlock{bytes: bytes, count: 1, gen: made.Gen}
}

// insertAtZero adds new memory, which is looked at where it starts alone.
func (m *model) insertAtZero(t *rapid.T) {
	p, bytes := genPointer(t)&^15, genBytes(t)
	r := m.table.InsertAtZero(p, bytes, layout.ForeignNewScalar)
	switch b := m.blocks[p]; {
	case b != nil && (b.live() || b.shared != nil || b.ctx != 0):
		require.Equal(t, Present, r)
	case m.inside(p):
		require.Equal(t, Refused, r)
	default:
		require.Equal(t, OK, r)
		info, _ := m.table.Info(p)
		m.blocks[p] = &modelBlock{bytes: bytes, gen: info.Gen}
	}
}

func (m *model) register(t *rapid.T) {
	p := m.known(t)
	gen, r := m.table.Register(p)
	switch b := m.blocks[p]; {
	case b == nil:
		require.Equal(t, Miss, r)
	case !b.live() && !b.adopted:
		require.Equal(t, Stale, r)
	case !b.live():
		require.Equal(t, Returned, r)
	default:
		require.Equal(t, OK, r)
		require.Equal(t, b.gen, gen)
		b.take()
	}
}

func (m *model) acquire(t *rapid.T) {
	p := m.known(t)
	r := m.table.Acquire(p)
	switch b := m.blocks[p]; {
	case b == nil:
		require.Equal(t, Miss, r)
	case b.count == 0:
		require.Equal(t, Stale, r)
	default:
		require.Equal(t, OK, r)
		b.count++
	}
}

// lose drops one reference of a block that has one.
func (m *model) lose(p uintptr) Result {
	b := m.blocks[p]
	b.count--
	b.floats = min(b.floats, b.count)
	if b.count == 0 {
		m.erase(p)
		return Gone
	}
	b.settle()
	return OK
}

func (b *modelBlock) settle() {
	if b.adopted && b.count == b.floats {
		b.back = true
	}
}

func (m *model) release(t *rapid.T) {
	p := m.known(t)
	ended, r := m.table.Release(p)
	switch b := m.blocks[p]; {
	case b == nil:
		require.Equal(t, Miss, r)
	case b.count == 0:
		require.Equal(t, Stale, r)
	default:
		back := b.back
		require.Equal(t, m.lose(p), r)
		require.Equal(t, b.after(p, r, back), m.settle(ended))
	}
}

// after is what the registry hands out with the result of a drop: what is to be freed, or
// what the host has back only now.
func (b *modelBlock) after(p uintptr, r Result, before bool) Ended {
	if r == Gone || r == OK && b.back && !before {
		return b.ended(p)
	}
	return Ended{}
}

func (m *model) releaseEntry(t *rapid.T) {
	p := m.known(t)
	gen := uint32(rapid.IntRange(0, 1).Draw(t, "other"))
	b := m.blocks[p]
	if b != nil {
		gen += b.gen
	}
	ended, r := m.table.ReleaseEntry(p, gen)
	if b == nil || b.gen != gen || b.count == 0 {
		require.Equal(t, Stale, r)
		return
	}
	back := b.back
	require.Equal(t, m.lose(p), r)
	require.Equal(t, b.after(p, r, back), m.settle(ended))
}

func (m *model) float(t *rapid.T) {
	p := m.known(t)
	b := m.blocks[p]
	if b == nil {
		_, r := m.table.Float(p, 1)
		require.Equal(t, Miss, r)
		return
	}
	back := b.back
	ended, r := m.table.Float(p, b.gen)
	switch {
	case b.count == 0:
		require.Equal(t, Stale, r)
	case b.count == b.floats:
		require.Equal(t, OK, r)
		b.settle()
	case b.floats == layout.MaxFloats:
		require.Equal(t, Overflow, r)
	default:
		require.Equal(t, OK, r)
		b.floats++
		b.settle()
	}
	require.Equal(t, b.after(p, r, back), m.settle(ended))
}

func (m *model) decRef(t *rapid.T) {
	p := m.known(t)
	r := m.table.DecRef(p)
	switch b := m.blocks[p]; {
	case b == nil:
		require.Equal(t, Miss, r)
	case b.count == 0:
		require.Equal(t, Stale, r)
	case b.count == 1:
		require.Equal(t, Zero, r)
		b.count, b.floats, b.back = 0, 0, false
	default:
		require.Equal(t, m.lose(p), r)
	}
}

func (m *model) forget(t *rapid.T) {
	p := m.known(t)
	ended, r := m.table.Forget(p)
	switch b := m.blocks[p]; {
	case b == nil:
		require.Equal(t, Miss, r)
	case b.count > b.floats:
		require.Equal(t, Refused, r)
	default:
		require.Equal(t, Gone, r)
		m.erase(p)
		require.Equal(t, b.ended(p), m.settle(ended))
	}
}

// covered asks about addresses near the edges of blocks.
func (m *model) covered(t *rapid.T) {
	q := m.known(t)
	if b := m.blocks[q]; b != nil && b.shared != nil {
		q = b.shared.real
		if rapid.Bool().Draw(t, "end") {
			q += b.shared.bytes
		}
	} else if b != nil && rapid.Bool().Draw(t, "end") {
		q += b.bytes
	}
	q = (q + uintptr(rapid.IntRange(-4, 4).Draw(t, "halves"))*8) &^ 7
	if q&15 != 0 && m.table.Covered(q) {
		require.True(t, m.inside(q) || m.inside(q&^15), "%#x", q)
		return
	}
	require.Equal(t, m.inside(q), m.table.Covered(q), "%#x", q)
}

// check runs after every action.
func (m *model) check(t *rapid.T) {
	require.NoError(t, m.table.Check())
	sum := m.table.Totals()
	var want Totals
	for p, b := range m.blocks {
		want.Pointers++
		if b.owns() {
			want.Bytes += uint64(b.bytes)
		}
		want.HandedBack += uint64(count(b.back))
		want.Zeros += uint64(count(b.count == 0))
		info, known := m.table.Info(p)
		require.True(t, known)
		require.Equal(t, *b, modelBlock{info.Bytes, info.Count, info.Floats, info.Gen, info.Adopted, info.HandedBack,
			b.shared, b.ctx})
		require.Equal(t, b.shared != nil || b.ctx != 0, info.Link != 0)
	}
	m.checkShared(t, &want)
	want.Units, want.Memory = sum.Units, sum.Memory
	require.Equal(t, want, sum)
}

func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table, _ := Open(rapid.SampledFrom([]int{1, 2, 64}).Draw(t, "shards"))
		defer table.Close()
		m := &model{table: table, blocks: map[uintptr]*modelBlock{}}
		t.Repeat(map[string]func(*rapid.T){
			"adopt": m.adopt, "adopt too": m.adopt, "adopt more": m.adopt, "insert": m.insert, "register": m.register,
			"insert at zero": m.insertAtZero, "insert shared": m.insertShared, "insert custom": m.insertCustom, "add alias": m.addAlias,
			"retract": m.retract,
			"acquire": m.acquire, "release": m.release, "release entry": m.releaseEntry, "float": m.float,
			"dec ref": m.decRef, "forget": m.forget, "covered": m.covered, "": m.check,
		})
	})
}
