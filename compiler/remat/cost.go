package remat

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// Cost is the time that a node takes. It is not negative, and the same each time it is asked for.
type Cost func(c *graph.Checked, n *graph.TypedNode) float64

// Class is a group of operators whose kernels take their time in the same way.
type Class string

// The classes. Operators that are not known are elementwise.
const (
	Elementwise    Class = "elementwise"
	Transcendental Class = "transcendental" // elementwise, by functions such as tanh
	Reduction      Class = "reduction"
	Softmax        Class = "softmax"
	Normalise      Class = "normalise" // LayerNormalization and others that take several passes over a row
	MatMul         Class = "matmul"
	Conv           Class = "conv"
	WideConv       Class = "wide conv" // with windows as large as pictures, as gradients of weights have
	Pool           Class = "pool"
	Move           Class = "move" // copies, Concat, Gather, and transfers between spaces
	Turn           Class = "turn" // copies that go through memory in another order, such as Transpose
)

// widest is how many taps the window of a Conv has.
const widest = 49

// Classes lists them all.
var Classes = []Class{Elementwise, Transcendental, Reduction, Softmax, Normalise, MatMul, Conv, WideConv, Pool, Move,
	Turn}

var classOf = map[string]Class{
	"Exp": Transcendental, "Log": Transcendental, "Tanh": Transcendental, "Sigmoid": Transcendental, "Erf": Transcendental,
	"Pow": Transcendental, "Softplus": Transcendental, "Gelu": Transcendental, "Sin": Transcendental, "Cos": Transcendental,
	"Elu": Transcendental, "GlobalAveragePool": Reduction, "GlobalMaxPool": Reduction, "ArgMax": Reduction,
	"ArgMin": Reduction, "CumSum": Reduction, "Softmax": Softmax, "LogSoftmax": Softmax,
	"LayerNormalization": Normalise, "LRN": Normalise, "Transpose": Turn,
	"MatMul": MatMul, "Gemm": MatMul, "Conv": Conv, "MaxPool": Pool, "AveragePool": Pool, "Pad": Move, "Gather": Move,
}

// Work is what the time of an operator depends on.
type Work struct {
	Class      Class
	Bytes      int64 // of all arguments and results
	Operations int64 // elements of the result or, where these are gone through, of the arguments; two for each product
}

// Rate is what operators of a class take, in seconds: for each call, for each byte, for each byte once more when the
// operands together are larger than Rates.Near, and for each operation.
type Rate struct {
	Call      float64 `json:"call"`
	Byte      float64 `json:"byte"`
	Far       float64 `json:"far"`
	Operation float64 `json:"operation"`
}

// Rates are what the operators of every class take on a machine.
type Rates struct {
	Machine string         `json:"machine"` // and when and how it was measured
	Near    int64          `json:"near"`    // bytes that stay in the last cache
	Classes map[Class]Rate `json:"classes"`
}

// Features are the numbers that a Rate's coefficients are multiplied with, in their order.
func (r *Rates) Features(w Work) [4]float64 {
	f := [4]float64{1, float64(w.Bytes), 0, float64(w.Operations)}
	if w.Bytes > r.Near {
		f[2] = f[1]
	}
	return f
}

// Seconds is the time of an operator.
func (r *Rates) Seconds(w Work) float64 {
	x, f := r.Classes[w.Class], r.Features(w)
	return x.Call*f[0] + x.Byte*f[1] + x.Far*f[2] + x.Operation*f[3]
}

// Node is the time of a node, a Cost. What only shows elements of its argument takes none: package plan makes it
// a view.
func (r *Rates) Node(c *graph.Checked, n *graph.TypedNode) float64 {
	if m := ops.MovementOf(c, n); m != nil && m.Parts == ops.NoParts {
		return 0
	}
	return r.Seconds(WorkOf(c, n))
}

// Plan is the time of a plan: that of its instructions, copies among them.
func (r *Rates) Plan(e *plan.ExecutionPlan) float64 {
	sum := 0.0
	for k := range e.Instructions {
		i := &e.Instructions[k]
		list := func(operands []plan.Operand) (out []tensor) {
			for _, o := range operands {
				if o.Buffer >= 0 {
					out = append(out, tensor{o.View.Shape, e.Buffers[o.Buffer].DType.Bytes()})
				}
			}
			return out
		}
		w := workOf(i.Op, i.Attrs, list(i.Inputs), list(i.Outputs))
		if w.Class == Move && slices.ContainsFunc(slices.Concat(i.Inputs, i.Outputs), turned) {
			w.Class = Turn
		}
		sum += r.Seconds(w)
	}
	return sum
}

