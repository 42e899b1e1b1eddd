package plan

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

func TestSplitsAreViews(t *testing.T) {
	s := newSketch()
	s.input("in", 1, 8, 16)
	s.node("MaxPool", "x", shape(1, 8, 16), nil, "in")
	s.split("x", 1, "a", "b")
	s.node("Relu", "c", shape(1, 4, 16), nil, "a")
	s.node("Concat", "d", shape(1, 8, 16), graph.Attrs{"axis": int64(1)}, "c", "b")
	s.node("ReduceSum", "out", shape(), nil, "d")
	s.output("out")
	p := s.build(t, Options{})
	assert.Equal(t, []string{"MaxPool", "Relu", "Concat", "ReduceSum"}, opsOf(p))
	assert.Equal(t, p.Instructions[0].Outputs[0].Buffer, p.Instructions[1].Outputs[0].Buffer,
		"in place, in the first half")
	p = s.build(t, Options{NoConcat: true})
	assert.Contains(t, opsOf(p), "Split")
	p = s.build(t, Options{NoViews: true})
	assert.Contains(t, opsOf(p), "Split")
}

func TestASmallViewDoesNotKeepALargeBase(t *testing.T) {
	s := newSketch()
	s.input("in", 64, 64)
	s.node("MaxPool", "x", shape(64, 64), nil, "in")
	s.node("Slice", "part", shape(1, 64), graph.Attrs{"starts": []int64{0, 0}, "ends": []int64{1, 64},
		"steps": []int64{1, 1}}, "x")
	s.node("ReduceSum", "y", shape(1, 1), nil, "x")
	for _, name := range []string{"p", "q"} {
		s.node("MaxPool", name, shape(64, 64), nil, "y")
		s.node("ReduceSum", name+"1", shape(1, 1), nil, name)
	}
	s.node("Sum", "out", shape(1, 64), nil, "part", "p1", "q1")
	s.output("out")
	p := s.build(t, Options{NoReorder: true})
	assert.Contains(t, opsOf(p), "Copy")
	assert.Less(t, p.Frame.Bytes, int64(64*64*4+3*64*4))
}

func TestWhatIsBroadcastIsNotOverwritten(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 4)
	s.node("ReduceMax", "a", shape(4, 1), nil, "in")
	s.node("Expand", "b", shape(4, 4), nil, "a")
	s.node("Relu", "c", shape(4, 4), nil, "b")
	s.node("ReduceMax", "d", shape(1, 4), nil, "c")
	s.node("Add", "e", shape(4, 4), nil, "c", "d")
	s.node("ReduceSum", "out", shape(), nil, "e")
	s.output("out")
	p := s.build(t, Options{})
	relu, add := find(p, "n_c"), find(p, "n_e")
	assert.NotEqual(t, relu.Inputs[0].Buffer, relu.Outputs[0].Buffer)
	assert.Equal(t, add.Inputs[0].Buffer, add.Outputs[0].Buffer)
}

func TestAnArgumentInTwoLayoutsIsNotOverwritten(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 4)
	s.node("MaxPool", "a", shape(4, 4), nil, "in")
	s.node("Transpose", "b", shape(4, 4), graph.Attrs{"perm": []int64{1, 0}}, "a")
	s.node("Sub", "c", shape(4, 4), nil, "a", "b")
	s.node("Mul", "d", shape(4, 4), nil, "c", "c")
	s.node("ReduceSum", "out", shape(), nil, "d")
	s.output("out")
	p := s.build(t, Options{})
	sub, mul := find(p, "n_c"), find(p, "n_d")
	assert.Equal(t, sub.Inputs[0].Buffer, sub.Inputs[1].Buffer)
	assert.NotEqual(t, sub.Inputs[0].Buffer, sub.Outputs[0].Buffer)
	assert.Equal(t, mul.Inputs[0].Buffer, mul.Outputs[0].Buffer, "both arguments are the same elements")
}

func TestAReshapeThatStridesCannotExpress(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 6)
	s.node("Transpose", "a", shape(6, 4), graph.Attrs{"perm": []int64{1, 0}}, "in")
	s.node("Reshape", "b", shape(24), nil, "a")
	s.node("ReduceSum", "out", shape(), nil, "b")
	s.output("out")
	p := s.build(t, Options{})
	require.Equal(t, []string{"Copy", "ReduceSum"}, opsOf(p))
	assert.Equal(t, []int64{6, 4}, p.Instructions[0].Inputs[0].View.Shape)
	assert.Equal(t, []int64{24}, p.Instructions[1].Inputs[0].View.Shape)
}

func TestTemporaryMemory(t *testing.T) {
	s := newSketch()
	s.input("in", 16)
	s.node("MaxPool", "a", shape(16), nil, "in")
	s.node("MaxPool", "b", shape(16), nil, "a")
	s.node("ReduceSum", "out", shape(), nil, "b")
	s.output("out")
	p := s.build(t, Options{Scratch: func(i *Instruction) int64 {
		if i.Node == "n_b" {
			return 100
		}
		return 0
	}})
	b := find(p, "n_b")
	require.NotNil(t, b.Scratch)
	assert.Nil(t, find(p, "n_a").Scratch)
	temporary := p.Buffers[b.Scratch.Buffer]
	assert.EqualValues(t, 100, temporary.Bytes)
	assert.Equal(t, temporary.First, temporary.Last)
	assert.EqualValues(t, 64+64+128, p.Frame.Bytes)
	_, err := Build(&s.Checked, Options{Scratch: func(*Instruction) int64 { return -1 }})
	assert.ErrorContains(t, err, `"n_a"`)
}

