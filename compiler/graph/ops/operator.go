// Package ops is the table of operators, one file for each family: the types that an operator takes, the shape of its
// results, and how constants are computed. Draft.Apply brings a node into its normal form by its row.
//
//	operator.go, table.go, param.go              the rows of the table, the texts that they share, attributes
//	call.go, draft.go, contents.go               a node on its way into the normal form, and the graph that it joins
//	fold.go, rewrite.go                          constants that are computed; nodes that become others
//	arithmetic.go, elementwise.go, activation.go, leaky_relu.go  operators on elements
//	reduction.go, normalization.go               operators that join elements
//	linear.go, einsum.go, window.go, conv_transpose.go  products, convolutions and pools
//	shape.go, movement.go, parts.go, indexed.go  operators that move elements or show them otherwise
//	resize.go, gridsample.go                     pictures in another size
//	quantize.go                                  bytes for floats
//	recurrent.go, recurrent_functions.go         RNN, GRU and LSTM
//	source.go                                    operators without an argument
//	composed.go, functions.go                    operators that become several others
//	runners.go                                   operators that run bodies
package ops

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
)

// Operator describes an operator: the arguments and attributes that a TypedNode
// with it has, how Check finds its normal form, and what a planner has to know of it.
// Operators whose Becomes is not empty stand in a Graph only. Kernels are the business
// of the packages that write code.
type Operator struct {
	Name    string
	Inputs  []Argument  // a TypedNode has an entry for each, parameters excepted
	Outputs []Argument  // a TypedNode has the first; Split has one for each part
	Attrs   []Attribute // of the normal form: a TypedNode has all of them and no other
	Result  string      // the shape of the result, and what else there is to know
	Becomes string      // what Check makes of it
	Accepts []Attribute // in a Graph, older forms of the operator included

	// InPlace are the arguments whose buffer the first result may take over: a kernel
	// reads element i of such an argument before or as it writes element i of the
	// result, and never afterwards. EveryArgument stands for any number that are alike.
	InPlace []int
	Moves   *Movement // nil: it computes

	// Elementwise operators compute each element of the result from one element of each
	// argument, so that their results may be written in any order.
	Elementwise bool

	infer  func(*call) error          // finds the normal form and the shapes of the results
	fold   func(*call) []graph.Tensor // computes the results of constants; see call.fold
	shares bool                       // what fold returns has the content of its input
}

// Arguments returns the inputs that a TypedNode has an entry for.
func (o *Operator) Arguments() []Argument {
	return slices.DeleteFunc(slices.Clone(o.Inputs), func(a Argument) bool { return a.Parameter })
}

// Counts returns how many entries a TypedNode has for these arguments, at least and at
// most.
func Counts(list []Argument) (least, most int) {
	for i, a := range list {
		if !a.Optional {
			least = i + 1
		}
	}
	if Variadic(list) {
		return least, math.MaxInt
	}
	return least, len(list)
}

// EveryArgument stands in InPlace for all arguments.
const EveryArgument = -1

// MayOverwrite reports whether the first result may take over the buffer of the
// argument with this number.
func (o *Operator) MayOverwrite(argument int) bool {
	return slices.Contains(o.InPlace, argument) || slices.Contains(o.InPlace, EveryArgument)
}

// Argument is an input or output of an operator.
type Argument struct {
	Name      string
	Type      string // arguments with the same letter have the same element type
	Types     graph.DTypes
	Optional  bool
	Variadic  bool // the last one; it stands for one or more
	Parameter bool // has to be constant, and becomes an attribute of the normal form
}

// String writes the argument as a signature has it: name, type, and marks: ? may be left
// out, * one or more, ! has to be constant.
func (a Argument) String() string {
	mark := ""
	if a.Optional {
		mark += "?"
	}
	if a.Variadic {
		mark += "*"
	}
	if a.Parameter {
		mark += "!"
	}
	return a.Name + " " + a.Type + mark
}

// Variadic reports whether the last of these stands for one or more.
func Variadic(list []Argument) bool { return len(list) > 0 && list[len(list)-1].Variadic }

// Attribute is a parameter of an operator.
type Attribute struct {
	Name    string
	Kind    Kind
	Meaning string
}

// Kind is the type of an attribute's value.
type Kind uint8

// The kinds of attributes: int64, float64, string, their slices, and Tensor.
const (
	KindInt Kind = iota + 1
	KindFloat
	KindString
	KindInts
	KindFloats
	KindStrings
	KindTensor
	KindAny // in a Graph: an int or a string
)

var kindNames = []string{"?", "int", "float", "string", "ints", "floats", "strings", "tensor", "any"}

