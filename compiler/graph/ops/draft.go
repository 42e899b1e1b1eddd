package ops

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// Draft is a Checked that grows node by node, and what its names stand for.
type Draft struct {
	Host   Host
	Opset  int64
	Out    graph.Checked
	Makers map[string]Maker // who gives each name its value
	Asked  map[string]bool  // names that a live node or the caller wants
	Index  map[string]int   // of the value with this name, as far as they are known
	Left   int64            // bytes that computed constants may take

	// Apart keeps constants that are computed for themselves, whatever they hold.
	Apart bool

	fills map[string][]byte // runs of one element, by type and element; shared by all constants that are one
	made  contents
}

// Host is whoever makes a draft of a graph.
type Host interface {
	// Fault makes an error about a node of the graph.
	Fault(node int, found, remedy string) *graph.Error

	// Roots lists some inputs of the graph, not frozen, that a value depends on.
	Roots(value string) string

	// Declared returns the shape that the graph states of a value, or why there is none.
	Declared(value string) (shape []int64, why string)

	// Rewritten adds a node that one of the graph becomes.
	Rewritten(node int, n *graph.Node, label string) error
}

// Maker is the origin of a name: a node when Node >= 0, else What.
type Maker struct {
	What string
	Node int
}

// rewritten is the maker of names that Check makes up.
const rewritten = "Check"

// NewDraft returns a draft without values. left bounds the bytes of computed constants.
func NewDraft(host Host, g *graph.Graph, left int64) Draft {
	return Draft{Host: host, Opset: g.Opset, Out: graph.Checked{Name: g.Name, Symbols: map[string]int64{}},
		Makers: map[string]Maker{}, Asked: map[string]bool{}, Index: map[string]int{}, Left: left,
		fills: map[string][]byte{}, made: newContents()}
}

// AddConstant returns the value of a tensor that was computed: GivenConstant, unless constants are kept apart.
func (d *Draft) AddConstant(name string, t graph.Tensor) int {
	if d.Apart {
		return d.OwnConstant(name, t)
	}
	return d.GivenConstant(name, t)
}

// GivenConstant returns the value of a tensor that is known to be sound: the one that there is of this type, shape and
// content, else a new one of this name. The name does not stand for it yet.
func (d *Draft) GivenConstant(name string, t graph.Tensor) int {
	if v := d.made.find(d.Out.Values, &t, len(d.Out.Values)); v >= 0 {
		return v
	}
	return d.OwnConstant(name, t)
}

// OwnConstant makes a value of a tensor, which has this name whatever other constants hold.
func (d *Draft) OwnConstant(name string, t graph.Tensor) int {
	t.Shape = slices.Clone(t.Shape)
	d.Out.Values = append(d.Out.Values, graph.TypedValue{Name: name, DType: t.DType, Shape: t.Shape, Producer: -1,
		Constant: &t})
	return len(d.Out.Values) - 1
}

// AddValue makes a value that a node computes.
func (d *Draft) AddValue(name string, t graph.DType, shape []int64) int {
	d.Index[name] = len(d.Out.Values)
	d.Out.Values = append(d.Out.Values,
		graph.TypedValue{Name: name, DType: t, Shape: slices.Clone(shape), Producer: -1})
	return d.Index[name]
}

// Alias gives a value one more name: that of a constant, or of what a node copies.
func (d *Draft) Alias(name string, v int, node string) {
	x := d.Out.Values[v]
	if x.Constant != nil {
		d.Index[name] = d.AddConstant(name, *x.Constant)
		return
	}
	y := d.AddValue(name, x.DType, x.Shape)
	d.Out.Nodes = append(d.Out.Nodes, graph.TypedNode{Name: node, Op: "Identity", Inputs: []int{v}, Outputs: []int{y},
		Attrs: graph.Attrs{}})
}

// Fresh returns a name that the graph does not have.
func (d *Draft) Fresh(base string) string {
	name, _ := d.freshAfter(base, 0)
	return name
}

// freshAfter is Fresh with a number above n, which it returns too.
func (d *Draft) freshAfter(base string, n int) (string, int) {
	for {
		n++
		name := fmt.Sprintf("%s_%d", base, n)
		if _, ok := d.Makers[name]; !ok {
			d.Makers[name] = Maker{rewritten, -1}
			return name, n
		}
	}
}
