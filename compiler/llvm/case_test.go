package llvm

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// spec is one operator applied to tensors, and what it should give.
type spec struct {
	op       string
	attrs    graph.Attrs
	args     []*tensor // nil: left out
	constant []bool    // by argument
	want     []*tensor // nil: not asked for
	inPlace  int       // argument that the first result takes the place of, or -1
	permuted bool      // the first argument has its second axis last in memory
	status   int32
	bits     int
	tol      float64 // 0: exact
}

func newSpec(op string, attrs graph.Attrs, args []tensor, want ...tensor) *spec {
	s := &spec{op: op, attrs: attrs, inPlace: -1}
	for i := range args {
		s.args = append(s.args, &args[i])
	}
	for i := range want {
		s.want = append(s.want, &want[i])
	}
	return s
}

// places are where arguments and results of a spec lie.
type places struct {
	args, results []view.View
	argCount      []int64 // elements of the buffers
	resultCount   []int64
}

func drawLayouts(t *rapid.T, s *spec) places {
	var l places
	for i, a := range s.args {
		v, n := view.View{}, int64(0)
		if a != nil {
			v, n = layoutOf(t, a.shape, fmt.Sprint("arg", i))
			if i == 0 && s.permuted {
				v, n = channelsLast(a.shape), graph.Elements(a.shape)
			}
		}
		l.args, l.argCount = append(l.args, v), append(l.argCount, n)
	}
	for i, r := range s.want {
		v, n := view.View{}, int64(0)
		if r != nil {
			v, n = layoutOf(t, r.shape, fmt.Sprint("result", i))
		}
		if i == 0 && s.inPlace >= 0 {
			v, n = l.args[s.inPlace], l.argCount[s.inPlace]
		}
		l.results, l.resultCount = append(l.results, v), append(l.resultCount, n)
	}
	return l
}

// channelsLast is a buffer that a transposed convolution reads: (n, spatial..., c).
func channelsLast(shape []int64) view.View {
	v := view.Contiguous(slices.Concat(shape[:1], shape[2:], shape[1:2]))
	last := len(shape) - 1
	v.Strides = slices.Concat(v.Strides[:1], v.Strides[last:], v.Strides[1:last])
	v.Shape = slices.Clone(shape)
	return v
}

// jobOf makes a plan of one instruction, and two that copy when it works in place.
func (s *spec) jobOf(name string, l places) *job {
	b := &planBuilder{plan: &plan.ExecutionPlan{Name: name}}
	i := plan.Instruction{Node: "node_" + name, Op: s.op, Attrs: s.attrs}
	for n, a := range s.args {
		if a == nil {
			i.Inputs = append(i.Inputs, plan.Operand{Buffer: -1})
			continue
		}
		kind := plan.Input
		if n < len(s.constant) && s.constant[n] {
			kind = plan.Constant
		}
		i.Inputs = append(i.Inputs, b.operand(kind, a, l.args[n], l.argCount[n]))
	}
	for n, r := range s.want {
		if r == nil {
			i.Outputs = append(i.Outputs, plan.Operand{Buffer: -1})
			continue
		}
		i.Outputs = append(i.Outputs, b.operand(plan.Output, r, l.results[n], l.resultCount[n]))
	}
	if s.inPlace >= 0 {
		b.workInPlace(&i, s.inPlace)
	} else {
		b.plan.Instructions = append(b.plan.Instructions, i)
	}
	j := &job{name: name, plan: b.plan, inputs: append(b.inputs, b.constants...), opts: Options{VectorBits: s.bits}}
	j.check = func(t *testing.T, status int32, outputs [][]byte) { s.verify(t, j, l, status, outputs) }
	return j
}

type planBuilder struct {
	plan              *plan.ExecutionPlan
	inputs, constants [][]byte
}

// operand adds a buffer of n elements, which is an entry of the caller's arrays,
// and returns a view of it. Elements beside the view are garbage.
func (b *planBuilder) operand(kind plan.Kind, t *tensor, v view.View, n int64) plan.Operand {
	index := len(b.plan.Buffers)
	name := fmt.Sprintf("value%d", index)
	buffer := plan.Buffer{Name: name, Kind: kind, DType: t.dtype, Shape: []int64{n}, Bytes: n * t.dtype.Bytes(),
		Offset: -1}
	whole := plan.Operand{Name: name, Buffer: index, View: view.Contiguous([]int64{n})}
	switch kind {
	case plan.Input:
		b.plan.Inputs = append(b.plan.Inputs, whole)
		b.inputs = append(b.inputs, laid(t, v, n, 0x01))
	case plan.Constant:
		data := laid(t, v, n, 0x01)
		buffer.Constant = &graph.Tensor{DType: t.dtype, Shape: []int64{n}, Data: data}
		b.constants = append(b.constants, data)
	case plan.Output:
		b.plan.Outputs = append(b.plan.Outputs, whole)
	}
	b.plan.Buffers = append(b.plan.Buffers, buffer)
	return plan.Operand{Name: name, Buffer: index, View: v}
}

