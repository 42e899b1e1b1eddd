package registry

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
)

// modelBuffer is a block with names.
type modelBuffer struct {
	real, bytes uintptr
	names       int // addresses in model.blocks
	id          uint64
	ctx         uintptr
	shared      bool
}

// ended is what the registry hands out for freeing when the entry at p goes.
func (b *modelBlock) ended(p uintptr) Ended {
	switch {
	case b.buffer == nil && b.adopted:
		return Ended{Pointer: p, Bytes: b.bytes, Kind: layout.ForeignMalloc, Returned: b.back}
	case b.buffer == nil:
		return Ended{Pointer: p, Bytes: b.bytes, Kind: layout.ForeignNewScalar}
	case b.buffer.names > 0:
		return Ended{}
	}
	return Ended{Pointer: b.buffer.real, Bytes: b.buffer.bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: b.buffer.ctx}
}

func (m *model) erase(p uintptr) {
	if b := m.blocks[p].buffer; b != nil {
		b.names--
	}
	delete(m.blocks, p)
}

// foreign tells whether something else than the buffer has the address p.
func (m *model) foreign(p uintptr, buffer *modelBuffer) bool {
	b := m.blocks[p]
	return b != nil && b.buffer != buffer && (b.live() || b.buffer != nil)
}

// name counts a reference at p.
func (m *model) name(p uintptr, buffer *modelBuffer) {
	b := m.blocks[p]
	if b == nil || b.buffer != buffer {
		info, _ := m.table.Info(p)
		m.blocks[p] = &modelBlock{count: 1, gen: info.Gen, buffer: buffer}
		buffer.names++
		return
	}
	b.count++
}

func (m *model) draw(t *rapid.T, shared bool) (*modelBuffer, Block) {
	b := &modelBuffer{real: genPointer(t), bytes: genBytes(t), ctx: uintptr(len(m.buffers)), shared: shared}
	return b, Block{Real: b.real, Bytes: b.bytes, Kind: layout.ForeignCustom, Deleter: 1, Ctx: b.ctx}
}

// refused is what may come of registering a buffer with these names. Blocks that lie
// where it owns whole units go unseen, as for every block.
func (m *model) refused(b *modelBuffer, names []uintptr) []Result {
	for _, p := range names {
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
	for _, p := range names {
		if m.foreign(p, b) {
			want = Present
		}
	}
	if m.overlaps(b.real, b.bytes) {
		return []Result{want, Refused}
	}
	return []Result{want}
}

func (m *model) insertBuffer(t *rapid.T) {
	b, block := m.draw(t, true)
	names := make([]uintptr, rapid.IntRange(0, 6).Draw(t, "aliases"))
	for i := range names {
		offset := uintptr(rapid.SampledFrom([]int{0, 0, 4, 8, 16, 24, 256, 2048}).Draw(t, "offset"))
		if names[i] = b.real + offset; rapid.IntRange(0, 3).Draw(t, "inside") > 0 {
			names[i] = b.real + offset%b.bytes
		}
	}
	want := m.refused(b, names)
	id, ended, r := m.table.InsertBuffer(block, names)
	require.Contains(t, want, r)
	require.Equal(t, Ended{}, ended)
	if r != OK {
		return
	}
	b.id = id
	m.buffers = append(m.buffers, b)
	for _, p := range append([]uintptr{b.real}, names...) {
		m.name(p, b)
	}
}

func (m *model) insertCustom(t *rapid.T) {
	b, block := m.draw(t, false)
	want := m.refused(b, nil)
	_, r := m.table.InsertCustom(block)
	require.Contains(t, want, r)
	if r == OK {
		m.buffers = append(m.buffers, b)
		m.name(b.real, b)
	}
}

// addAlias draws among all buffers that ever were.
func (m *model) addAlias(t *rapid.T) {
	if len(m.buffers) == 0 {
		_, r := m.table.AddAlias(uint64(rapid.IntRange(0, 3).Draw(t, "id")), base)
		require.Equal(t, NoBuffer, r)
		return
	}
	b := rapid.SampledFrom(m.buffers).Draw(t, "buffer")
	p := b.real + uintptr(rapid.IntRange(-2, 40).Draw(t, "offset"))
	ended, r := m.table.AddAlias(b.id, p)
	require.Equal(t, Ended{}, ended)
	switch {
	case !b.shared || b.names == 0:
		require.Equal(t, NoBuffer, r)
	case p-b.real >= b.bytes:
		require.Equal(t, Outside, r)
	case m.foreign(p, b):
		require.Equal(t, Present, r)
	default:
		require.Equal(t, OK, r)
		m.name(p, b)
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
	m.table.Retract(p, gen)
	if b != nil && b.gen == gen && b.buffer == nil {
		delete(m.blocks, p)
	}
}

// checkBuffers compares names and sums, and what a program is told.
func (m *model) checkBuffers(t *rapid.T, want *Totals) {
	references := map[*modelBuffer]uint64{}
	for _, b := range m.blocks {
		if b.buffer != nil {
			references[b.buffer] += uint64(b.count)
		}
	}
	for _, b := range m.buffers {
		if b.names > 0 {
			want.Bytes += uint64(b.bytes)
			want.Buffers += uint64(count(b.shared))
		}
	}
	for p, b := range m.blocks {
		if b.buffer == nil || !b.live() {
			continue
		}
		d, known := m.table.Describe(p)
		require.True(t, known)
		require.Equal(t, Described{b.buffer.real, b.buffer.bytes, layout.ForeignCustom, uint64(b.count),
			references[b.buffer], uint64(b.buffer.names), b.buffer.id}, d)
		info, _ := m.table.Info(p)
		d.References = d.Count
		outline, known := m.table.Outline(info)
		require.True(t, known)
		require.Equal(t, d, outline)
	}
}
