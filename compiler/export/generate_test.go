package export

import (
	"math"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// anyPlan draws plans with content that means nothing: the form does not depend on what operators do.
func anyPlan(t *rapid.T) *plan.ExecutionPlan { return anyPlanWith(t, 1) }

// anyPlanWith draws a plan with so many plans in it, one in the other, at the most.
func anyPlanWith(t *rapid.T, depth int) *plan.ExecutionPlan {
	p := &plan.ExecutionPlan{
		Name:         rapid.String().Draw(t, "name"),
		Symbols:      rapid.MapOf(rapid.String(), rapid.Int64()).Draw(t, "symbols"),
		Instructions: make([]plan.Instruction, rapid.IntRange(0, 5).Draw(t, "instructions")),
		Buffers:      make([]plan.Buffer, rapid.IntRange(0, 6).Draw(t, "buffers")),
		Frame: plan.Frame{
			Bytes: anyBytes().Draw(t, "bytes"), Alignment: 1 << rapid.IntRange(0, 12).Draw(t, "alignment"),
			LowerBound: anyBytes().Draw(t, "bound"), Optimal: rapid.Bool().Draw(t, "optimal"),
			NaiveBytes: anyBytes().Draw(t, "naive"), Order: plan.Order{
				GivenPeak: anyBytes().Draw(t, "given"), Peak: anyBytes().Draw(t, "peak"),
				Proved: rapid.Bool().Draw(t, "proved")},
		},
	}
	for i := range p.Buffers {
		p.Buffers[i] = anyBuffer(t, p)
	}
	operands := anyOperands(len(p.Buffers))
	for i := range p.Instructions {
		p.Instructions[i] = plan.Instruction{
			Node: rapid.String().Draw(t, "node"), Op: rapid.String().Draw(t, "op"), Attrs: anyAttrs(t),
			Inputs: operands.Draw(t, "inputs"), Outputs: operands.Draw(t, "outputs"),
		}
		if o := operands.Draw(t, "scratch"); len(o) > 0 {
			p.Instructions[i].Scratch = &o[0]
		}
		for range rapid.IntRange(0, depth).Draw(t, "bodies") {
			p.Instructions[i].Bodies = append(p.Instructions[i].Bodies, anyBody(t, depth-1))
		}
	}
	p.Inputs, p.Outputs = operands.Draw(t, "inputs"), operands.Draw(t, "outputs")
	if rapid.Bool().Draw(t, "symbolic") {
		p.Symbolic = anySymbolic(t, p)
	}
	return p
}

func anySymbolic(t *rapid.T, p *plan.ExecutionPlan) *plan.Symbolic {
	s := &plan.Symbolic{Proved: rapid.Bool().Draw(t, "all"), Sizes: make([]plan.Polynomial, len(p.Buffers)),
		Below: make([][]int, len(p.Buffers))}
	for range rapid.IntRange(1, 3).Draw(t, "symbols") {
		from := rapid.Int64Range(1, 9).Draw(t, "from")
		s.Symbols = append(s.Symbols, plan.Symbol{Name: rapid.String().Draw(t, "symbol"), From: from,
			To: rapid.Int64Range(from, 99).Draw(t, "to")})
	}
	for i := range s.Below {
		s.Below[i] = []int{}
		for range rapid.IntRange(0, 2).Draw(t, "terms") {
			s.Sizes[i] = append(s.Sizes[i], plan.Term{Coefficient: rapid.Int64().Draw(t, "coefficient"),
				Powers: rapid.SliceOfN(rapid.IntRange(0, 3), len(s.Symbols), len(s.Symbols)).Draw(t, "powers")})
		}
	}
	order := p.FromBelow()
	for at, i := range order {
		for _, j := range order[:at] {
			if rapid.Bool().Draw(t, "on it") {
				s.Below[i] = append(s.Below[i], j)
			}
		}
	}
	return s
}

func anyBody(t *rapid.T, depth int) plan.Body {
	places := rapid.SliceOfN(rapid.Int64(), 0, 3)
	return plan.Body{Name: rapid.String().Draw(t, "body"), Plan: anyPlanWith(t, depth), Frame: rapid.Int64().Draw(t, "at"),
		Inputs: places.Draw(t, "places"), Outputs: places.Draw(t, "places"),
		Captures: rapid.SliceOfN(rapid.Int(), 0, 3).Draw(t, "captures")}
}

func anyBytes() *rapid.Generator[int64] { return rapid.Int64Range(0, math.MaxInt64) }

func anyBuffer(t *rapid.T, p *plan.ExecutionPlan) plan.Buffer {
	b := plan.Buffer{
		Name: rapid.String().Draw(t, "name"), Kind: plan.Kind(rapid.IntRange(0, 4).Draw(t, "kind")),
		DType: anyDType().Draw(t, "dtype"), Shape: anyShape().Draw(t, "shape"),
		Values: rapid.SliceOf(rapid.String()).Draw(t, "values"), Offset: -1,
	}
	b.First = rapid.IntRange(-1, len(p.Instructions)).Draw(t, "first")
	b.Last = rapid.IntRange(b.First, len(p.Instructions)).Draw(t, "last")
	b.Bytes = rapid.Int64Range(0, p.Frame.Bytes).Draw(t, "bytes")
	if rapid.Bool().Draw(t, "placed") {
		b.Offset = rapid.Int64Range(0, p.Frame.Bytes-b.Bytes).Draw(t, "offset") &^ (p.Frame.Alignment - 1)
	}
	if rapid.Bool().Draw(t, "constant") {
		tensor := anyTensor(t)
		b.Constant = &tensor
	}
	return b
}

func anyDType() *rapid.Generator[graph.DType] {
	var types []graph.DType
	for d := range math.MaxUint8 + 1 {
		if graph.DType(d).Bytes() > 0 {
			types = append(types, graph.DType(d))
		}
	}
	return rapid.SampledFrom(types)
}

func anyShape() *rapid.Generator[[]int64] { return rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 3) }

