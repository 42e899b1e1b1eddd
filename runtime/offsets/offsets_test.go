package offsets_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

type (
	buffer   = offsets.Buffer
	interval = offsets.Interval
	space    = offsets.Space
)

func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		name    string
		buffers []buffer
		spaces  []space
		frames  []int64
	}{
		{name: "nothing", frames: []int64{0}},
		{name: "one", buffers: []buffer{{Bytes: 5, End: 1}}, frames: []int64{5}},
		{name: "no bytes", buffers: []buffer{{End: 1}, {End: 9, Alignment: 64}}, frames: []int64{0}},
		{name: "one after the other", buffers: []buffer{{Bytes: 5, End: 1}, {Bytes: 7, First: 1, End: 2}},
			frames: []int64{7}},
		{name: "both at once", buffers: []buffer{{Bytes: 5, End: 2}, {Bytes: 7, First: 1, End: 2}},
			frames: []int64{12}},
		{name: "alignment", buffers: []buffer{{Bytes: 5, End: 2, Alignment: 8},
			{Bytes: 7, First: 1, End: 2, Alignment: 8}}, frames: []int64{13}},
		{name: "pinned above free bytes", buffers: []buffer{{Bytes: 4, End: 2, Pinned: true, Offset: 8},
			{Bytes: 8, End: 2}, {Bytes: 1, End: 2}}, frames: []int64{13}},
		{name: "gap", buffers: []buffer{{Bytes: 8, End: 9, Gaps: []interval{{First: 6, End: 7}, {First: 2, End: 5}}},
			{Bytes: 8, First: 3, End: 5}, {Bytes: 8, First: 6, End: 7}}, frames: []int64{8}},
		{name: "alias inside its base", buffers: []buffer{{Bytes: 8, End: 2}, {Bytes: 4, First: 1, End: 2, Alias: true,
			Base: 0, BaseOffset: 4}}, frames: []int64{8}},
		{name: "alias keeps its base alive", buffers: []buffer{{Bytes: 8, End: 2},
			{Bytes: 4, First: 5, End: 6, Alias: true}, {Bytes: 8, First: 3, End: 4}}, frames: []int64{16}},
		{name: "gap of a base that an alias does not fill",
			buffers: []buffer{{Bytes: 8, End: 6, Gaps: []interval{{First: 2, End: 5}}},
				{Bytes: 4, First: 4, End: 5, Alias: true}, {Bytes: 8, First: 2, End: 4}}, frames: []int64{8}},
		{name: "chain of aliases, the innermost aligned", buffers: []buffer{
			{Bytes: 10, End: 1}, {Bytes: 8, First: 1, End: 2, Alias: true, BaseOffset: 1}, {Bytes: 4, First: 2, End: 3,
				Alias: true, Base: 1, BaseOffset: 2, Alignment: 8}}, frames: []int64{15}},
		{name: "pinned alias", buffers: []buffer{{Bytes: 10, End: 1}, {Bytes: 8, First: 1, End: 2, Alias: true,
			BaseOffset: 1, Pinned: true, Offset: 5}}, frames: []int64{14}},
		{name: "far steps", buffers: []buffer{{Bytes: 5, First: math.MinInt64, End: math.MaxInt64},
			{Bytes: 7, First: -1, End: 0}}, frames: []int64{12}},
		{name: "the largest sums", buffers: []buffer{{Bytes: 1 << 59, End: 2}, {Bytes: 1 << 59, First: 1, End: 3,
			Alignment: 1 << 58}, {Bytes: 1 << 59, End: 3}}, frames: []int64{3 << 59}},
		{name: "spill", buffers: []buffer{{Bytes: 6, End: 1}, {Bytes: 6, End: 1}, {Bytes: 4, End: 1}},
			spaces: []space{{Capacity: 10}, {}}, frames: []int64{10, 6}},
		{name: "own order of spaces", buffers: []buffer{{Bytes: 6, End: 1, Spaces: []int{1}},
			{Bytes: 6, End: 1, Spaces: []int{1, 0}}}, spaces: []space{{}, {Capacity: 6}}, frames: []int64{6, 6}},
		{name: "an equal space", buffers: []buffer{{Bytes: 6, End: 1}}, spaces: []space{{Capacity: 6}},
			frames: []int64{6}},
		{name: "pinned in its first space",
			buffers: []buffer{{Bytes: 6, End: 1, Pinned: true, Offset: 2, Spaces: []int{1, 0}}},
			spaces:  []space{{}, {}}, frames: []int64{0, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := offsets.Problem{Buffers: c.buffers, Spaces: c.spaces}
			s, err := offsets.Solve(p, offsets.Options{MaxSteps: 1000})
			require.NoError(t, err)
			require.NoError(t, check.Solution(p, s))
			for k, frame := range c.frames {
				require.Equal(t, frame, s.Frames[k].Bytes, "space %d: %v", k, s.Offsets)
			}
		})
	}
}

