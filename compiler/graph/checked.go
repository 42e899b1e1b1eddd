package graph

// Checked is a graph whose every value has a type, in an order that can be run.
// It owns all it holds but the content of constants, which it shares with the Graph
// it came from and which must not change: other changes of that Graph do not reach
// it. Constants may share content with each other.
type Checked struct {
	Name    string
	Values  []TypedValue
	Nodes   []TypedNode // each after the producers of its inputs
	Inputs  []int       // values
	Outputs []int       // values; one may stand here twice, or be an input or a constant
	Symbols map[string]int64
}

// TypedValue is a tensor that flows through the graph.
type TypedValue struct {
	Name     string
	DType    DType
	Shape    []int64
	Producer int     // index of the node, -1 for inputs and constants
	Constant *Tensor // content of a constant, else nil
}

// TypedNode applies an operator to values, in the operator's normal form: what
// Normal says of it, all parameters in Attrs with their defaults filled in. An operator that
// is not Known has its arguments and attributes as the graph has them.
type TypedNode struct {
	Name    string // never empty: nodes without a name are called by operator and number
	Op      string
	Inputs  []int // values; one for each argument that is no parameter, -1 for one that was left out
	Outputs []int // values, up to the last one asked for, Split's all; -1 for one that nobody asked for
	Attrs   Attrs
	Bodies  []TypedBody // what they capture stands last among Inputs
}

// Bytes returns the size of the value's content, row-major without gaps.
func (v *TypedValue) Bytes() int64 { return Elements(v.Shape) * v.DType.Bytes() }

// Elements returns how many elements a tensor of this shape has; 1 for a scalar.
func Elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// Int, Float, Ints, Floats and String return an attribute, or the zero value when
// it is absent. A Checked has every attribute of its operators.
func (a Attrs) Int(name string) int64 { v, _ := a[name].(int64); return v }

// Float is Int for float64.
func (a Attrs) Float(name string) float64 { v, _ := a[name].(float64); return v }

// Ints is Int for []int64.
func (a Attrs) Ints(name string) []int64 { v, _ := a[name].([]int64); return v }

// Floats is Int for []float64.
func (a Attrs) Floats(name string) []float64 { v, _ := a[name].([]float64); return v }

// String is Int for string.
func (a Attrs) String(name string) string { v, _ := a[name].(string); return v }

// TypedBody is a Body whose every value has a type. Its last inputs are the values of the
// graph around it that it reads: Captures has, for each, which input of the node that is.
// The operator gives it the inputs before these.
type TypedBody struct {
	Name     string
	Graph    *Checked
	Captures []int
}
