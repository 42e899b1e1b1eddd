package onnx

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
)

// The versions that written models name, where the graph names none. Both have
// been readable since ONNX 1.14.
const (
	writtenIR    = 9
	writtenOpset = 19
)

// Encode returns the model that holds this graph. types gives the element type and
// shape of the graph's outputs, which ONNX wants declared.
func Encode(g *graph.Graph, types []graph.Value) ([]byte, error) {
	p, err := encodeGraph(g, types)
	if err != nil {
		return nil, err
	}
	m := &onnxpb.ModelProto{
		IrVersion: writtenIR, ProducerName: "tl", Graph: p,
		OpsetImport: operatorSetsOf(g),
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// encodeGraph writes a graph, or a body, whose outputs have these types.
func encodeGraph(g *graph.Graph, types []graph.Value) (*onnxpb.GraphProto, error) {
	p := &onnxpb.GraphProto{Name: cmp.Or(g.Name, "graph")}
	for _, c := range g.Constants {
		t, err := encodeTensor(c.Tensor)
		if err != nil {
			return nil, fmt.Errorf("constant %q: %w", c.Name, err)
		}
		t.Name = c.Name
		p.Initializer = append(p.Initializer, t)
	}
	var err error
	if p.Input, err = declarations(g.Inputs); err != nil {
		return nil, err
	}
	if p.Output, err = declarations(types); err != nil {
		return nil, err
	}
	if p.ValueInfo, err = declarations(stated(g)); err != nil {
		return nil, err
	}
	for i := range g.Nodes {
		n, err := encodeNode(&g.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", g.Nodes[i].Name, err)
		}
		p.Node = append(p.Node, n)
	}
	return p, nil
}

// encodeBody writes a body. Its inputs and outputs have the types that it declares, if any.
func encodeBody(g *graph.Graph) (*onnxpb.GraphProto, error) {
	inner := *g
	inner.Inputs = nil
	p, err := encodeGraph(&inner, nil)
	if err != nil {
		return nil, err
	}
	for _, in := range g.Inputs {
		v, err := stateOf(g, in.Name)
		if err != nil {
			return nil, err
		}
		p.Input = append(p.Input, v)
	}
	for _, name := range g.Outputs {
		v, err := stateOf(g, name)
		if err != nil {
			return nil, err
		}
		p.Output = append(p.Output, v)
	}
	p.ValueInfo, err = declarations(stated(g))
	return p, err
}

// stateOf declares a value as the graph does, or names it alone.
func stateOf(g *graph.Graph, name string) (*onnxpb.ValueInfoProto, error) {
	for _, d := range g.Declared {
		if d.Name != name || d.Unranked {
			continue
		}
		list, err := declarations([]graph.Value{d.Value})
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	return &onnxpb.ValueInfoProto{Name: name}, nil
}

// operatorSetsOf names the versions of the operators that a graph uses.
func operatorSetsOf(g *graph.Graph) []*onnxpb.OperatorSetIdProto {
	sets := []*onnxpb.OperatorSetIdProto{{Version: cmp.Or(g.Opset, writtenOpset)}}
	domains := map[string]int64{}
	nameDomains(g, domains)
	maps.Copy(domains, g.Domains)
	for _, domain := range slices.Sorted(maps.Keys(domains)) {
		sets = append(sets, &onnxpb.OperatorSetIdProto{Domain: domain, Version: domains[domain]})
	}
	return sets
}

// nameDomains notes the domains of a graph and of the bodies in it, with version 1.
func nameDomains(g *graph.Graph, domains map[string]int64) {
	for i := range g.Nodes {
		if domain, _ := domainOf(g.Nodes[i].Op); domain != "" {
			domains[domain] = 1
		}
		for _, b := range g.Nodes[i].Bodies {
			nameDomains(b.Graph, domains)
		}
	}
}

// domainOf takes the name of an operator apart.
func domainOf(op string) (domain, name string) {
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		return op[:i], op[i+1:]
	}
	return "", op
}

// stated are the values other than inputs and outputs whose types the graph declares.
func stated(g *graph.Graph) (list []graph.Value) {
	for _, d := range g.Declared {
		input := slices.ContainsFunc(g.Inputs, func(in graph.Value) bool { return in.Name == d.Name })
		if !d.Unranked && !input && !slices.Contains(g.Outputs, d.Name) {
			list = append(list, d.Value)
		}
	}
	return list
}

func declarations(values []graph.Value) ([]*onnxpb.ValueInfoProto, error) {
	var list []*onnxpb.ValueInfoProto
	for _, v := range values {
		number, err := number(v.DType)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", v.Name, err)
		}
		shape := &onnxpb.TensorShapeProto{}
		for _, d := range v.Shape {
			shape.Dim = append(shape.Dim, dimension(d))
		}
		list = append(list, &onnxpb.ValueInfoProto{Name: v.Name, Type: &onnxpb.TypeProto{
			Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: number, Shape: shape}}}})
	}
	return list, nil
}