// turned reports whether neighbours on an operand's last axis lie apart.
func turned(o plan.Operand) bool {
	for a, d := range slices.Backward(o.View.Shape) {
		if d > 1 {
			return o.View.Strides[a] != 1 && o.View.Strides[a] != 0
		}
	}
	return false
}

// tensor is the shape of an operand, and the bytes of an element.
type tensor struct {
	shape []int64
	size  int64
}

// WorkOf is the work of a node.
func WorkOf(c *graph.Checked, n *graph.TypedNode) Work {
	list := func(values []int) (out []tensor) {
		for _, v := range values {
			if v >= 0 {
				out = append(out, tensor{c.Values[v].Shape, c.Values[v].DType.Bytes()})
			}
		}
		return out
	}
	return workOf(n.Op, n.Attrs, list(n.Inputs), list(n.Outputs))
}

func workOf(op string, attrs graph.Attrs, in, out []tensor) Work {
	w := Work{Class: classify(op)}
	if w.Class == Conv && len(in) > 1 && len(in[1].shape) > 2 && graph.Elements(in[1].shape[2:]) > widest {
		w.Class = WideConv
	}
	read, written := int64(0), int64(0)
	for _, t := range in {
		read += graph.Elements(t.shape)
		w.Bytes += graph.Elements(t.shape) * t.size
	}
	for _, t := range out {
		written += graph.Elements(t.shape)
		w.Bytes += graph.Elements(t.shape) * t.size
	}
	switch w.Class {
	case Reduction, Softmax, Normalise:
		w.Operations = read
	case MatMul, Conv, WideConv, Pool:
		w.Operations = written * perElement(op, attrs, in)
	default:
		w.Operations = written
	}
	return w
}

// classify returns the class of an operator.
func classify(op string) Class {
	if class, ok := classOf[op]; ok {
		return class
	}
	known, _ := ops.Normal(op)
	switch {
	case plan.Copies(op) || known.Moves != nil || strings.HasPrefix(op, "Gather") || strings.HasPrefix(op, "Scatter"):
		return Move
	case strings.HasPrefix(op, "Reduce"):
		return Reduction
	}
	return Elementwise
}

// perElement is how many operations an element of a product or of a pool takes.
func perElement(op string, attrs graph.Attrs, in []tensor) int64 {
	if len(in) == 0 || len(in[0].shape) == 0 {
		return 1
	}
	a := in[0].shape
	switch {
	case op == "MatMul":
		return 2 * a[len(a)-1]
	case op == "Gemm" && len(a) == 2:
		return 2 * a[1-attrs.Int("transA")]
	case op == "Conv" && len(in) > 1 && len(in[1].shape) > 0:
		return 2 * graph.Elements(in[1].shape[1:])
	}
	return graph.Elements(attrs.Ints("kernel_shape"))
}

// ReadRates reads rates that WriteJSON has written.
func ReadRates(r io.Reader) (*Rates, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var rates Rates
	if err := decoder.Decode(&rates); err != nil {
		return nil, fmt.Errorf("rates: %w", err)
	}
	if rates.Near < 0 {
		return nil, fmt.Errorf("rates: near is %d; it is a number of bytes, 0 or more", rates.Near)
	}
	for _, class := range Classes {
		x, ok := rates.Classes[class]
		if !ok {
			return nil, fmt.Errorf("rates: there is no class %q; all of %q are needed", class, Classes)
		}
		for _, f := range []float64{x.Call, x.Byte, x.Far, x.Operation} {
			if f < 0 || math.IsInf(f, 0) {
				return nil, fmt.Errorf("rates: class %q has %v; seconds are finite and not negative", class, f)
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(rates.Classes)) {
		if !slices.Contains(Classes, class) {
			return nil, fmt.Errorf("rates: class %q is none of %q", class, Classes)
		}
	}
	return &rates, nil
}

// WriteJSON writes the rates for ReadRates.
func (r *Rates) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Estimate is the time of a node by the rates of Measured.
func Estimate(c *graph.Checked, n *graph.TypedNode) float64 { return Measured.Node(c, n) }

// Total is the time that all nodes take; a cost of nil is Estimate.
func Total(c *graph.Checked, cost Cost) float64 {
	if cost == nil {
		cost = Estimate
	}
	sum := 0.0
	for i := range c.Nodes {
		sum += cost(c, &c.Nodes[i])
	}
	return sum
}
