package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
)

// The table has a row for each part, and means are over instances and seeds.
func TestAblation(t *testing.T) {
	require.Equal(t, "| without | large (2) | tight (1) |\n|---|---:|---:|\n| nothing | 1.0000, 1.0000 | 1.1000, 1.0500 |\n"+
		"| tree | 1.0000, 1.0000 | 1.2000, 1.1000 |\n", ablationTable([]ablated{
		{Group: "large", Instances: 2, Quick: 1, Frame: 1}, {Group: "large", Without: "tree", Quick: 1, Frame: 1},
		{Group: "tight", Instances: 1, Quick: 1.1, Frame: 1.05}, {Group: "tight", Without: "tree", Quick: 1.2, Frame: 1.1},
	}))
	a := ablated{Instances: 1}
	in := instance{name: "two", problem: offsets.Problem{Buffers: []offsets.Buffer{
		{Bytes: 4, First: 0, End: 2}, {Bytes: 2, First: 1, End: 3}, {Bytes: 4, First: 2, End: 4},
	}}}
	require.NoError(t, a.add(in, 0))
	require.InDelta(t, 1, a.Quick, 1e-9)
	require.InDelta(t, 1, a.Frame, 1e-9)
}
