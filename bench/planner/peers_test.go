package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// Placing by parts of time gives what comparing with every buffer gives.
func TestPeersPlaceAsIfTheyComparedAll(t *testing.T) {
	for _, name := range []string{"training", "stack", "alive 50", "layers"} {
		list := problems.Large[name](1, 3000).Buffers
		for _, order := range [][]int{sorted(list, bySize), sorted(list, byStart), byBreadth(list)} {
			require.Equal(t, bestFitOfAll(list, order), bestFit(list, order), name)
		}
	}
}

// Every allocation of a training, which the rules place at its bound; too many for them, it ended at 1.21.
func TestARecordedTrainingIsOptimal(t *testing.T) {
	in, err := recorded("../data/digits.trace.gz")
	require.NoError(t, err)
	s, _, err := place(in, offsets.Options{})
	require.NoError(t, err)
	require.True(t, s.Optimal)
}

func bestFitOfAll(list []offsets.Buffer, order []int) (frame int64) {
	all := []placed{}
	for _, i := range order {
		b := list[i]
		at, best, end := int64(-1), int64(-1), int64(0)
		for _, x := range all {
			if x.First >= b.End || b.First >= x.End {
				continue
			}
			if hole := x.at - end; hole >= b.Bytes && (best < 0 || hole < best) {
				at, best = end, hole
			}
			end = max(end, x.end)
		}
		if at < 0 {
			at = end
		}
		x := placed{offsets.Interval{First: b.First, End: b.End}, at, at + b.Bytes}
		all = insert(all, x)
		frame = max(frame, x.end)
	}
	return frame
}