// workInPlace gives the instruction a buffer in the frame that holds a copy of the
// argument before and of the result afterwards.
func (b *planBuilder) workInPlace(i *plan.Instruction, argument int) {
	from, to := i.Inputs[argument], i.Outputs[0]
	frame := b.plan.Buffers[from.Buffer]
	frame.Kind, frame.Offset, frame.Name, frame.Constant = plan.Activation, 64, "shared", nil
	b.plan.Frame = plan.Frame{Bytes: 64 + frame.Bytes, Alignment: 64}
	shared := plan.Operand{Name: "shared", Buffer: len(b.plan.Buffers), View: from.View}
	b.plan.Buffers = append(b.plan.Buffers, frame)
	i.Inputs[argument], i.Outputs[0] = shared, shared
	b.plan.Instructions = []plan.Instruction{
		{Node: "in", Op: "Copy", Inputs: []plan.Operand{from}, Outputs: []plan.Operand{shared}},
		*i,
		{Node: "out", Op: "Copy", Inputs: []plan.Operand{shared}, Outputs: []plan.Operand{to}},
	}
}

// laid writes the elements of t at their places in a buffer of n elements.
func laid(t *tensor, v view.View, n int64, beside byte) []byte {
	size := t.dtype.Bytes()
	data := bytes.Repeat([]byte{beside}, int(n*size))
	i := 0
	for at := range v.All() {
		copy(data[at*size:], encode(t.dtype, t.data[i]))
		i++
	}
	return data
}

// verify compares results with what should be, and what lies beside them with what
// was there before.
func (s *spec) verify(t *testing.T, j *job, l places, status int32, outputs [][]byte) {
	require.Equal(t, s.status, status, "status of %s %s", j.name, s)
	if status != 0 {
		return
	}
	at := 0
	for n, want := range s.want {
		if want == nil {
			continue
		}
		s.compare(t, j.name, want, l.results[n], outputs[at])
		at++
	}
}

func (s *spec) compare(t *testing.T, name string, want *tensor, v view.View, got []byte) {
	size := want.dtype.Bytes()
	clean := bytes.Repeat([]byte{0xA5}, len(got))
	i := 0
	for at := range v.All() {
		element := got[at*size : (at+1)*size]
		x, y := decode(want.dtype, element), want.data[i]
		scale := math.Abs(y)
		if want.size != nil {
			scale = max(scale, want.size[i])
		}
		same := x == y || math.IsNaN(x) && math.IsNaN(y) ||
			math.Abs(x-y) <= s.tolerance(want.dtype)*scale+s.step(want.dtype)
		require.True(t, same, "%s %s: element %d is %v, not %v", name, s, i, x, y)
		copy(element, clean)
		i++
	}
	if s.inPlace < 0 {
		require.Equal(t, clean, got, "%s %s: written beside the result", name, s)
	}
}

func (s *spec) tolerance(d graph.DType) float64 {
	switch {
	case d == graph.F16:
		return s.tol + 1e-3
	case d == graph.BF16:
		return s.tol + 8e-3
	}
	return s.tol
}

// step is how far apart the smallest numbers of a type are.
func (s *spec) step(d graph.DType) float64 {
	if d == graph.F16 && s.tol > 0 {
		return math.Exp2(-24)
	}
	return 0
}

func (s *spec) String() string {
	var parts []string
	for _, a := range s.args {
		if a == nil {
			parts = append(parts, "-")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s%v", a.dtype, a.shape))
	}
	for _, w := range s.want {
		if w != nil {
			parts = append(parts, fmt.Sprintf("-> %s%v", w.dtype, w.shape))
		}
	}
	return fmt.Sprintf("%s(%s) %v in place %d", s.op, strings.Join(parts, " "), s.attrs, s.inPlace)
}

// example is what one seed draws.
type example struct {
	*spec
	places
}

// runExamples draws n examples, compiles all together and runs them.
func runExamples(t *testing.T, n int, draw func(t *rapid.T, r *rand.Rand) *spec) {
	if testing.Short() {
		n = max(n/8, 3)
	}
	g := rapid.Custom(func(t *rapid.T) example {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		s := draw(t, r)
		s.bits = rapid.SampledFrom([]int{256, 256, 128, 512}).Draw(t, "bits")
		return example{s, drawLayouts(t, s)}
	})
	var jobs []*job
	for i := range n {
		e := g.Example(i)
		jobs = append(jobs, e.jobOf(fmt.Sprintf("plan%d", i), e.places))
	}
	run(t, jobs)
}

func extents(t *rapid.T, label string, axes, low, high int) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(int64(low), int64(high)), axes, axes).Draw(t, label)
}

func dtypeOf(t *rapid.T, list []graph.DType) graph.DType {
	return rapid.SampledFrom(list).Draw(t, "dtype")
}

// broadcastable draws a shape that is broadcast to the given one.
func broadcastable(t *rapid.T, shape []int64, label string) []int64 {
	s := slices.Clone(shape[rapid.IntRange(0, len(shape)).Draw(t, label+" axes"):])
	if rapid.Bool().Draw(t, label+" whole") {
		s = slices.Clone(shape)
	}
	for i := range s {
		if rapid.IntRange(0, 3).Draw(t, label+" one") == 0 {
			s[i] = 1
		}
	}
	return s
}

// plain is the job of a spec whose tensors all lie row by row.
func (s *spec) plain(number int) *job {
	var l places
	for _, a := range s.args {
		v, n := view.View{}, int64(0)
		if a != nil {
			v, n = view.Contiguous(a.shape), graph.Elements(a.shape)
		}
		l.args, l.argCount = append(l.args, v), append(l.argCount, n)
	}
	for _, w := range s.want {
		v, n := view.View{}, int64(0)
		if w != nil {
			v, n = view.Contiguous(w.shape), graph.Elements(w.shape)
		}
		l.results, l.resultCount = append(l.results, v), append(l.resultCount, n)
	}
	return s.jobOf(fmt.Sprintf("plan%d", number), l)
}
