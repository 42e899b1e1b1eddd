package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/view"
)

// sound is a plan in which the mistakes below can be made: views, a Concat, results
// in place, temporary memory, two outputs.
func sound(t *testing.T) (*sketch, *ExecutionPlan) {
	s := newSketch()
	s.input("a", 2, 8)
	s.constant("k", 2, 8)
	s.node("Add", "b", shape(2, 8), nil, "a", "k")
	s.node("Transpose", "c", shape(8, 2), graph.Attrs{"perm": []int64{1, 0}}, "b")
	s.node("MatMul", "d", shape(2, 2), nil, "b", "c")
	s.node("Relu", "e", shape(2, 2), nil, "d")
	s.node("MatMul", "f", shape(2, 8), nil, "e", "b")
	s.node("Exp", "g", shape(2, 8), nil, "a")
	s.node("Concat", "h", shape(2, 16), graph.Attrs{"axis": int64(1)}, "f", "g")
	s.node("ReduceSum", "i", shape(2, 1), nil, "h")
	s.output("i", "e")
	p := s.build(t, Options{NoReorder: true, Alignment: 4, Scratch: func(i *Instruction) int64 {
		if i.Op == "MatMul" {
			return 64
		}
		return 0
	}})
	return s, p
}

// copyOf returns a plan that may be spoiled.
func copyOf(p *ExecutionPlan) *ExecutionPlan {
	q := *p
	q.Buffers = slices.Clone(p.Buffers)
	q.Instructions = slices.Clone(p.Instructions)
	for k := range q.Instructions {
		i := &q.Instructions[k]
		i.Inputs, i.Outputs = slices.Clone(i.Inputs), slices.Clone(i.Outputs)
	}
	q.Inputs, q.Outputs = slices.Clone(p.Inputs), slices.Clone(p.Outputs)
	return &q
}

func find(p *ExecutionPlan, node string) *Instruction {
	at := slices.IndexFunc(p.Instructions, func(i Instruction) bool { return i.Node == node })
	return &p.Instructions[at]
}

func TestMistakesAreFound(t *testing.T) {
	s, good := sound(t)
	mistakes := map[string]func(*ExecutionPlan){
		"buffer beyond the frame":   func(p *ExecutionPlan) { p.Frame.Bytes -= 4 },
		"offset not aligned":        func(p *ExecutionPlan) { p.Frame.Alignment = 1 << 20 },
		"buffers share bytes":       func(p *ExecutionPlan) { share(p) },
		"lifetime too short":        func(p *ExecutionPlan) { p.Buffers[find(p, "n_b").Outputs[0].Buffer].Last-- },
		"size does not fit":         func(p *ExecutionPlan) { p.Buffers[0].Bytes += 4 },
		"no such buffer":            func(p *ExecutionPlan) { find(p, "n_g").Inputs[0].Buffer = 99 },
		"view beyond the buffer":    func(p *ExecutionPlan) { find(p, "n_g").Inputs[0].View.Offset++ },
		"argument left out":         func(p *ExecutionPlan) { find(p, "n_e").Inputs[0].Buffer = -1 },
		"argument missing":          func(p *ExecutionPlan) { find(p, "n_b").Inputs = find(p, "n_b").Inputs[:1] },
		"writes an input":           func(p *ExecutionPlan) { find(p, "n_b").Outputs[0].Buffer = p.Inputs[0].Buffer },
		"reads the wrong value":     func(p *ExecutionPlan) { find(p, "n_d").Inputs[0].Name = "g" },
		"runs too early":            func(p *ExecutionPlan) { swap(p, "n_e", "n_f") },
		"activation outside":        func(p *ExecutionPlan) { p.Buffers[find(p, "n_b").Outputs[0].Buffer].Offset = -1 },
		"output in an activation":   func(p *ExecutionPlan) { p.Outputs[0].Buffer = find(p, "n_b").Outputs[0].Buffer },
		"in place where it may not": func(p *ExecutionPlan) { find(p, "n_i").Op = "MaxPool"; inPlace(p) },
		"scratch over a result": func(p *ExecutionPlan) {
			d := find(p, "n_d")
			d.Scratch.Buffer = d.Outputs[0].Buffer
			d.Scratch.View = d.Outputs[0].View
		},
		"argument through another view": func(p *ExecutionPlan) {
			b := find(p, "n_d").Inputs[0]
			b.View = view.View{Shape: b.View.Shape, Strides: b.View.Strides, Offset: 0}
			b.View.Shape = []int64{2, 7}
			find(p, "n_d").Inputs[0] = b
		},
	}
	for name, spoil := range mistakes {
		t.Run(name, func(t *testing.T) {
			p := copyOf(good)
			for k := range p.Instructions {
				if s := p.Instructions[k].Scratch; s != nil {
					own := *s
					p.Instructions[k].Scratch = &own
				}
			}
			spoil(p)
			err := Verify(p, &s.Checked)
			require.Error(t, err)
			assert.Contains(t, err.Error(), "plan: ")
		})
	}
}

