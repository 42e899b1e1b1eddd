package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
)

// TestRecurrenceIsUnrolled counts what a step of each takes.
func TestRecurrenceIsUnrolled(t *testing.T) {
	for op, c := range map[string]struct {
		args   string
		counts map[string]int
	}{
		"RNN": {"f32(5,2,3) f32(1,4,3) f32(1,4,4)", map[string]int{"Gemm": 6, "Tanh": 5}},
		"GRU": {"f32(5,2,3) f32(1,12,3) f32(1,12,4) f32(1,24)", map[string]int{"Gemm": 11, "Sigmoid": 5,
			"Tanh": 5}},
		"LSTM": {"f32(5,2,3) f32(1,16,3) f32(1,16,4) f32(1,32)", map[string]int{"Gemm": 6, "Sigmoid": 5,
			"Tanh": 10}},
	} {
		g := single(op, c.args, nil, 2)
		checked := mustCheck(t, g, check.Options{})
		counts := map[string]int{}
		for _, n := range checked.Nodes {
			counts[n.Op]++
		}
		for name, n := range c.counts {
			require.Equal(t, n, counts[name], "%s of %s", name, op)
		}
		require.Equal(t, []int64{5, 1, 2, 4}, checked.Values[checked.Outputs[0]].Shape, op)
		require.Equal(t, []int64{1, 2, 4}, checked.Values[checked.Outputs[1]].Shape, op)
	}
}

func TestErrorsOfRecurrence(t *testing.T) {
	runInfer(t, []inferCase{
		{"LSTM", "f32(2,1,3) f32(1,4,3) f32(1,4,4)", nil, "X has the shape (2, 1, 3), W (1, 4, 3), R (1, 4, 4), and " +
			"there " +
			"are 1 directions and 4 gates; X needs (steps, batch, input), W (directions, gates * hidden, input), R " +
			"(directions, gates * hidden, hidden)"},
		{"RNN", "f32(2,1,3) f32(1,4,3) f32(1,4,4)", A{"activations": []string{"Sine"}},
			`its activation "Sine" is unknown; use Sigmoid, Tanh, Relu, Softplus, Softsign, LeakyRelu, Elu, ` +
				"ThresholdedRelu, HardSigmoid, Affine or ScaledTanh"},
		{"RNN", "f32(2,1,3) f32(1,4,3) f32(1,4,4) - i32(2)", nil,
			"sequence_lens have the shape (2), and there are 1 samples; give one for each sample"},
		{"RNN", "f32(9999,1,3) f32(1,4,3) f32(1,4,4)", nil, "X has 9999 steps; use 1 to 4096"},
		{"RNN", "f32(2,1,3) f32(1,4,3) f32(1,4,4) - i64[3]", nil,
			"sequence_lens has 3, X 2 steps; use 0 up to the number of steps"},
	})
}

// Functions that are no operators, coupled gates, and lengths that are known when it runs.
func TestVariantsOfRecurrence(t *testing.T) {
	for op, c := range map[string]struct {
		args   string
		attrs  A
		counts map[string]int
	}{
		"RNN": {"f32(3,2,3) f32(1,4,3) f32(1,4,4)", A{"activations": []string{"ScaledTanh"},
			"activation_alpha": []float64{2}, "activation_beta": []float64{0.5}}, map[string]int{"Tanh": 3, "Mul": 6}},
		"GRU": {"f32(3,2,3) f32(1,12,3) f32(1,12,4) - i32(2)", A{"activations": []string{"Affine", "Affine"}},
			map[string]int{"Where": 6, "Greater": 6}},
		"LSTM": {"f32(3,2,3) f32(1,16,3) f32(1,16,4)", A{"input_forget": int64(1)}, map[string]int{"Sub": 3}},
	} {
		checked := mustCheck(t, single(op, c.args, c.attrs, 2), check.Options{})
		counts := map[string]int{}
		for _, n := range checked.Nodes {
			counts[n.Op]++
		}
		for name, n := range c.counts {
			require.Equal(t, n, counts[name], "%s of %s", name, op)
		}
	}
}
