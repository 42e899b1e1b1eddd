// Package onnx reads computation graphs from ONNX models and writes them.
package onnx

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
)

// Newest is the newest version of the operators that models may ask for.
const Newest = 28

// Read returns the graph of the model in a file. Tensors that the model keeps in
// files of their own are read from beside it.
func Read(path string, room content.Room) (*graph.Graph, error) {
	data, err := content.Read(path, room)
	if err != nil {
		return nil, err
	}
	g, err := decode(data, reader{path: path, room: room})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Decode returns the graph of an encoded model. Tensors in files of their own are an error.
func Decode(data []byte) (*graph.Graph, error) { return decode(data, reader{}) }

func decode(data []byte, r reader) (*graph.Graph, error) {
	var m onnxpb.ModelProto
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("this is no ONNX model: %w", err)
	}
	if m.Graph == nil {
		return nil, fmt.Errorf("this is no ONNX model: it holds no graph")
	}
	return r.model(&m)
}

type reader struct {
	path string // of the model, beside which are tensors in files of their own; "": there is none
	room content.Room
	read map[section][]byte // of these files; several constants may be one
}

func (r *reader) model(m *onnxpb.ModelProto) (*graph.Graph, error) {
	if err := inlineFunctions(m); err != nil {
		return nil, err
	}
	g, err := r.graph(m.Graph, false)
	if err == nil {
		err = operatorSets(m, g)
	}
	if err != nil {
		return nil, err
	}
	for s := range r.read {
		g.Files = append(g.Files, s.path)
	}
	slices.Sort(g.Files)
	g.Files = slices.Compact(g.Files)
	return g, nil
}

func (r *reader) graph(p *onnxpb.GraphProto, body bool) (*graph.Graph, error) {
	g := &graph.Graph{Name: p.Name}
	if len(p.SparseInitializer) > 0 {
		return nil, fmt.Errorf("%d constants are sparse tensors; store them as dense ones", len(p.SparseInitializer))
	}
	for _, t := range p.Initializer {
		content, err := r.tensor(t)
		if err != nil {
			return nil, fmt.Errorf("constant %q: %w", t.Name, err)
		}
		g.Constants = append(g.Constants, graph.Constant{Name: t.Name, Tensor: content})
	}
	var err error
	if g.Inputs, err = inputs(p, body); err != nil {
		return nil, err
	}
	for _, o := range p.Output {
		g.Outputs = append(g.Outputs, o.Name)
	}
	for i, n := range p.Node {
		node, err := r.node(n)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", nodeName(n, i), err)
		}
		g.Nodes = append(g.Nodes, node)
	}
	g.Declared = statements(p, body)
	return g, nil
}

func nodeName(n *onnxpb.NodeProto, i int) string {
	if n.Name != "" {
		return fmt.Sprintf("%q (%s)", n.Name, n.OpType)
	}
	return fmt.Sprintf("%d (%s)", i, n.OpType)
}

func (r *reader) node(n *onnxpb.NodeProto) (graph.Node, error) {
	node := graph.Node{Name: n.Name, Op: operator(n), Inputs: n.Input, Outputs: n.Output, Attrs: graph.Attrs{}}
	for _, a := range n.Attribute {
		if kindOf(a) == onnxpb.AttributeProto_GRAPH && a.G != nil {
			body, err := r.graph(a.G, true)
			if err != nil {
				return graph.Node{}, fmt.Errorf("%s: %w", a.Name, err)
			}
			node.Bodies = append(node.Bodies, graph.Body{Name: a.Name, Graph: body})
			continue
		}
		if kindOf(a) == onnxpb.AttributeProto_TYPE_PROTO {
			continue // of an Optional, whose argument has it as well
		}
		v, err := r.attribute(a)
		if err != nil {
			return graph.Node{}, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		node.Attrs[a.Name] = v
	}
	return node, nil
}

func (r *reader) attribute(a *onnxpb.AttributeProto) (any, error) {
	switch kind := kindOf(a); kind {
	case onnxpb.AttributeProto_FLOAT:
		return float64(a.F), nil
	case onnxpb.AttributeProto_INT:
		return a.I, nil
	case onnxpb.AttributeProto_STRING:
		return string(a.S), nil
	case onnxpb.AttributeProto_TENSOR:
		return r.tensor(a.T)
	case onnxpb.AttributeProto_FLOATS:
		return floats(a.Floats), nil
	case onnxpb.AttributeProto_INTS:
		return append([]int64{}, a.Ints...), nil
	case onnxpb.AttributeProto_STRINGS:
		return texts(a.Strings), nil
	default:
		return nil, fmt.Errorf("its type is %v; numbers, texts and tensors are known", kind)
	}
}

// kindOf returns the type of an attribute. Files before IR version 2 leave it out:
// the field that is filled in tells it.
func kindOf(a *onnxpb.AttributeProto) onnxpb.AttributeProto_AttributeType {
	switch {
	case a.Type != onnxpb.AttributeProto_UNDEFINED:
		return a.Type
	case a.G != nil:
		return onnxpb.AttributeProto_GRAPH
	case a.T != nil:
		return onnxpb.AttributeProto_TENSOR
	case len(a.Ints) > 0:
		return onnxpb.AttributeProto_INTS
	case len(a.Floats) > 0:
		return onnxpb.AttributeProto_FLOATS
	case len(a.Strings) > 0:
		return onnxpb.AttributeProto_STRINGS
	case len(a.S) > 0:
		return onnxpb.AttributeProto_STRING
	case a.F != 0:
		return onnxpb.AttributeProto_FLOAT
	}
	return onnxpb.AttributeProto_INT
}

func floats(list []float32) []float64 {
	out := make([]float64, len(list))
	for i, f := range list {
		out[i] = float64(f)
	}
	return out
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}