func dimension(d graph.Dim) *onnxpb.TensorShapeProto_Dimension {
	if d.Symbol != "" {
		symbol := &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: d.Symbol}
		return &onnxpb.TensorShapeProto_Dimension{Value: symbol}
	}
	return &onnxpb.TensorShapeProto_Dimension{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: d.Size}}
}

func number(d graph.DType) (int32, error) {
	if n := d.Info().ONNX; n != 0 {
		return n, nil
	}
	return 0, fmt.Errorf("there is no element type %d", d)
}

// WriteTensor writes a tensor as ReadTensor reads it.
func WriteTensor(w io.Writer, t graph.Tensor) error {
	p, err := encodeTensor(t)
	if err != nil {
		return err
	}
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

func encodeTensor(t graph.Tensor) (*onnxpb.TensorProto, error) {
	kind, err := number(t.DType)
	if err != nil {
		return nil, err
	}
	if t.DType == graph.Text {
		return nil, errors.New("it holds strings, of which a graph keeps no text; leave the model in its own file")
	}
	return &onnxpb.TensorProto{Dims: t.Shape, DataType: kind, RawData: packed(t.Data, t.DType)}, nil
}

func encodeNode(n *graph.Node) (*onnxpb.NodeProto, error) {
	domain, op := domainOf(n.Op)
	out := &onnxpb.NodeProto{Name: n.Name, Domain: domain, OpType: op, Input: n.Inputs, Output: n.Outputs}
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		a, err := encodeAttribute(n.Attrs[name])
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		a.Name = name
		out.Attribute = append(out.Attribute, a)
	}
	for _, b := range n.Bodies {
		g, err := encodeBody(b.Graph)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		a := &onnxpb.AttributeProto{Name: b.Name, Type: onnxpb.AttributeProto_GRAPH, G: g}
		out.Attribute = append(out.Attribute, a)
	}
	return out, nil
}

func encodeAttribute(v any) (*onnxpb.AttributeProto, error) {
	a := &onnxpb.AttributeProto{}
	switch v := v.(type) {
	case int64:
		a.Type, a.I = onnxpb.AttributeProto_INT, v
	case float64:
		a.Type, a.F = onnxpb.AttributeProto_FLOAT, float32(v)
	case string:
		a.Type, a.S = onnxpb.AttributeProto_STRING, []byte(v)
	case []int64:
		a.Type, a.Ints = onnxpb.AttributeProto_INTS, v
	case []float64:
		a.Type = onnxpb.AttributeProto_FLOATS
		for _, f := range v {
			a.Floats = append(a.Floats, float32(f))
		}
	case []string:
		a.Type = onnxpb.AttributeProto_STRINGS
		for _, s := range v {
			a.Strings = append(a.Strings, []byte(s))
		}
	case graph.Tensor:
		t, err := encodeTensor(v)
		a.Type, a.T = onnxpb.AttributeProto_TENSOR, t
		return a, err
	default:
		return nil, fmt.Errorf("a value of type %T cannot be written", v)
	}
	return a, nil
}
