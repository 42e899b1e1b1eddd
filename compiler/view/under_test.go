package view

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// moved draws what turns a tensor into a view of all its elements.
func moved(t *rapid.T, shape []int64) func(View) (View, bool) {
	rank := len(shape)
	switch rapid.SampledFrom([]string{"transpose", "reshape", "reverse"}).Draw(t, "move") {
	case "transpose":
		perm := make([]int64, rank)
		for i := range perm {
			perm[i] = int64(i)
		}
		perm = rapid.Permutation(perm).Draw(t, "perm")
		return func(v View) (View, bool) { return v.Transpose(perm) }
	case "reshape":
		to := slices.Concat(shape, []int64{1})
		if rank > 1 {
			to = slices.Concat([]int64{shape[0] * shape[1]}, shape[2:])
		}
		return func(v View) (View, bool) { return v.Reshape(to) }
	}
	starts, ends, steps := make([]int64, rank), slices.Clone(shape), make([]int64, rank)
	for i := range steps {
		steps[i] = 1
		if rapid.Bool().Draw(t, "backwards") {
			starts[i], ends[i], steps[i] = shape[i]-1, -1, -1
		}
	}
	return func(v View) (View, bool) { return v.Slice(starts, ends, steps) }
}

// What Under returns shows, moved the same way, the elements that are wanted.
func TestUnder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(t, "shape")
		move := moved(t, shape)
		shown, ok := move(Contiguous(shape))
		require.True(t, ok)
		want := Contiguous(shown.Shape)
		if more, ok := moved(t, shown.Shape)(Contiguous(shown.Shape)); ok && slices.Equal(more.Shape, shown.Shape) {
			want = more
		}
		under, ok := Under(shown, want, shape)
		if !ok {
			return
		}
		again, ok := move(under)
		require.True(t, ok)
		assert.Equal(t, slices.Collect(want.All()), slices.Collect(again.All()))
	})
}

func TestUnderATranspose(t *testing.T) {
	shown, _ := Contiguous([]int64{2, 3}).Transpose([]int64{1, 0})
	under, ok := Under(shown, Contiguous([]int64{3, 2}), []int64{2, 3})
	require.True(t, ok)
	assert.Equal(t, View{Shape: []int64{2, 3}, Strides: []int64{1, 2}}, under)
}

// Views that leave elements out or repeat some have nothing under them.
func TestNothingUnder(t *testing.T) {
	whole := Contiguous([]int64{4, 2})
	part, _ := whole.Part(0, 1, 2)
	repeated, _ := Contiguous([]int64{1, 2}).Expand([]int64{4, 2})
	later := whole
	later.Offset = 1
	for _, v := range []View{part, repeated, later} {
		_, ok := Under(v, Contiguous(v.Shape), []int64{4, 2})
		assert.False(t, ok)
	}
	_, ok := Under(whole, Contiguous([]int64{8}), []int64{4, 2})
	assert.False(t, ok, "another shape is wanted")
}
