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
func used(t *testing.T) (h *Heap, slab *spanMeta, run uint32) {
	h = open(t, 64<<20)
	out := refill(t, h, 5, 700)
	for i := range out[:300] {
		bury(h, &out[i])
	}
	h.Flush(5, out[:300])
	big, _, st := h.TakeLarge(3 << 20)
	require.Equal(t, status.OK, st)
	between, _, st := h.TakeLarge(1 << 20)
	require.Equal(t, status.OK, st)
	_, _, st = h.TakeLarge(1 << 20)
	require.Equal(t, status.OK, st)
	h.GiveLarge(between, true)
	require.NotZero(t, big.Object)
	free := map[uint32]bool{}
	require.NoError(t, h.Check(func(record uint32) {
		require.False(t, free[record])
		free[record] = true
	}))
	require.Len(t, free, 300)
	return h, h.spans.meta(h.spans.number(out[0].Object)), h.spans.number(between.Object)
}

// Each of these is a way in which the books can be wrong, and each is found.
func TestTheCheckerFinds(t *testing.T) {
	if memory.Instrumented {
		t.Skip("twenty heaps are more than the race detector's slab holds; one goroutine works here")
	}
	for what, damage := range map[string]func(h *Heap, slab *spanMeta, run uint32){
		"a slot counted twice": func(_ *Heap, slab *spanMeta, _ uint32) { slab.freeCount++ },
		"a slot that is lost": func(h *Heap, slab *spanMeta, _ uint32) {
			slab.freeHead = uint16(h.Record(slab.record + uint32(slab.freeHead) - 1).Loc)
		},
		"a circle of slots": func(h *Heap, slab *spanMeta, _ uint32) {
			h.Record(slab.record + uint32(slab.freeHead) - 1).Loc = uint32(slab.freeHead)
		},
		"a free slot that is alive": func(h *Heap, slab *spanMeta, _ uint32) {
			h.Record(slab.record + uint32(slab.freeHead) - 1).Sh = layout.ShAlive
		},
		"a free slot with a type": func(h *Heap, slab *spanMeta, _ uint32) {
			h.Record(slab.record + uint32(slab.freeHead) - 1).TypeFlags = 16
		},
		"a slab of another class":   func(_ *Heap, slab *spanMeta, _ uint32) { slab.class++ },
		"records of two slabs":      func(h *Heap, slab *spanMeta, _ uint32) { h.recs.free[5] = slab.record },
		"a slab that is in no list": func(h *Heap, _ *spanMeta, _ uint32) { h.depot[5].partial = 0 },
		"a slot that is retired":    func(_ *Heap, slab *spanMeta, _ uint32) { slab.retired++ },
		"retired slots":             func(h *Heap, _ *spanMeta, _ uint32) { h.depot[5].retired++ },
		"slots out of a depot":      func(h *Heap, _ *spanMeta, _ uint32) { h.depot[5].out++ },
		"an empty slab":             func(h *Heap, _ *spanMeta, _ uint32) { h.depot[5].empty++ },
		"the number of slabs":       func(h *Heap, _ *spanMeta, _ uint32) { h.depot[5].slabs-- },
		"bytes handed out":          func(h *Heap, _ *spanMeta, _ uint32) { h.handed.Add(32) },
		"a run in no bin": func(h *Heap, _ *spanMeta, run uint32) {
			h.spans.unlink(&h.spans.bins[bin(16)], run)
		},
		"a run of another length": func(h *Heap, _ *spanMeta, run uint32) { h.spans.meta(run).run-- },
		"a run that ends wrong":   func(h *Heap, _ *spanMeta, run uint32) { h.spans.meta(run + 15).run = 3 },
		"a run that classification sees": func(h *Heap, _ *spanMeta, run uint32) {
			h.spans.setWord(run+1, layout.SpanWord(layout.ClassRest, 0, 1))
		},
		"dirty bytes":                    func(h *Heap, _ *spanMeta, _ uint32) { h.spans.dirty++ },
		"a run that is dirty":            func(h *Heap, _ *spanMeta, run uint32) { h.spans.meta(run).dirty = false },
		"a large object's rest":          func(h *Heap, _ *spanMeta, run uint32) { h.spans.setWord(run-1, 0) },
		"spans beyond what is committed": func(h *Heap, _ *spanMeta, _ uint32) { h.spans.committed = 8 },
	} {
		h, slab, run := used(t)
		damage(h, slab, run)
		require.Error(t, h.Check(func(uint32) {}), what)
	}
}