// String returns the name of the kind as operators.md has it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// Sets that operators take.
var (
	floatTypes   = graph.FloatTypes
	anyTypes     = graph.AnyTypes
	movedTypes   = anyTypes | graph.PassedTypes
	narrowInts   = graph.SetOf(graph.I4, graph.U4, graph.I2, graph.U2)
	signedTypes  = floatTypes | graph.SetOf(graph.I8, graph.I16, graph.I32, graph.I64)
	numericTypes = signedTypes | graph.SetOf(graph.U8, graph.U16, graph.U32, graph.U64)
	matrixTypes  = floatTypes | graph.SetOf(graph.I32, graph.I64, graph.U32, graph.U64)
	indexTypes   = graph.SetOf(graph.I32, graph.I64)
	integerTypes = graph.SetOf(graph.I8, graph.I16, graph.I32, graph.I64, graph.U8, graph.U16, graph.U32, graph.U64)
)

// named are the types that a signature may use besides the operator's own letters.
var named = map[string]graph.DTypes{
	"bool": graph.SetOf(graph.Bool), "i64": graph.SetOf(graph.I64), "index": indexTypes, "any": movedTypes, "float": floatTypes,
}

// entry is an operator as table has it; operatorOf makes an Operator of it.
//
// A signature lists arguments as "name type" with marks behind the type: ? for an
// optional one, * for a variadic one, ! for a parameter.
type entry struct {
	name    string
	in, out string
	t, u    graph.DTypes // what the letters T and U stand for
	accepts string       // "name kind, name kind"
	attrs   []Attribute
	result  string
	becomes string
	inPlace []int
	moves   *Movement
	infer   func(*call) error
	fold    func(*call) []graph.Tensor
	shares  bool
}

func operatorOf(e entry) *Operator {
	letters := map[string]graph.DTypes{"T": e.t, "U": e.u}
	return &Operator{
		Name: e.name, Inputs: argumentsOf(e.in, letters), Outputs: argumentsOf(e.out, letters),
		Attrs: e.attrs, Result: e.result, Becomes: e.becomes, Accepts: acceptsOf(e.accepts),
		InPlace: e.inPlace, Moves: e.moves, infer: e.infer, fold: e.fold, shares: e.shares,
	}
}

func argumentsOf(signature string, letters map[string]graph.DTypes) []Argument {
	var list []Argument
	for item := range strings.SplitSeq(signature, ",") {
		fields := strings.Fields(item)
		if len(fields) != 2 {
			continue
		}
		kind := strings.TrimRight(fields[1], "?*!")
		marks := fields[1][len(kind):]
		a := Argument{
			Name: fields[0], Type: kind, Types: letters[kind] | named[kind],
			Optional:  strings.Contains(marks, "?"),
			Variadic:  strings.Contains(marks, "*"),
			Parameter: strings.Contains(marks, "!"),
		}
		list = append(list, a)
	}
	return list
}

// ignored are attributes of ONNX's first operator set that any operator may carry
// and that mean nothing for a result.
const ignored = "consumed_inputs ints"

func acceptsOf(list string) []Attribute {
	var attrs []Attribute
	for item := range strings.SplitSeq(list+", "+ignored, ",") {
		fields := strings.Fields(item)
		if len(fields) == 2 {
			attrs = append(attrs, Attribute{Name: fields[0], Kind: Kind(slices.Index(kindNames, fields[1]))})
		}
	}
	return attrs
}

// operators are the table's entries by name; filled once, then read only.
var operators = func() map[string]*Operator {
	all := make(map[string]*Operator, len(table))
	for _, e := range table {
		all[e.name] = operatorOf(e)
	}
	for _, e := range slices.Concat(elementwise, activations) {
		all[e.name].Elementwise = true
	}
	return all
}()

// Operators returns the names of all operators that Check knows, in order.
func Operators() []string {
	names := make([]string, 0, len(table))
	for _, e := range table {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

// Normal returns what is known of an operator, and whether there is one with this
// name. The caller may keep the answer and must not change its slices.
func Normal(op string) (Operator, bool) {
	if o, ok := operators[op]; ok {
		return *o, true
	}
	return Operator{}, false
}

func listArguments(list []Argument) string {
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = a.String()
	}
	return strings.Join(parts, ", ")
}

func listAttributes(list []Attribute) string {
	if len(list) == 1 {
		return "no attributes"
	}
	parts := make([]string, 0, len(list))
	for _, a := range list {
		if a.Name+" "+a.Kind.String() != ignored {
			parts = append(parts, fmt.Sprintf("%s (%s)", a.Name, a.Kind))
		}
	}
	return strings.Join(parts, ", ")
}

// Known reports whether Check knows what an operator means. A node with another one is
// opaque: it reads its arguments, writes its results row by row, and overwrites nothing.
func Known(op string) bool { return operators[op] != nil }
