// Package graph holds computation graphs: operators over tensors, as a file or a
// compiler gives them, and what is known about them once they were checked.
//
// There are two forms. A Graph is what somebody wrote: values are known by their
// names, nodes stand in any order, axes may be symbols, and parameters of an
// operator (the shape of a Reshape, the axes of a ReduceSum) may come as inputs.
// Package check turns it into a Checked: nodes in an order in which each follows the
// producers of its inputs, each value with its element type and shape, parameters
// as attributes, and everything that depends on constants alone computed. Package ops
// has the operators, package json the form for files.
//
// Names and meanings of operators and attributes are those of ONNX, in the newest
// form of each operator.
//
// Nothing here is safe for concurrent use while one goroutine changes it.
package graph

// Graph is a computation graph as it was written.
type Graph struct {
	Name string

	// Opset is the version of ONNX's operator set that the nodes are meant in, 0 for
	// the newest. Attributes of older forms are understood whatever it is; it decides
	// where the same words meant something else.
	Opset int64

	// Domains are the versions of other operator sets, by domain. They mean nothing to
	// Check; they are for whoever knows the operators of that domain.
	Domains map[string]int64

	Inputs    []Value
	Outputs   []string
	Constants []Constant
	Nodes     []Node

	// Declared are types that the graph states of values that it makes. An operator that
	// Check does not know has its results from here; all others must not contradict.
	Declared []Declaration

	// Files that constants were read from, apart from the graph's own.
	Files []string
}

// Value declares a value: its name, element type and shape.
type Value struct {
	Name  string
	DType DType
	Shape []Dim
}

// Declaration is what a graph states of a value that a node makes.
type Declaration struct {
	Value
	Unranked bool // only the element type is known; Shape means nothing
}

// Dim is the extent of one axis: a number, or a symbol that Check is given a
// number for.
type Dim struct {
	Size   int64
	Symbol string // "" for a number
}

// Constant is a named tensor whose content is known.
type Constant struct {
	Name string
	Tensor
}

// Tensor is content: row-major elements, little-endian, Bool as one byte.
type Tensor struct {
	DType DType
	Shape []int64
	Data  []byte
}

// Node applies an operator. An input named "" is one that was left out. The operator of
// another domain than ONNX's has it in front, with a point: "com.example.Convolve".
type Node struct {
	Name    string // for messages; may be empty
	Op      string
	Inputs  []string
	Outputs []string
	Attrs   Attrs
	Bodies  []Body // of an operator that runs graphs
}

// Attrs are the parameters of an operator by name. A value is one of int64,
// float64, string, []int64, []float64, []string, Tensor.
type Attrs map[string]any

// Body is a graph that a node runs: a branch of If, what a Loop or a Scan repeats. It may
// read values of the graph around it by their names.
type Body struct {
	Name string // of the attribute: then_branch, else_branch, body

	// Graph has its operator sets from the graph around it, and the types of its inputs
	// from the operator. For an operator that is not If, Loop or Scan it declares them.
	Graph *Graph
}
