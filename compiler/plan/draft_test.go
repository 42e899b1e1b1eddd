package plan

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// numbers counts from 0.
func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Of the same graph a draft is the best plan that Build has before it looks for offsets: none has a lower peak, and the
// draft has the instructions of one that has this peak. It is made again the same, also beside other drafts.
func TestDrafts(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c, o := drawGraph(r, 12), drawOptions(r)
		d, err := NewDrafter(c, o)
		require.NoError(r, err)
		draft, err := d.Draft(c, numbers(len(c.Nodes)))
		require.NoError(r, err)
		b, best := builderInOrder(r, c, o)
		assert.Equal(r, best.peak, draft.Frame.Order.Peak)
		assert.Equal(r, best.plan.Instructions, draft.Instructions)
		assert.Equal(r, len(best.plan.Buffers), len(draft.Buffers))
		for _, x := range b.list {
			assert.LessOrEqual(r, draft.Frame.Order.Peak, x.peak)
		}
		o.NoReorder = true
		whole, err := Build(c, o)
		require.NoError(r, err)
		assert.LessOrEqual(r, draft.Frame.Order.Peak, whole.Frame.Order.Peak)
		assert.LessOrEqual(r, draft.Frame.Order.Peak, whole.Frame.Bytes)
		for i := range draft.Buffers {
			b := &draft.Buffers[i]
			assert.Equal(r, d.options.placed(b.Kind), b.Offset == 0, b.Name)
		}
		_, err = d.Draft(c, slices.Repeat([]int{-1}, len(c.Nodes)))
		require.NoError(r, err)
		again, err := d.Draft(c, numbers(len(c.Nodes)))
		require.NoError(r, err)
		assert.Equal(r, draft, again)
	})
}

// builderInOrder has the candidates of Build for the graph's order, and returns the first of those with the lowest
// peak.
func builderInOrder(r *rapid.T, c *graph.Checked, o Options) (*builder, *candidate) {
	o.NoReorder = true
	b, err := newBuilder(c, o)
	require.NoError(r, err)
	for _, v := range b.variants() {
		require.NoError(r, b.try(v))
	}
	return b, slices.MinFunc(b.list, func(x, y *candidate) int { return cmp.Compare(x.peak, y.peak) })
}

// What is kept apart goes with the node: a small view that would keep a large base, here copied.
func TestWhatIsApartGoesWithTheNode(t *testing.T) {
	s := newSketch()
	s.input("in", 64, 64)
	s.node("MaxPool", "x", shape(64, 64), nil, "in")
	s.node("Slice", "part", shape(1, 64), graph.Attrs{"starts": []int64{0, 0}, "ends": []int64{1, 64},
		"steps": []int64{1, 1}}, "x")
	s.node("ReduceSum", "y", shape(1, 1), nil, "x")
	s.node("MaxPool", "p", shape(64, 64), nil, "y")
	s.node("ReduceSum", "p1", shape(1, 1), nil, "p")
	s.node("Sum", "out", shape(1, 64), nil, "part", "p1")
	s.output("out")
	d, err := NewDrafter(&s.Checked, Options{})
	require.NoError(t, err)
	first, err := d.Draft(&s.Checked, numbers(len(s.Nodes)))
	require.NoError(t, err)
	assert.Contains(t, opsOf(first), "Copy")
	other, err := d.Draft(&s.Checked, slices.Repeat([]int{-1}, len(s.Nodes)))
	require.NoError(t, err)
	assert.NotContains(t, opsOf(other), "Copy")
	assert.Greater(t, other.Frame.Order.Peak, first.Frame.Order.Peak)
}
