package onnx

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"tlruntime/cmd/tl/internal/onnx/onnxpb"
	"tlruntime/compiler/graph"
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
	for i := range g.Nodes {
		n, err := encodeNode(&g.Nodes[i])
		if err != nil {
			return nil, fmt.Errorf("node %q: %w", g.Nodes[i].Name, err)
		}
		p.Node = append(p.Node, n)
	}
	m := &onnxpb.ModelProto{
		IrVersion: writtenIR, ProducerName: "tl", Graph: p,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: cmp.Or(g.Opset, writtenOpset)}},
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
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
	for kind, known := range dtypes {
		if known == d {
			return int32(kind), nil
		}
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
	return &onnxpb.TensorProto{Dims: t.Shape, DataType: kind, RawData: t.Data}, nil
}

func encodeNode(n *graph.Node) (*onnxpb.NodeProto, error) {
	out := &onnxpb.NodeProto{Name: n.Name, OpType: n.Op, Input: n.Inputs, Output: n.Outputs}
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		a, err := encodeAttribute(n.Attrs[name])
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		a.Name = name
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