// TestABetterOrder has two branches that grow before they shrink; run one after the
// other, only one of them is large at a time.
func TestABetterOrder(t *testing.T) {
	s := newSketch()
	s.input("in", 16)
	for _, step := range []string{"1", "2"} {
		for _, branch := range []string{"a", "b", "c"} {
			if step == "1" {
				s.node("MaxPool", branch+step, shape(1024), nil, "in")
			} else {
				s.node("ReduceSum", branch+step, shape(16), nil, branch+"1")
			}
		}
	}
	s.node("Sum", "out", shape(16), nil, "a2", "b2", "c2")
	s.output("out")
	given := s.build(t, Options{NoReorder: true})
	assert.EqualValues(t, 3*4096, given.Frame.Bytes, "a2 is written into the output, where the sum takes its place")
	p := s.build(t, Options{})
	assert.EqualValues(t, 4096+2*64, p.Frame.Bytes)
	assert.Equal(t, Order{GivenPeak: 3 * 4096, Peak: 4096 + 2*64, Proved: true}, p.Frame.Order)
}

func TestInputsAndOutputsInTheFrame(t *testing.T) {
	s := newSketch()
	s.input("in", 16)
	s.node("ReduceMax", "a", shape(32), nil, "in")
	s.node("ReduceMax", "b", shape(16), nil, "a")
	s.output("b")
	for _, o := range []struct {
		in, out bool
		bytes   int64
	}{{false, false, 128}, {true, false, 192}, {false, true, 192}, {true, true, 192}} {
		p := s.build(t, Options{PlaceInputs: o.in, PlaceOutputs: o.out})
		assert.Equal(t, o.bytes, p.Frame.Bytes, "%+v", o)
		assert.Equal(t, o.in, p.Buffers[p.Inputs[0].Buffer].Offset >= 0)
		assert.Equal(t, o.out, p.Buffers[p.Outputs[0].Buffer].Offset >= 0)
		assert.Zero(t, p.Frame.Bytes%p.Frame.Alignment)
	}
}

func TestWhatIsNoGraph(t *testing.T) {
	good := func() *sketch {
		s := newSketch()
		s.input("in", 4, 4)
		s.node("Relu", "a", shape(4, 4), nil, "in")
		s.node("Reshape", "b", shape(16), nil, "a")
		s.node("Concat", "c", shape(8, 4), graph.Attrs{"axis": int64(0)}, "a", "a")
		s.split("a", 0, "d", "e")
		s.output("c")
		return s
	}
	_, err := Build(&good().Checked, Options{})
	require.NoError(t, err)
	for want, spoil := range map[string]func(*sketch){
		`"n_a"`:     func(s *sketch) { s.Nodes[0].Inputs[0] = 2 },
		`"n_b"`:     func(s *sketch) { s.Values[2].Shape = shape(15) },
		`"n_c"`:     func(s *sketch) { s.Values[3].Shape = shape(9, 4) },
		`"n_de"`:    func(s *sketch) { s.Nodes[3].Attrs["split"] = []int64{4} },
		"axis 7":    func(s *sketch) { s.Nodes[2].Attrs["axis"] = int64(7) },
		"output 0":  func(s *sketch) { s.Outputs[0] = 77 },
		"input":     func(s *sketch) { s.Inputs = append(s.Inputs, 0) },
		"extent":    func(s *sketch) { s.Values[0].Shape = shape(-1, 4) },
		"in memory": func(s *sketch) { s.Values[0].Shape = shape(1<<40, 1<<40) },
		"constant": func(s *sketch) {
			s.Values[1].Constant = &graph.Tensor{DType: graph.F32, Shape: shape(4, 4), Data: make([]byte, 64)}
		},
		"take 64":    func(s *sketch) { s.constant("k", 4, 4); s.Values[len(s.Values)-1].Constant.Data = nil },
		"known type": func(s *sketch) { s.Values[0].DType = 99 },
	} {
		s := good()
		spoil(s)
		_, err := Build(&s.Checked, Options{})
		assert.ErrorContains(t, err, want)
	}
	_, err = Build(nil, Options{})
	assert.Error(t, err)
	_, err = Build(&good().Checked, Options{Alignment: 3})
	assert.ErrorContains(t, err, "power of two")
}

// TestReductionsAreNotInPlace: an element of their results needs many of an argument.
func TestReductionsAreNotInPlace(t *testing.T) {
	for _, op := range ops.Operators() {
		if strings.HasPrefix(op, "Reduce") || strings.HasSuffix(op, "Pool") || op == "MatMul" || op == "Gemm" ||
			op == "Conv" {
			assert.False(t, MayOverwrite(op, 0), op)
		}
	}
	assert.False(t, MayOverwrite("Nothing", 0))
	assert.False(t, MayOverwrite(OpCopy, 0))
}

// For each part of a Concat all others are looked at: that many layouts, and a set of parts for each, took a minute.
func TestAWideConcatIsPlannedByFewLayouts(t *testing.T) {
	const parts = 2000
	s := newSketch()
	s.input("x", 4, 4)
	var names []string
	for i := range parts {
		names = append(names, fmt.Sprint("v", i))
		s.node("Tanh", names[i], shape(4, 4), nil, "x")
	}
	s.node("Concat", "y", shape(4*parts, 4), graph.Attrs{"axis": int64(0)}, names...)
	s.output("y")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := Build(&s.Checked, Options{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, p.Instructions, parts)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20))
}
