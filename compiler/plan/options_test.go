package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/runtime/offsets"
)

// A budget of time is used up; the steps that stand in for one do not end it.
func TestTimeOrSteps(t *testing.T) {
	for _, c := range []struct {
		steps  int64
		budget time.Duration
		want   offsets.Options
	}{
		{0, 0, offsets.Options{MaxSteps: DefaultMaxSteps / 2}},
		{0, time.Second, offsets.Options{Budget: time.Second}},
		{7, 0, offsets.Options{MaxSteps: 7}},
		{7, time.Second, offsets.Options{MaxSteps: 7, Budget: time.Second}},
		{-1, 0, offsets.Options{}},
		{-1, time.Second, offsets.Options{}},
	} {
		o := Options{MaxSteps: c.steps, Budget: c.budget}
		assert.Equal(t, c.want, o.search(200))
	}
}

// A plan of a model of gigabytes copies them only where its caller may change the graph.
func TestPlansShareConstantsWhereThatIsAllowed(t *testing.T) {
	k := graph.Tensor{DType: graph.F32, Shape: []int64{4}, Data: make([]byte, 16)}
	c, err := check.Check(&graph.Graph{
		Inputs:    []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: 4}}}},
		Constants: []graph.Constant{{Name: "k", Tensor: k}},
		Nodes:     []graph.Node{{Op: "Add", Inputs: []string{"x", "k"}, Outputs: []string{"y"}}},
		Outputs:   []string{"y"},
	}, check.Options{})
	require.NoError(t, err)
	for _, share := range []bool{false, true} {
		p, err := Build(c, Options{ShareConstants: share})
		require.NoError(t, err)
		found := false
		for i := range p.Buffers {
			if b := &p.Buffers[i]; b.Kind == Constant {
				found = true
				require.Equal(t, share, &b.Constant.Data[0] == &k.Data[0])
			}
		}
		require.True(t, found)
	}
}
