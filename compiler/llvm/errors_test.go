package llvm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// mistakes change the tiny plan, or the options, into ones that are refused.
var mistakes = map[string]struct {
	change func(p *plan.ExecutionPlan, o *Options)
	want   string
}{
	"version": {func(_ *plan.ExecutionPlan, o *Options) {
		o.Version = 13
	}, "LLVM 13: the oldest version that reads the module is 14"},
	"vectors": {func(_ *plan.ExecutionPlan, o *Options) {
		o.VectorBits = 96
	}, "vectors of 96 bits: the width is a power of two from 64 to 2048"},
	"alignment": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Frame.Alignment = 4096
	}, "a frame aligned to 4096 bytes: the runtime aligns frames to 64"},
	"no name": {func(p *plan.ExecutionPlan, _ *Options) { p.Name = "" }, "the plan has no name: set Options.Name"},
	"no operator": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Instructions[1].Op = "Einsum"
	}, `node "n1": operator Einsum on f32: there is no kernel for this operator`},
	"type": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[1].Op = "Not" },
		`node "n1": operator Not on f32: there are kernels for bool`},
	"types": {func(p *plan.ExecutionPlan, _ *Options) { p.Buffers[1].DType = graph.I32 },
		`node "n0": operator Mul on i32: its arguments are of f32 and of i32`},
	"result type": {func(p *plan.ExecutionPlan, _ *Options) { p.Buffers[3].DType = graph.I32 },
		`there are no kernels for 2 nodes: Relu on i32 ("n1": its result is of f32, not of i32), Add on f32 ("n2": its result ` +
			`is of i32, not of f32)`},
	"arguments": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[0].Inputs = p.Instructions[0].Inputs[:1] },
		`node "n0": operator Mul on f32: it has 1 arguments; it takes 2 to 2`},
	"left out": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[0].Inputs[1].Buffer = -1 },
		`node "n0": operator Mul on f32: argument 1 was left out`},
	"shapes": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Instructions[0].Inputs[1].View = view.Contiguous([]int64{4})
	},
		`node "n0": operator Mul on f32: a shape among`},
	"beyond": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[0].Inputs[1].View.Offset = 1 },
		`node "n0" (Mul): operand "v1" touches elements 1 to 5 of a buffer of 20 bytes of f32`},
	"before": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[0].Inputs[1].View.Strides[0] = -1 },
		`touches elements -4 to 0`},
	"no buffer": {func(p *plan.ExecutionPlan, _ *Options) { p.Instructions[0].Inputs[1].Buffer = 9 },
		`node "n0" (Mul): operand "v1" lies in buffer 9 of 5`},
	"no place": {func(p *plan.ExecutionPlan, _ *Options) { p.Buffers[3].Offset = -1 },
		"buffer 3 (b, kind 0) has no place"},
	"outside": {func(p *plan.ExecutionPlan, _ *Options) { p.Buffers[3].Offset = 160 },
		"buffer 3 (b) ends at 200, and the frame at 192"},
	"in place": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Instructions[1].Outputs[0].Buffer = 2
		p.Instructions[1].Outputs[0].View = view.View{Shape: []int64{2, 5}, Strides: []int64{1, 2}}
	}, `node "n1": operator Relu on f32: argument 0 begins where the result does and has other strides`},
	"not in place": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Instructions[1] = plan.Instruction{Node: "n1", Op: "ReduceSum", Attrs: graph.Attrs{"axes": []int64{0}},
			Inputs: p.Instructions[1].Inputs, Outputs: []plan.Operand{operandOf(2, 5)}}
	}, `node "n1": operator ReduceSum on f32: argument 0 lies where a result does; it cannot work in place`},
	"second result": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Instructions[1].Outputs = append(p.Instructions[1].Outputs, operandOf(3, 5))
	}, `node "n1": operator Relu on f32: result 1 is not computed`},
	"result in a constant": {func(p *plan.ExecutionPlan, _ *Options) { p.Buffers[3].Kind = plan.Input },
		`node "n1" (Relu): its result "v3" lies in buffer 3, an input or a constant, which cannot be written`},
	"no output": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Outputs[0].Buffer = -1
	}, `output 0 of the plan, "v4", lies in no buffer`},
	"negative shape": {func(p *plan.ExecutionPlan, _ *Options) {
		p.Outputs[0].View.Shape[0] = -2
	}, `operand "v4" has the shape [-2 5]`},
	"constant": {func(p *plan.ExecutionPlan, o *Options) {
		p.Instructions[1].Op, p.Instructions[1].Attrs = "Conv", graph.Attrs{"group": int64(1)}
	},
		`node "n1": operator Conv on f32: it has 1 arguments; it takes 2 to 3`},
}

