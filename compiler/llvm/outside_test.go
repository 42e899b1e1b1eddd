package llvm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// thereAndBack is a chain whose values are needed again in the opposite order, in part through a view.
func thereAndBack(t *testing.T, length int) *graph.Checked {
	shape := []graph.Dim{{Size: 12}, {Size: 20}}
	g := &graph.Graph{Name: "chain", Inputs: []graph.Value{{Name: "v0", DType: graph.F32, Shape: shape}}}
	node := func(op, out string, in ...string) string {
		n := graph.Node{Name: out, Op: op, Inputs: in, Outputs: []string{out}}
		if op == "Transpose" {
			n.Attrs = graph.Attrs{"perm": []int64{1, 0}}
		}
		g.Nodes = append(g.Nodes, n)
		return out
	}
	for i := range length {
		node("Tanh", fmt.Sprint("v", i+1), fmt.Sprint("v", i))
	}
	back := node("Transpose", "top", fmt.Sprint("v", length))
	for i := length - 1; i > 0; i-- {
		back = node("Add", fmt.Sprint("b", i), back, node("Transpose", fmt.Sprint("t", i), fmt.Sprint("v", i)))
	}
	g.Outputs = []string{back}
	c, err := graph.Check(g, graph.CheckOptions{})
	require.NoError(t, err)
	return c
}

// A function that moves values to a second space gives the same to the last bit as one that keeps them.
func TestASecondSpace(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	x := random(rand.New(rand.NewPCG(1, 1)), graph.F32, -2, 2, 12, 20)
	content := laid(&x, given.Inputs[0].View, 240, 0)
	var want [][]byte
	jobs := []*job{{name: "kept", plan: given, inputs: [][]byte{content},
		check: func(t *testing.T, status int32, outputs [][]byte) {
			require.Zero(t, status)
			want = outputs
		}}}
	for _, percent := range []int64{70, 45} {
		r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes * percent / 100,
			Outside: &remat.Outside{Bandwidth: 1e9}, NoAgain: true})
		require.NoError(t, err)
		require.NotEmpty(t, r.Moved)
		info, err := Describe(r.Plan, Options{Name: "chain"})
		require.NoError(t, err)
		assert.Equal(t, r.Plan.Outside, info.Outside)
		jobs = append(jobs, &job{name: fmt.Sprint("moved", percent), plan: r.Plan, inputs: [][]byte{content},
			check: func(t *testing.T, status int32, outputs [][]byte) {
				require.Zero(t, status)
				assert.Equal(t, want, outputs)
			}})
	}
	run(t, jobs)
}

// Buffers that do not lie in the second space are refused.
func TestASecondSpaceThatIsTooSmall(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes / 2, Outside: &remat.Outside{}, NoAgain: true})
	require.NoError(t, err)
	r.Plan.Outside--
	_, err = Module(r.Plan, Options{})
	require.ErrorContains(t, err, "and the second space at")
}

// The caller's scratch is the frame alone.
func TestASecondSpaceWithScratchOfTheCaller(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes / 2, Outside: &remat.Outside{}, NoAgain: true})
	require.NoError(t, err)
	_, err = Module(r.Plan, Options{Memory: Caller})
	require.ErrorContains(t, err, "moves values to a second space")
}
