// Package onnx reads computation graphs from ONNX models and writes them.
package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"tlruntime/cmd/tl/internal/onnx/onnxpb"
	"tlruntime/compiler/graph"
)

// Newest is the newest version of the operators that models may ask for.
const Newest = 28

// Read returns the graph of the model in a file. Tensors that the model keeps in
// files of their own are read from beside it.
func Read(path string) (*graph.Graph, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	g, err := Decode(content, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Decode returns the graph of an encoded model. Tensors in files of their own are
// looked for in folder; with an empty folder they are an error.
func Decode(content []byte, folder string) (*graph.Graph, error) {
	var m onnxpb.ModelProto
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(content, &m); err != nil {
		return nil, fmt.Errorf("this is no ONNX model: %w", err)
	}
	if m.Graph == nil {
		return nil, fmt.Errorf("this is no ONNX model: it holds no graph")
	}
	r := reader{folder: folder}
	return r.graph(&m)
}

type reader struct {
	folder string
}

func (r *reader) graph(m *onnxpb.ModelProto) (*graph.Graph, error) {
	opset, err := operatorSet(m)
	if err != nil {
		return nil, err
	}
	p := m.Graph
	g := &graph.Graph{Name: p.Name, Opset: opset}
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
	if g.Inputs, err = inputs(p); err != nil {
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
	return g, nil
}

func nodeName(n *onnxpb.NodeProto, i int) string {
	if n.Name != "" {
		return fmt.Sprintf("%q (%s)", n.Name, n.OpType)
	}
	return fmt.Sprintf("%d (%s)", i, n.OpType)
}

// standard tells whether a domain is the one of the standard operators.
func standard(domain string) bool { return domain == "" || domain == "ai.onnx" }

func operatorSet(m *onnxpb.ModelProto) (int64, error) {
	for _, o := range m.OpsetImport {
		if !standard(o.Domain) {
			continue
		}
		if o.Version < 1 || o.Version > Newest {
			return 0, fmt.Errorf("the model asks for operators of version %d; versions 1 to %d are known", o.Version,
				Newest)
		}
		return o.Version, nil
	}
	return 1, nil // models older than operator sets
}

// inputs returns the declared inputs, without those that are constants: before IR
// version 4 a constant had to stand among the inputs too.
func inputs(p *onnxpb.GraphProto) ([]graph.Value, error) {
	constant := map[string]bool{}
	for _, t := range p.Initializer {
		constant[t.Name] = true
	}
	var list []graph.Value
	for _, in := range p.Input {
		if constant[in.Name] {
			continue
		}
		v, err := value(in)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		list = append(list, v)
	}
	return list, nil
}

func value(in *onnxpb.ValueInfoProto) (graph.Value, error) {
	t := in.GetType().GetTensorType()
	if t == nil {
		return graph.Value{}, fmt.Errorf("it is no tensor; only tensors can be inputs")
	}
	d, err := dtype(t.ElemType)
	if err != nil {
		return graph.Value{}, err
	}
	if t.Shape == nil {
		return graph.Value{}, fmt.Errorf("its shape is not declared; declare one, of symbols for what is not known yet")
	}
	v := graph.Value{Name: in.Name, DType: d}
	for axis, dim := range t.GetShape().GetDim() {
		v.Shape = append(v.Shape, axisOf(in.Name, axis, dim))
	}
	return v, nil
}

// axisOf gives an axis of unknown extent a symbol made of the input's name and the
// axis, so that it can be bound.
func axisOf(input string, axis int, dim *onnxpb.TensorShapeProto_Dimension) graph.Dim {
	switch d := dim.Value.(type) {
	case *onnxpb.TensorShapeProto_Dimension_DimValue:
		return graph.Dim{Size: d.DimValue}
	case *onnxpb.TensorShapeProto_Dimension_DimParam:
		if d.DimParam != "" {
			return graph.Dim{Symbol: d.DimParam}
		}
	}
	return graph.Dim{Symbol: input + "." + strconv.Itoa(axis)}
}

func (r *reader) node(n *onnxpb.NodeProto) (graph.Node, error) {
	if !standard(n.Domain) {
		return graph.Node{}, fmt.Errorf("the operator is of domain %q; only the standard operators are known", n.Domain)
	}
	node := graph.Node{Name: n.Name, Op: n.OpType, Inputs: n.Input, Outputs: n.Output, Attrs: graph.Attrs{}}
	for _, a := range n.Attribute {
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
