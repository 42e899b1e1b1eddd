package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// right is a problem with every feature and a right answer to it.
func right() (offsets.Problem, *offsets.Solution) {
	return offsets.Problem{
			Spaces: []offsets.Space{{Capacity: 32}, {}},
			Buffers: []offsets.Buffer{
				{Name: "a", Bytes: 8, First: 0, End: 6, Gaps: []offsets.Interval{{First: 2, End: 4}}},
				{Name: "b", Bytes: 8, First: 2, End: 4},
				{Name: "c", Bytes: 8, First: 0, End: 3, Alignment: 8},
				{Name: "d", Bytes: 4, First: 8, End: 9, Alias: true, Base: 2, BaseOffset: 4},
				{Name: "e", Bytes: 4, First: 0, End: 9, Pinned: true, Offset: 16},
				{Name: "f", Bytes: 4, First: 0, End: 9, Spaces: []int{1}},
				{Name: "g", Bytes: 0, First: 0, End: 9},
			}}, &offsets.Solution{
			Offsets: []int64{0, 0, 8, 12, 16, 0, 3},
			Space:   []int{0, 0, 0, 0, 0, 1, 0},
			Frames:  []offsets.SpaceResult{{Bytes: 20, LowerBound: 20}, {Bytes: 4, LowerBound: 4}},
			Optimal: true,
		}
}

func TestRightIsRight(t *testing.T) {
	p, s := right()
	require.NoError(t, check.Solution(p, s))
	require.NoError(t, check.Solution(offsets.Problem{}, &offsets.Solution{Frames: make([]offsets.SpaceResult, 1)}))
}

func TestWrongIsFound(t *testing.T) {
	for want, spoil := range map[string]func(*offsets.Problem, *offsets.Solution){
		"6 offsets and 7 spaces for 7 buffers": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets = s.Offsets[:6]
		},
		"7 offsets and 6 spaces for 7 buffers": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Space = s.Space[:6]
		},
		"1 frames for 2 spaces": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Frames = s.Frames[:1]
		},
		"lies in space 2 of 2": func(_ *offsets.Problem, s *offsets.Solution) { s.Space[1] = 2 },
		"lies in space -1 of 2": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Space[1] = -1
		},
		"lies at offset -8": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[1] = -8
		},
		"lies at offset 4, its alignment is 8": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[2] = 4
		},
		"lies at offset 20 and is pinned at 16": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[4] = 20
		},
		"lies in space 1 and is pinned in space 0": func(_ *offsets.Problem, s *offsets.Solution) { s.Space[4] = 1 },
		"4 bytes into buffer 2 is offset 12 of space": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[3] = 13
		},
		"lies at offset 12 of space 1, 4 bytes into": func(_ *offsets.Problem, s *offsets.Solution) { s.Space[3] = 1 },
		"lies in space 0 and may lie in [1]":         func(_ *offsets.Problem, s *offsets.Solution) { s.Space[5] = 0 },
		"given as 24 bytes, the highest buffer ends": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Frames[0].Bytes = 24
		},
		"its lower bound is given as 21": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Frames[0].LowerBound = 21
		},
		"called optimal with a frame of 20": func(_ *offsets.Problem, s *offsets.Solution) {
			s.Frames[0].LowerBound = 19
		},
		"the capacity is 19": func(p *offsets.Problem, _ *offsets.Solution) {
			p.Spaces[0].Capacity = 19
		},
		`0 ("a") and 2 ("c") share bytes in step 0`: func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[0] = 1
		},
		`0 ("a") and 1 ("b") share bytes in step 2`: func(p *offsets.Problem, _ *offsets.Solution) {
			p.Buffers[0].Gaps[0].First = 3
		},
		`2 ("c") and 1 ("b") share bytes in step 3`: func(p *offsets.Problem, s *offsets.Solution) {
			s.Offsets[1] = 8
			p.Buffers[1].First = 3
		},
		`2 ("c") and 4 ("e") share bytes in step 0`: func(_ *offsets.Problem, s *offsets.Solution) {
			s.Offsets[2], s.Offsets[3] = 16, 20
			s.Frames[0] = offsets.SpaceResult{Bytes: 24}
			s.Optimal = false
		},
	} {
		t.Run(want, func(t *testing.T) {
			p, s := right()
			spoil(&p, s)
			require.ErrorContains(t, check.Solution(p, s), want)
		})
	}
}

// The hole between a base and a later alias is free where a gap says so.
func TestGapsOfMembers(t *testing.T) {
	p := offsets.Problem{Buffers: []offsets.Buffer{
		{Bytes: 8, First: 0, End: 2},
		{Bytes: 8, First: 1, End: 9, Alias: true, Gaps: []offsets.Interval{{First: 3, End: 6}}},
		{Bytes: 8, First: 3, End: 6},
	}}
	s := &offsets.Solution{Offsets: make([]int64, 3), Space: make([]int, 3), Frames: []offsets.SpaceResult{{Bytes: 8}}}
	require.NoError(t, check.Solution(p, s))
	p.Buffers[2].End++
	require.ErrorContains(t, check.Solution(p, s), "share bytes in step 6")
}
