package heap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// used returns a heap with all that the checker looks at: two slabs of a class, one of
// them empty, a slab that is in nobody's hands, large objects, and free runs.
func used(t *testing.T) (h *Heap, slab *layout.SpanMeta, run uint32) {
	h = open(t, 64<<20)
	out := refill(t, h, 5, 704)
	for i := range out[:300] {
		bury(h, &out[i])
	}
	h.Flush(5, out[:300])
	big, _, st := h.TakeAligned(3<<20, 1)
	require.Equal(t, status.OK, st)
	between, _, st := h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	_, _, st = h.TakeAligned(1<<20, 1)
	require.Equal(t, status.OK, st)
	h.GiveLarge(between, true)
	require.NotZero(t, big.Object)
	free := map[uint32]bool{}
	require.NoError(t, h.Check(func(record uint32) {
		require.False(t, free[record])
		free[record] = true
	}))
	require.Len(t, free, 300)
	return h, h.meta(h.number(out[0].Object)), h.number(between.Object)
}

func setWord(h *Heap, span uint32, word uint64) {
	*layout.At[uint64](h.s.Spans + uintptr(span)*8) = word
}

// Each of these is a way in which the books can be wrong, and each is found.
func TestTheCheckerFinds(t *testing.T) {
	if memory.Instrumented {
		t.Skip("twenty heaps are more than the race detector's slab holds; one goroutine works here")
	}
	for what, damage := range map[string]func(h *Heap, slab *layout.SpanMeta, run uint32){
		"a slot counted twice": func(_ *Heap, slab *layout.SpanMeta, _ uint32) { slab.FreeCount++ },
		"a slot that is lost": func(h *Heap, slab *layout.SpanMeta, _ uint32) {
			slab.FreeHead = uint16(h.Record(slab.Record + uint32(slab.FreeHead) - 1).Loc)
		},
		"a circle of slots": func(h *Heap, slab *layout.SpanMeta, _ uint32) {
			h.Record(slab.Record + uint32(slab.FreeHead) - 1).Loc = uint32(slab.FreeHead)
		},
		"a free slot that is alive": func(h *Heap, slab *layout.SpanMeta, _ uint32) {
			h.Record(slab.Record + uint32(slab.FreeHead) - 1).Sh = layout.ShAlive
		},
		"a free slot with a type": func(h *Heap, slab *layout.SpanMeta, _ uint32) {
			h.Record(slab.Record + uint32(slab.FreeHead) - 1).TypeFlags = 16
		},
		"a slab of another class":   func(_ *Heap, slab *layout.SpanMeta, _ uint32) { slab.SizeClass++ },
		"records of two slabs":      func(h *Heap, slab *layout.SpanMeta, _ uint32) { h.s.FreeRecords[5] = slab.Record },
		"a slab that is in no list": func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Depots[5].Partial = 0 },
		"a slot that is retired":    func(_ *Heap, slab *layout.SpanMeta, _ uint32) { slab.Retired++ },
		"retired slots":             func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Depots[5].Retired++ },
		"slots out of a depot":      func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Depots[5].Out++ },
		"an empty slab":             func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Depots[5].Empty++ },
		"the number of slabs":       func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Depots[5].Slabs-- },
		"pages that were purged":    func(_ *Heap, slab *layout.SpanMeta, _ uint32) { slab.Purged++ },
		"a slab in the other list":  func(_ *Heap, slab *layout.SpanMeta, _ uint32) { slab.List = layout.SlabCold },
		"idle bytes":                func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Idle-- },
		"bytes handed out":          func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Handed += 32 },
		"a run in no bin": func(h *Heap, _ *layout.SpanMeta, run uint32) {
			h.s.Bins[bin(16)] = 0
		},
		"a run of another length": func(h *Heap, _ *layout.SpanMeta, run uint32) { h.meta(run).Run-- },
		"a run that ends wrong":   func(h *Heap, _ *layout.SpanMeta, run uint32) { h.meta(run + 15).Run = 3 },
		"a run that classification sees": func(h *Heap, _ *layout.SpanMeta, run uint32) {
			setWord(h, run+1, layout.SpanWord(layout.ClassLarge, 0, 1))
		},
		"dirty bytes":                    func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Dirty++ },
		"a run that is dirty":            func(h *Heap, _ *layout.SpanMeta, run uint32) { h.meta(run).Dirty = 0 },
		"a large object's rest":          func(h *Heap, _ *layout.SpanMeta, run uint32) { setWord(h, run-1, 0) },
		"spans beyond what is committed": func(h *Heap, _ *layout.SpanMeta, _ uint32) { h.s.Committed = 8 },
	} {
		h, slab, run := used(t)
		damage(h, slab, run)
		require.Error(t, h.Check(func(uint32) {}), what)
	}
}
