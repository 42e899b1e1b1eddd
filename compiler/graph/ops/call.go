package ops

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
)

// call is one node on its way into the normal form. Inference functions read the
// arguments and the given attributes, and leave op, attrs, keep and results.
type call struct {
	draft   *Draft
	index   int
	label   string // of the node in the Checked
	node    *graph.Node
	spec    *Operator
	given   graph.Attrs // as the node has them, each of the kind that spec says
	args    []int       // values; one for each argument of spec, or more when variadic; -1: left out
	letters map[string]graph.DType

	op      string // of the normal form
	attrs   graph.Attrs
	keep    []int // inputs in the normal form
	results []result
	folded  bool // results are constants that take memory of their own

	replaced    bool  // by nodes that a rewrite added
	replacement []int // their values that are the results
}

// result is what an inference function knows of an output.
type result struct {
	dtype    graph.DType
	shape    []int64
	constant *graph.Tensor // not nil: known already
}

// Apply brings a node whose operator is Known into its normal form and adds its values; node is its number in the
// graph, or that of the node which was rewritten to it, and label is what it is called then.
func (d *Draft) Apply(node int, n *graph.Node, label string) error {
	spec := operators[n.Op]
	k := &call{draft: d, index: node, label: label, node: n, spec: spec, op: spec.Name,
		letters: map[string]graph.DType{}, attrs: graph.Attrs{}}
	if err := k.begin(); err != nil {
		return err
	}
	if err := spec.infer(k); err != nil {
		return err
	}
	if k.replaced {
		return k.deliver()
	}
	return k.settle()
}

// begin looks at what holds for every operator: arguments, types, attributes.
func (k *call) begin() error {
	if err := k.bindArguments(); err != nil {
		return err
	}
	outs := k.spec.Outputs
	if n := len(k.node.Outputs); n > len(outs) && !Variadic(outs) {
		return k.fault(fmt.Sprintf("write no more than it makes: %s", listArguments(outs)),
			"it has %d outputs, at most %d are allowed", n, len(outs))
	}
	if err := k.checkTypes(); err != nil {
		return err
	}
	return k.checkAttrs()
}

// fault makes an error about the node; found may hold format verbs.
func (k *call) fault(remedy, found string, args ...any) error {
	return k.draft.Host.Fault(k.index, fmt.Sprintf(found, args...), remedy)
}

func (k *call) bindArguments() error {
	args := k.spec.Inputs
	names := k.node.Inputs
	for len(names) > len(args) && names[len(names)-1] == "" {
		names = names[:len(names)-1]
	}
	if len(names) > len(args) && !Variadic(args) {
		return k.fault(k.usage(), "it has %d inputs, at most %d are allowed", len(names), len(args))
	}
	k.args = make([]int, max(len(names), len(args)))
	for i := range k.args {
		k.args[i] = -1
		if i < len(names) && names[i] != "" {
			k.args[i] = k.draft.Index[names[i]]
		} else if a := k.argument(i); !a.Optional {
			return k.fault(k.usage(), "its input %d (%s) is missing", i, a.Name)
		}
		if !k.argument(i).Parameter {
			k.keep = append(k.keep, k.args[i])
		}
	}
	return nil
}

func (k *call) argument(i int) *Argument { return &k.spec.Inputs[min(i, len(k.spec.Inputs)-1)] }

// usage is a remedy that shows the operator's arguments.
func (k *call) usage() string {
	parts := make([]string, len(k.spec.Inputs))
	for i, a := range k.spec.Inputs {
		parts[i] = a.Name
		if a.Optional {
			parts[i] = "[" + a.Name + "]"
		}
		if a.Variadic {
			parts[i] += "..."
		}
	}
	return fmt.Sprintf("write %s(%s)", k.spec.Name, strings.Join(parts, ", "))
}