// share moves a buffer over another that is alive at once.
func share(p *ExecutionPlan) {
	d := find(p, "n_d")
	p.Buffers[d.Scratch.Buffer].Offset = p.Buffers[d.Inputs[0].Buffer].Offset
}

func swap(p *ExecutionPlan, a, b string) {
	x, y := find(p, a), find(p, b)
	*x, *y = *y, *x
}

// inPlace has the last instruction write over its argument.
func inPlace(p *ExecutionPlan) {
	i := find(p, "n_i")
	i.Inputs[0].Buffer = i.Outputs[0].Buffer
	i.Inputs[0].View = i.Outputs[0].View
}

// TestAnyOffsetThatOverlapsIsFound moves one buffer of a sound plan anywhere: the
// plan stays sound only if the buffer meets none that is alive at once.
func TestAnyOffsetThatOverlapsIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawGraph(t, rapid.IntRange(2, 12).Draw(t, "nodes"))
		p, err := Build(c, Options{PlaceInputs: true, PlaceOutputs: true, Alignment: 4, MaxSteps: -1, OrderSteps: -1})
		require.NoError(t, err)
		if p.Frame.Bytes == 0 {
			return
		}
		var placed []int
		for i := range p.Buffers {
			if b := &p.Buffers[i]; b.Offset >= 0 && b.Bytes > 0 {
				placed = append(placed, i)
			}
		}
		b := &p.Buffers[rapid.SampledFrom(placed).Draw(t, "buffer")]
		b.Offset = rapid.Int64Range(0, (p.Frame.Bytes-b.Bytes)/4).Draw(t, "offset") * 4
		meets := slices.ContainsFunc(placed, func(i int) bool {
			x := &p.Buffers[i]
			return x != b && x.First <= b.Last && b.First <= x.Last && x.Offset < b.Offset+b.Bytes &&
				b.Offset < x.Offset+x.Bytes
		})
		require.Equal(t, meets, Validate(p) != nil, fmt.Sprint(Validate(p)))
	})
}

// TestAValueThatIsOverwrittenTooEarly has a result take the place of an argument of
// which a view is read later. The structure is sound; the elements are not.
func TestAValueThatIsOverwrittenTooEarly(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 4)
	s.node("MaxPool", "a", shape(4, 4), nil, "in")
	s.node("Transpose", "b", shape(4, 4), graph.Attrs{"perm": []int64{1, 0}}, "a")
	s.node("Relu", "c", shape(4, 4), nil, "a")
	s.node("MatMul", "d", shape(4, 4), nil, "b", "c")
	s.node("ReduceSum", "out", shape(), nil, "d")
	s.output("out")
	p := s.build(t, Options{NoReorder: true})
	relu, matmul := find(p, "n_c"), find(p, "n_d")
	spare := &p.Buffers[relu.Outputs[0].Buffer]
	require.NotEqual(t, relu.Inputs[0].Buffer, relu.Outputs[0].Buffer)
	relu.Outputs[0].Buffer, matmul.Inputs[1].Buffer = relu.Inputs[0].Buffer, relu.Inputs[0].Buffer
	spare.First, spare.Last = len(p.Instructions), -1
	assert.ErrorContains(t, Validate(p), `"b" holds "c"`)
	assert.ErrorContains(t, Verify(p, &s.Checked), `holds "c"`)
}

// An operand may be larger than all memory where the frame is small: an input, or a value that is repeated.
func TestOperandsLargerThanMemoryAreCheckedForTheirStructure(t *testing.T) {
	for op, extent := range map[string]int64{"input": 1 << 40, "expand": 1 << 20} {
		g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: graph.F32, Shape: []graph.Dim{{Size: extent}}}},
			Nodes:   []graph.Node{{Op: "ReduceSum", Inputs: []string{"x"}, Outputs: []string{"y"}}},
			Outputs: []string{"y"}}
		if op == "expand" {
			shape := graph.Tensor{DType: graph.I64, Shape: []int64{2}, Data: make([]byte, 16)}
			shape.Data[2], shape.Data[10] = 16, 16
			g.Constants = []graph.Constant{{Name: "shape", Tensor: shape}}
			g.Nodes[0].Inputs[0] = "z"
			g.Nodes = append(g.Nodes, graph.Node{Op: "Expand", Inputs: []string{"x", "shape"}, Outputs: []string{"z"}})
		}
		c, err := check.Check(g, check.Options{})
		require.NoError(t, err)
		p, err := Build(c, Options{})
		require.NoError(t, err)
		require.Less(t, p.Frame.Bytes, int64(1<<20), op)
		require.NoError(t, Validate(p))
		require.Zero(t, ValidationBytes(p))
	}
	_, p := sound(t)
	require.Positive(t, ValidationBytes(p))
}
