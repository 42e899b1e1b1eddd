package ops

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsSound(t *testing.T) {
	require.Len(t, operators, len(table), "an operator stands twice")
	for _, e := range table {
		o := operators[e.name]
		require.NotEmpty(t, o.Outputs, o.Name)
		require.NotNil(t, o.infer, o.Name)
		require.False(t, o.Becomes != "" && o.fold != nil, "%s: it is gone before constants are computed", o.Name)
		require.Equal(t, strings.Count(e.in+e.out, " ")-strings.Count(e.in+e.out, ", "), len(o.Inputs)+len(o.Outputs),
			o.Name)
		for i, a := range append(o.Inputs, o.Outputs...) {
			require.True(t, a.Types != 0 || a.Type == "other", "%s: %s", o.Name, a.Name)
			last := i == len(o.Inputs)-1 || i == len(o.Inputs)+len(o.Outputs)-1
			require.False(t, a.Variadic && !last, o.Name)
		}
		for _, a := range append(o.Attrs, o.Accepts...) {
			require.NotZero(t, a.Kind, "%s: %s", o.Name, a.Name)
		}
	}
	for name, o := range operators {
		require.False(t, o.Becomes != "" && (o.InPlace != nil || o.Moves != nil), "%s: no planner meets it", name)
		require.False(t, o.InPlace != nil && o.Moves != nil, "%s: what moves elements is a view, and writes nothing",
			name)
		require.True(t, o.Moves == nil || (o.Moves.View == nil) == (o.Moves.Parts != NoParts), name)
		for _, i := range o.InPlace {
			require.Less(t, i, len(o.Inputs), name)
			require.True(t, i != EveryArgument || Variadic(o.Inputs), name)
		}
	}
	_, ok := Normal("Nothing")
	require.False(t, ok)
}