// checkTypes holds each argument to its types, and arguments of one letter to each
// other.
func (k *call) checkTypes() error {
	first := map[string]string{}
	for i, v := range k.args {
		if v < 0 {
			continue
		}
		a, d := k.argument(i), k.draft.Out.Values[v].DType
		if !a.Types.Has(d) {
			err := k.draft.Host.Fault(k.index, fmt.Sprintf("its input %d (%s) is %s; %s takes %s", i, a.Name, d, k.spec.Name,
				a.Types&^graph.PassedTypes), "put a Cast before it")
			err.Dynamic = d.Passed()
			return err
		}
		if len(a.Type) != 1 {
			continue
		}
		if before, ok := k.letters[a.Type]; ok && before != d {
			return k.fault("both have to be of one type: put a Cast before one of them",
				"its input %s is %s and %d (%s) is %s", first[a.Type], before, i, a.Name, d)
		}
		k.letters[a.Type] = d
		first[a.Type] = fmt.Sprintf("%d (%s)", i, a.Name)
	}
	return nil
}

// has reports whether argument i is there.
func (k *call) has(i int) bool { return i < len(k.args) && k.args[i] >= 0 }

// arg returns argument i, which is there.
func (k *call) arg(i int) *graph.TypedValue { return &k.draft.Out.Values[k.args[i]] }

func (k *call) shape(i int) []int64 { return k.arg(i).Shape }

// give states the shape of the only result; its type is that of the operator's
// first output.
func (k *call) give(shape []int64) error {
	k.results = []result{{k.outType(), shape, nil}}
	return nil
}

func (k *call) outType() graph.DType {
	a := k.spec.Outputs[0]
	if d, ok := k.letters[a.Type]; ok {
		return d
	}
	if a.Type == "bool" {
		return graph.Bool
	}
	return graph.I64
}

// become makes the node another operator with only the first argument.
func (k *call) become(op string, shape []int64) error {
	k.op, k.keep, k.attrs = op, k.args[:1], graph.Attrs{}
	if op == "Reshape" {
		k.attrs = graph.Attrs{"shape": slices.Clone(shape)}
	}
	return k.give(shape)
}

// wanted reports whether somebody asks for output i.
func (k *call) wanted(i int) bool {
	return i < len(k.node.Outputs) && k.node.Outputs[i] != "" && k.draft.Asked[k.node.Outputs[i]]
}

// settle checks the results, computes them when all inputs are constants, and adds
// node and values.
func (k *call) settle() error {
	for i := range k.node.Outputs {
		if i >= len(k.results) && k.wanted(i) {
			return k.notComputed(i, len(k.results))
		}
	}
	for _, r := range k.results {
		if !graph.Fits(r.shape, r.dtype) {
			return k.fault("use smaller extents", "its result has the shape %s, which takes more than 2^56 bytes",
				graph.ShapeText(r.shape))
		}
	}
	k.fold()
	return k.emit()
}

// emit adds the values, and the node unless all of them are constants.
func (k *call) emit() error {
	outputs := make([]int, len(k.results))
	constant := true
	for i, r := range k.results {
		outputs[i] = -1
		if i >= len(k.node.Outputs) || k.node.Outputs[i] == "" {
			continue
		}
		if r.constant != nil {
			before := len(k.draft.Out.Values)
			k.draft.Index[k.node.Outputs[i]] = k.draft.AddConstant(k.node.Outputs[i], *r.constant)
			if k.folded && len(k.draft.Out.Values) > before {
				k.draft.Left -= int64(len(r.constant.Data))
			}
			continue
		}
		constant = false
		outputs[i] = k.draft.AddValue(k.node.Outputs[i], r.dtype, r.shape)
	}
	if !constant {
		k.draft.Out.Nodes = append(k.draft.Out.Nodes, graph.TypedNode{Name: k.label, Op: k.op,
			Inputs: slices.Clone(k.keep), Outputs: outputs, Attrs: k.attrs})
	}
	return nil
}

// reshaped returns a value with the elements of v in another shape: a constant
// when v is one, else the result of a new node.
func (k *call) reshaped(v int, shape []int64) int {
	from := k.draft.Out.Values[v]
	name := k.draft.Fresh(from.Name)
	if from.Constant != nil {
		return k.draft.AddConstant(name, graph.Tensor{DType: from.DType, Shape: shape, Data: from.Constant.Data})
	}
	to := k.draft.AddValue(name, from.DType, shape)
	k.draft.Out.Nodes = append(k.draft.Out.Nodes, graph.TypedNode{Name: k.label + "_reshape", Op: "Reshape",
		Inputs: []int{v}, Outputs: []int{to}, Attrs: graph.Attrs{"shape": slices.Clone(shape)}})
	return to
}
