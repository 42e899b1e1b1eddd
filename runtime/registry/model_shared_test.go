package registry

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

// modelShared is a shared block, or the deleter of a block with one.
type modelShared struct {
	real, bytes uintptr
	aliases     int // addresses in model.blocks
	id          uint64
	ctx         uintptr
}

// settle gives back the record of what has ended.
func (m *model) settle(ended Ended) Ended {
	if ended.Record != 0 {
		waiting := ended
		waiting.Record = 0
		if m.table.Settle(ended.Record) != waiting {
			panic("a record that waits has changed")
		}
		return waiting
	}
	return ended
}

// ended is what the registry hands out for freeing when the entry at p goes.
func (b *modelBlock) ended(p uintptr) Ended {
	switch {
	case b.shared == nil && b.adopted:
		return Ended{Pointer: p, Bytes: b.bytes, Kind: layout.ForeignMalloc, Returned: b.back}
	case b.shared == nil && b.bytes > 0 && b.ctx != 0:
		return Ended{Pointer: p, Bytes: b.bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: b.ctx}
	case b.shared == nil:
		return Ended{Pointer: p, Bytes: b.bytes, Kind: layout.ForeignNewScalar}
	case b.shared.aliases > 0:
		return Ended{}
	}
	return Ended{Pointer: b.shared.real, Bytes: b.shared.bytes, Kind: layout.ForeignCustom, Deleter: 1,
		Ctx: b.shared.ctx}
}

func (m *model) erase(p uintptr) {
	if b := m.blocks[p].shared; b != nil {
		b.aliases--
	}
	delete(m.blocks, p)
}

// foreign tells whether something else than the shared block has the address p.
func (m *model) foreign(p uintptr, shared *modelShared) bool {
	b := m.blocks[p]
	return b != nil && b.shared != shared && (b.live() || b.shared != nil || b.ctx != 0)
}

// countAlias counts a reference at p.
func (m *model) countAlias(p uintptr, shared *modelShared) {
	b := m.blocks[p]
	if b == nil || b.shared != shared {
		info, _ := m.table.Info(p)
		m.blocks[p] = &modelBlock{count: 1, gen: info.Gen, shared: shared}
		shared.aliases++
		return
	}
	b.count++
}

func (m *model) draw(t *rapid.T) (*modelShared, Block) {
	b := &modelShared{real: genPointer(t), bytes: genBytes(t), ctx: uintptr(len(m.shared) + len(m.blocks) + 1)}
	return b, Block{Real: b.real, Bytes: b.bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: b.ctx}
}

// refused is what may come of registering a shared block with these aliases. Blocks that lie
// where it owns whole units go unseen, as for every block.
func (m *model) refused(b *modelShared, aliases []uintptr) []Result {
	for _, p := range aliases {
		if p-b.real >= b.bytes {
			return []Result{Outside}
		}
	}
	switch {
	case m.foreign(b.real, b):
		return []Result{Present}
	case m.inside(b.real):
		return []Result{Refused}
	}
	want := OK
	for _, p := range aliases {
		if m.foreign(p, b) {
			want = Present
		}
	}
	if m.mayBeRefused(b.real, b.bytes) {
		return []Result{want, Refused}
	}
	return []Result{want}
}

func (m *model) insertShared(t *rapid.T) {
	b, block := m.draw(t)
	aliases := make([]uintptr, rapid.IntRange(0, 6).Draw(t, "aliases"))
	for i := range aliases {
		offset := uintptr(rapid.SampledFrom([]int{0, 0, 4, 8, 16, 24, 256, 2048}).Draw(t, "offset"))
		if aliases[i] = b.real + offset; rapid.IntRange(0, 3).Draw(t, "inside") > 0 {
			aliases[i] = b.real + offset%b.bytes
		}
		if p := m.known(t); p-b.real < b.bytes && rapid.Bool().Draw(t, "known") {
			aliases[i] = p
		}
	}
	want := m.refused(b, aliases)
	id, names, ended, r := m.table.InsertShared(block, aliases)
	require.Contains(t, want, r)
	require.Equal(t, Ended{}, ended)
	if r != OK {
		return
	}
	b.id = id
	m.shared = append(m.shared, b)
	for _, p := range append([]uintptr{b.real}, aliases...) {
		m.countAlias(p, b)
	}
	require.EqualValues(t, b.aliases, names)
}

func (m *model) insertCustom(t *rapid.T) {
	b, block := m.draw(t)
	want := m.refused(b, nil)
	r := m.table.InsertCustom(block)
	require.Contains(t, want, r)
	if r == OK {
		info, _ := m.table.Info(b.real)
		m.blocks[b.real] = &modelBlock{bytes: b.bytes, count: 1, gen: info.Gen, ctx: b.ctx}
	}
}

// addAlias draws among all shared blocks that ever were.
func (m *model) addAlias(t *rapid.T) {
	if len(m.shared) == 0 {
		_, r := m.table.AddAlias(uint64(rapid.IntRange(0, 3).Draw(t, "id")), base)
		require.Equal(t, NoShared, r)
		return
	}
	b := rapid.SampledFrom(m.shared).Draw(t, "shared")
	p := b.real + uintptr(rapid.IntRange(-2, 40).Draw(t, "offset"))
	known := m.blocks[p]
	fresh, r := m.table.AddAlias(b.id, p)
	require.Equal(t, r == OK && (known == nil || known.shared != b), fresh)
	switch {
	case b.aliases == 0:
		require.Equal(t, NoShared, r)
	case p-b.real >= b.bytes:
		require.Equal(t, Outside, r)
	case m.foreign(p, b):
		require.Equal(t, Present, r)
	default:
		require.Equal(t, OK, r)
		m.countAlias(p, b)
	}
}

// retract undoes a registration that nobody else knows of.
func (m *model) retract(t *rapid.T) {
	p := m.known(t)
	gen := uint32(rapid.IntRange(0, 1).Draw(t, "other"))
	b := m.blocks[p]
	if b != nil {
		gen += b.gen
	}
	m.table.Retract(p, Entered{Gen: gen})
	if b != nil && b.gen == gen && b.shared == nil && b.ctx == 0 {
		delete(m.blocks, p)
	}
}

// checkShared compares aliases and sums, and what a program is told.
func (m *model) checkShared(t *rapid.T, want *Totals) {
	references := map[*modelShared]uint64{}
	for _, b := range m.blocks {
		if b.shared != nil {
			references[b.shared] += uint64(b.count)
		}
	}
	for _, b := range m.shared {
		if b.aliases > 0 {
			want.Bytes += uint64(b.bytes)
			want.SharedBlocks++
		}
	}
	for p, b := range m.blocks {
		if b.shared == nil || !b.live() {
			continue
		}
		d, known := m.table.Describe(p)
		require.True(t, known)
		require.Equal(t, Described{b.shared.real, b.shared.bytes, layout.ForeignCustom, uint64(b.count),
			references[b.shared], uint64(b.shared.aliases), b.shared.id}, d)
		info, _ := m.table.Info(p)
		outline, known := m.table.Outline(info)
		require.True(t, known)
		require.Equal(t, d, outline)
	}
}