func anyTensor(t *rapid.T) graph.Tensor {
	tensor := graph.Tensor{DType: anyDType().Draw(t, "dtype"), Shape: anyShape().Draw(t, "shape")}
	n := int(graph.Elements(tensor.Shape) * tensor.DType.Bytes())
	tensor.Data = rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")
	return tensor
}

func anyAttrs(t *rapid.T) graph.Attrs {
	attrs := graph.Attrs{}
	float := rapid.OneOf(rapid.Float64(), rapid.Just(math.Inf(1)), rapid.Just(math.Inf(-1)),
		rapid.Just(math.Copysign(0, -1)))
	for _, name := range rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "attributes") {
		attrs[name] = []func() any{
			func() any { return rapid.Int64().Draw(t, name) },
			func() any { return float.Draw(t, name) },
			func() any { return rapid.String().Draw(t, name) },
			func() any { return rapid.SliceOf(rapid.Int64()).Draw(t, name) },
			func() any { return rapid.SliceOf(float).Draw(t, name) },
			func() any { return rapid.SliceOf(rapid.String()).Draw(t, name) },
			func() any { return anyTensor(t) },
		}[rapid.IntRange(0, 6).Draw(t, "type")]()
	}
	return attrs
}

func anyOperands(buffers int) *rapid.Generator[[]plan.Operand] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.Operand {
		axes := rapid.IntRange(0, 3).Draw(t, "axes")
		return plan.Operand{
			Name: rapid.String().Draw(t, "operand"), Buffer: rapid.IntRange(-1, buffers-1).Draw(t, "buffer"),
			View: view.View{
				Shape:   rapid.SliceOfN(rapid.Int64Range(0, 1<<40), axes, axes).Draw(t, "shape"),
				Strides: rapid.SliceOfN(rapid.Int64(), axes, axes).Draw(t, "strides"),
				Offset:  rapid.Int64().Draw(t, "offset"),
			},
		}
	}), 0, 3)
}

// small is a plan with one buffer of each kind, whose text the tests know.
func small() *plan.ExecutionPlan {
	row := view.View{Shape: []int64{2, 3}, Strides: []int64{3, 1}}
	operand := func(name string, buffer int) plan.Operand { return plan.Operand{Name: name, Buffer: buffer, View: row} }
	buffer := func(name string, kind plan.Kind, first, last int, offset int64) plan.Buffer {
		return plan.Buffer{Name: name, Kind: kind, DType: graph.F32, Shape: []int64{2, 3}, Bytes: 24, First: first,
			Last: last, Offset: offset, Values: []string{name}}
	}
	p := &plan.ExecutionPlan{
		Name: "small <net>", Symbols: map[string]int64{"N": 2},
		Buffers: []plan.Buffer{
			buffer("x", plan.Input, -1, 0, -1), buffer("h/0", plan.Activation, 0, 1, 0),
			buffer("h.0", plan.Activation, 1, 2, 64), buffer("y", plan.Output, 2, 3, -1),
			buffer("w", plan.Constant, -1, 3, -1),
		},
		Instructions: []plan.Instruction{
			{Node: "a", Op: "Add", Attrs: graph.Attrs{}, Inputs: []plan.Operand{operand("x", 0), operand("w", 4)},
				Outputs: []plan.Operand{operand("h/0", 1)}},
			{Node: "b", Op: "Clip", Attrs: graph.Attrs{"min": 0.0, "max": math.Inf(1)},
				Inputs: []plan.Operand{operand("h/0", 1)}, Outputs: []plan.Operand{operand("h.0", 2)}},
			{Node: "c", Op: "Softmax", Attrs: graph.Attrs{"axis": int64(-1)},
				Inputs: []plan.Operand{operand("h.0", 2)}, Outputs: []plan.Operand{operand("y", 3)}},
		},
		Inputs: []plan.Operand{operand("x", 0)}, Outputs: []plan.Operand{operand("y", 3)},
		Frame: plan.Frame{Bytes: 128, Alignment: 64, LowerBound: 128, Optimal: true, NaiveBytes: 192,
			Order: plan.Order{GivenPeak: 48, Peak: 48, Proved: true}},
	}
	p.Buffers[4].Constant = &graph.Tensor{DType: graph.F32, Shape: []int64{1}, Data: []byte{0, 0, 128, 63}}
	return p
}