func TestMistakes(t *testing.T) {
	for name, m := range mistakes {
		p, o := tinyPlan(), Options{}
		m.change(p, &o)
		text, err := Module(p, o)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), m.want, name)
		assert.Empty(t, text, name)
	}
}

// Whatever an instruction looks like, it is written or refused.
func TestStrangeInstructions(t *testing.T) {
	attributes := []graph.Attrs{nil,
		{"axes": []int64{7}, "axis": int64(9), "perm": []int64{0}, "pads": []int64{1}, "split": []int64{1, 2, 3},
			"starts": []int64{1}, "group": int64(0)},
		{"axes": []int64{-1, -1}, "axis": int64(-3), "perm": []int64{5, 5}, "pads": []int64{-9, 0, 0, -9},
			"mode": "reflect", "split": []int64{-1}, "size": int64(-1),
			"starts": []int64{9, 9}, "ends": []int64{0, 0}, "steps": []int64{0, 0}, "group": int64(-1),
			"kernel_shape": []int64{0, 0}},
	}
	shapes := [][]int64{{}, {0}, {5}, {2, 5}, {1, 2, 5}, {1, 1, 2, 5}}
	written, refused := 0, 0
	for op := range kernels {
		for _, attrs := range attributes {
			for _, in := range shapes {
				for _, out := range shapes {
					p := tinyPlan()
					i := plan.Instruction{Node: "n1", Op: op, Attrs: attrs,
						Outputs: []plan.Operand{operandOf(3, out...)}}
					for n := range 5 {
						p.Instructions[1] = i
						if _, err := Module(p, Options{}); err == nil {
							written++
						} else {
							refused++
						}
						i.Inputs = append(i.Inputs, operandOf(2, shapes[(n*n+len(in))%len(shapes)]...))
						i.Inputs[0] = operandOf(2, in...)
					}
				}
			}
		}
	}
	assert.Greater(t, written, 100)
	assert.Greater(t, refused, 1000)
}

// One error names all operators without a kernel, those in bodies too.
func TestAllThatIsMissing(t *testing.T) {
	p := tinyPlan()
	p.Instructions[0].Op, p.Instructions[1].Op = "Twist", "Twist"
	_, err := Module(p, Options{})
	assert.EqualError(t, err, `there are no kernels for 2 nodes: Twist on f32 (2 nodes, the first is "n0")`)
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
	assert.Len(t, Missing(p), 2)
	p.Instructions[1].Op = "Not"
	assert.EqualError(t, Missing(p),
		`there are no kernels for 2 nodes: Twist on f32 ("n0"), Not on f32 ("n1": there are kernels for bool)`)
	inner := tinyPlan()
	inner.Instructions[2].Op = "Bend"
	p.Instructions[0].Bodies = []plan.Body{{Name: "body", Plan: inner}}
	assert.Len(t, Missing(p), 3)
	assert.Empty(t, Missing(tinyPlan()))
	assert.Contains(t, KernelTypes("Relu"), graph.F16)
	assert.Empty(t, KernelTypes("Twist"))
}

func TestUnsupportedErrorSaysWhat(t *testing.T) {
	p := tinyPlan()
	p.Instructions[1].Op = "Einsum"
	_, err := Module(p, Options{})
	var unsupported *UnsupportedError
	require.ErrorAs(t, err, &unsupported)
	assert.Equal(t, UnsupportedError{"n1", "Einsum", graph.F32, "there is no kernel for this operator"}, *unsupported)
}

// A module that defines a function which it calls, or which LLVM calls, would call itself.
func TestNamesOfFunctionsThatAreCalledAreTaken(t *testing.T) {
	for name, want := range map[string]string{"tl_mem_frame_enter": "_tl_mem_frame_enter", "memcpy": "_memcpy",
		"3d": "_3d", "my-net": "my_net", "tl_model": "tl_model"} {
		text, err := Module(tinyPlan(), Options{Name: name})
		require.NoError(t, err)
		assert.Contains(t, text, "@"+want+"(")
		assert.NotContains(t, text, "define i32 @tl_mem")
	}
}