func TestInputErrors(t *testing.T) {
	one := func(b buffer) []buffer { return []buffer{{Bytes: 8, End: 4}, b} }
	for want, buffers := range map[string][]buffer{
		"its size is -1": one(buffer{Bytes: -1, End: 1}),
		"its alignment is 3; an alignment is a power of two": one(buffer{End: 1, Alignment: 3}),
		"its alignment is -4":                                one(buffer{End: 1, Alignment: -4}),
		"its lifetime [1, 1) is empty":                       one(buffer{First: 1, End: 1}),
		"its lifetime [2, 1) is empty":                       one(buffer{First: 2, End: 1}),
		"has the offset 4 and is not pinned":                 one(buffer{End: 1, Offset: 4}),
		"pinned at offset -4":                                one(buffer{End: 1, Pinned: true, Offset: -4}),
		"pinned at offset 4, which is no multiple of its alignment 8": one(buffer{End: 1, Alignment: 8, Pinned: true,
			Offset: 4}),
		"its gap [2, 2) is empty": one(buffer{End: 4,
			Gaps: []interval{{First: 2, End: 2}}}),
		"its gap [2, 5) is not inside its lifetime [0, 4)": one(buffer{End: 4,
			Gaps: []interval{{First: 2, End: 5}}}),
		"its gaps leave no step": one(buffer{End: 4,
			Gaps: []interval{{First: 2, End: 4}, {End: 2}}}),
		"the base offset 4 and is no alias":          one(buffer{End: 1, BaseOffset: 4}),
		"names buffer 1 as its base and is no alias": one(buffer{End: 1, Base: 1}),
		"an alias of buffer 2; there are 2":          one(buffer{End: 1, Alias: true, Base: 2}),
		"an alias of buffer -1":                      one(buffer{End: 1, Alias: true, Base: -1}),
		"an alias of itself; name":                   one(buffer{End: 1, Alias: true, Base: 1}),
		"lies at -1 in its base":                     one(buffer{End: 1, Alias: true, BaseOffset: -1}),
		"takes the bytes [6, 10) of buffer 0, which has 8": one(buffer{Bytes: 4, End: 1, Alias: true,
			BaseOffset: 6}),
		"is an alias and names spaces": one(buffer{End: 1, Alias: true,
			Spaces: []int{0}}),
		"names space 1; there are 1": one(buffer{End: 1, Spaces: []int{1}}),
		"names space 0 twice":        one(buffer{End: 1, Spaces: []int{0, 0}}),
		"no offset serves both": {{Bytes: 8, End: 1, Alignment: 8},
			{Bytes: 1, End: 1, Alias: true, BaseOffset: 1, Alignment: 4}},
		"which would start below 0": one(buffer{Bytes: 1, End: 1, Alias: true,
			BaseOffset: 4, Pinned: true, Offset: 2}),
		"another pin at 0; keep one": {{Bytes: 8, End: 1, Pinned: true},
			{Bytes: 1, End: 1, Alias: true, Pinned: true, Offset: 2}},
		"starts at 2, where one of its aliases is not aligned": {{Bytes: 8, End: 1, Pinned: true, Offset: 2},
			{Bytes: 1, End: 1, Alias: true, Alignment: 4}},
		"where another pinned buffer lies at the same time": {{Bytes: 8, End: 1, Pinned: true},
			{Bytes: 8, End: 1, Pinned: true, Offset: 4}},
		"an alias of itself through its bases": {{Bytes: 8, End: 1, Alias: true, Base: 1},
			{Bytes: 8, End: 1, Alias: true, Base: 0}},
		"add up to more than 2^61": one(buffer{Bytes: 1<<61 - 4, End: 1}),
	} {
		t.Run(want, func(t *testing.T) {
			buffers[len(buffers)-1].Name = "last"
			_, err := offsets.Solve(offsets.Problem{Buffers: buffers}, offsets.Options{})
			var input *offsets.InputError
			require.ErrorAs(t, err, &input)
			require.ErrorContains(t, err, want)
			require.GreaterOrEqual(t, input.Buffer, 0)
		})
	}
	_, err := offsets.Solve(offsets.Problem{Buffers: []buffer{{Bytes: math.MaxInt64, End: 1},
		{Bytes: math.MaxInt64, End: 1}}}, offsets.Options{})
	require.ErrorContains(t, err, "add up")
	_, err = offsets.Solve(offsets.Problem{Spaces: []space{{Capacity: -1, Name: "sram"}}}, offsets.Options{})
	require.EqualError(t, err, `offsets: space 0 ("sram"): its capacity is -1; it is a number of bytes, 0 is unlimited`)
}

func TestLimitErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		buffers []buffer
		spaces  []space
		buffer  int
		proved  bool
		needed  int64
	}{
		{"too large alone", []buffer{{Bytes: 9, End: 1}}, []space{{Capacity: 8}}, 0, true, 9},
		{"too large for all", []buffer{{Bytes: 1, End: 1}, {Bytes: 9, End: 1}}, []space{{Capacity: 8}, {Capacity: 6}},
			1, true, 9},
		{"pinned too high", []buffer{{Bytes: 4, End: 1, Pinned: true, Offset: 5}}, []space{{Capacity: 8}, {}}, 0, true,
			9},
		{"too much at once", []buffer{{Bytes: 5, End: 1}, {Bytes: 4, End: 1}}, []space{{Capacity: 8}}, 1, true, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := offsets.Solve(offsets.Problem{Buffers: c.buffers, Spaces: c.spaces},
				offsets.Options{MaxSteps: 1000})
			var limit *offsets.LimitError
			require.ErrorAs(t, err, &limit)
			require.Equal(t, c.buffer, limit.Buffer)
			require.Equal(t, c.proved, limit.Proved)
			require.Equal(t, c.needed, limit.Needed)
		})
	}
	var limit *offsets.LimitError
	_, err := offsets.Solve(offsets.Problem{Buffers: []buffer{{Bytes: 9, End: 1, Name: "weights"}},
		Spaces: []space{{Capacity: 8, Name: "sram"}}}, offsets.Options{})
	require.True(t, errors.As(err, &limit))
	require.EqualError(t, err,
		`offsets: buffer 0 ("weights"): its 9 bytes do not fit into space 0 ("sram") of 8 bytes: no frame has less than 9; raise the capacity, or shorten lifetimes`)
}

// Ten buffers of which 8 bytes at most are alive at once, and which need 9.
func TestProofAboveTheLoad(t *testing.T) {
	p := offsets.Problem{Buffers: []buffer{
		{Bytes: 3, First: 6, End: 11}, {Bytes: 2, First: 10, End: 13}, {Bytes: 2, First: 2, End: 4},
		{Bytes: 3, First: 8, End: 14}, {Bytes: 1, First: 6, End: 8}, {Bytes: 1, First: 0, End: 3},
		{Bytes: 1, First: 6, End: 9}, {Bytes: 3, First: 1, End: 5}, {Bytes: 1, First: 7, End: 9},
		{Bytes: 3, First: 3, End: 7},
	}}
	s, err := offsets.Solve(p, offsets.Options{MaxSteps: 10000})
	require.NoError(t, err)
	require.True(t, s.Optimal)
	require.Equal(t, int64(9), s.FrameBytes())
	require.Equal(t, int64(9), least(p, 9))
	s, err = offsets.Solve(p, offsets.Options{MaxSteps: 1})
	require.NoError(t, err)
	require.NoError(t, check.Solution(p, s))
	_, err = offsets.Solve(offsets.Problem{Buffers: p.Buffers, Spaces: []space{{Capacity: 8}}},
		offsets.Options{MaxSteps: 10000})
	var limit *offsets.LimitError
	require.ErrorAs(t, err, &limit)
	require.True(t, limit.Proved)
}

func TestBudgetEndsTheSearch(t *testing.T) {
	for _, p := range instances(t, "minimalloc") {
		p.Spaces = nil
		looks := 0
		looked(t, &looks)
		s, err := offsets.Solve(p, offsets.Options{Budget: 20 * time.Second})
		require.NoError(t, err)
		require.NoError(t, check.Solution(p, s))
		require.LessOrEqual(t, looks, 1000)
	}
}

func TestTargetEndsTheSearch(t *testing.T) {
	for name, p := range instances(t, "minimalloc") {
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: 100000, Target: 1 << 21})
		require.NoError(t, err)
		require.LessOrEqual(t, s.FrameBytes(), int64(1<<21), name)
		require.LessOrEqual(t, s.Steps, int64(10), name)
	}
}

func TestSolutionSums(t *testing.T) {
	s := offsets.Solution{Frames: []offsets.SpaceResult{{Bytes: 6, LowerBound: 4}, {Bytes: 6, LowerBound: 4}}}
	require.Equal(t, int64(12), s.FrameBytes())
	require.Equal(t, int64(8), s.LowerBound())
	require.Equal(t, 0.5, s.Gap())
	require.Zero(t, (&offsets.Solution{}).Gap())
}

// Buffers of a large alignment bound the frame by themselves, whatever fills the room between them.
func TestABoundForEachAlignment(t *testing.T) {
	p := offsets.Problem{Buffers: []buffer{{Bytes: 100, End: 1, Alignment: 64}}}
	for range 300 {
		p.Buffers = append(p.Buffers, buffer{Bytes: 64, End: 1, Alignment: 4096})
	}
	s, err := offsets.Solve(p, offsets.Options{})
	require.NoError(t, err)
	require.True(t, s.Optimal)
	require.EqualValues(t, 299*4096+64, s.FrameBytes())
}
