package onnx

import (
	"fmt"
	"strconv"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/onnx/onnxpb"
)

// firstWithSets is the first version of the format whose models have to name the versions
// of the operators that they use.
const firstWithSets = 3

// standard tells whether a domain is the one of the standard operators.
func standard(domain string) bool { return domain == "" || domain == "ai.onnx" }

// canonical is one name for a domain that has two.
func canonical(domain string) string {
	if standard(domain) {
		return ""
	}
	return domain
}

// operator is the name of a node's operator, with the domain of one that is not standard.
func operator(n *onnxpb.NodeProto) string {
	if standard(n.Domain) {
		return n.OpType
	}
	return n.Domain + "." + n.OpType
}

// operatorSets notes the versions of the operators. A model that names none for those
// that it uses could mean any.
func operatorSets(m *onnxpb.ModelProto, g *graph.Graph) error {
	for _, o := range m.OpsetImport {
		if err := operatorSet(o, g); err != nil {
			return err
		}
	}
	if used := standardIn(m.Graph); used != "" && g.Opset == 0 && (m.IrVersion == 0 || m.IrVersion >= firstWithSets) {
		return fmt.Errorf("there is no opset_import for the domain of %s, and a model of IR version %d needs one; add it: "+
			"onnx.helper.make_opsetid(\"\", VERSION)", used, m.IrVersion)
	}
	if g.Opset == 0 {
		g.Opset = 1 // models older than operator sets
	}
	return nil
}

// standardIn returns a standard operator that a graph or a body in it uses, "" if none.
func standardIn(p *onnxpb.GraphProto) string {
	for _, n := range p.GetNode() {
		if standard(n.Domain) {
			return n.OpType
		}
		for _, a := range n.Attribute {
			if used := standardIn(a.GetG()); used != "" {
				return used
			}
		}
	}
	return ""
}

func operatorSet(o *onnxpb.OperatorSetIdProto, g *graph.Graph) error {
	before := g.Domains[o.Domain]
	if standard(o.Domain) {
		before = g.Opset
	}
	switch {
	case before != 0 && before != o.Version:
		return fmt.Errorf("the domain %q has two entries in opset_import, versions %d and %d; keep one", o.Domain, before,
			o.Version)
	case !standard(o.Domain):
		if g.Domains == nil {
			g.Domains = map[string]int64{}
		}
		g.Domains[o.Domain] = o.Version
	case o.Version < 1 || o.Version > Newest:
		return fmt.Errorf("the model asks for operators of version %d; versions 1 to %d are known", o.Version, Newest)
	default:
		g.Opset = o.Version
	}
	return nil
}

// inputs returns the declared inputs, without those that are constants: before IR
// version 4 a constant had to stand among the inputs too. Those of a body need no type.
func inputs(p *onnxpb.GraphProto, body bool) ([]graph.Value, error) {
	constant, seen := map[string]bool{}, map[string]int{}
	for _, t := range p.Initializer {
		constant[t.Name] = true
	}
	var list []graph.Value
	for i, in := range p.Input {
		if before, twice := seen[in.Name]; twice {
			return nil, fmt.Errorf("inputs %d and %d are both called %q; give one of them another name", before, i, in.Name)
		}
		seen[in.Name] = i
		if constant[in.Name] {
			continue
		}
		v, err := value(in)
		if body {
			v, err = graph.Value{Name: in.Name}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
		list = append(list, v)
	}
	return list, nil
}

func value(in *onnxpb.ValueInfoProto) (graph.Value, error) {
	t := tensorType(in.GetType())
	if t == nil {
		return graph.Value{}, fmt.Errorf("it is no tensor; only tensors can be inputs")
	}
	d, err := dtypeOf(t.ElemType)
	if err != nil {
		return graph.Value{}, err
	}
	if t.Shape == nil {
		return graph.Value{}, fmt.Errorf("its shape is not declared; declare one, of symbols for what is not known yet")
	}
	return graph.Value{Name: in.Name, DType: d, Shape: axes(in.Name, t.Shape)}, nil
}

// tensorType is the type of a tensor, or of one that is optional, nil of anything else.
func tensorType(t *onnxpb.TypeProto) *onnxpb.TypeProto_Tensor {
	if inner := t.GetOptionalType().GetElemType(); inner != nil {
		return inner.GetTensorType()
	}
	return t.GetTensorType()
}

// axes gives an axis of unknown extent a symbol made of the value's name and the axis,
// so that it can be bound. Exporters say that they do not know one with an extent below 0,
// or call it "?", each time another one.
func axes(value string, shape *onnxpb.TensorShapeProto) (list []graph.Dim) {
	for axis, dim := range shape.GetDim() {
		unknown := graph.Dim{Symbol: value + "." + strconv.Itoa(axis)}
		switch d := dim.Value.(type) {
		case *onnxpb.TensorShapeProto_Dimension_DimValue:
			if d.DimValue >= 0 {
				unknown = graph.Dim{Size: d.DimValue}
			}
		case *onnxpb.TensorShapeProto_Dimension_DimParam:
			if d.DimParam != "" && d.DimParam != "?" {
				unknown.Symbol = d.DimParam
			}
		}
		list = append(list, unknown)
	}
	return list
}

// statements returns what the model states of other values than its inputs, in a body of
// these as well. What is no tensor, or of no type that this program has, is left out: a plan
// that needs its type says so.
func statements(p *onnxpb.GraphProto, body bool) (list []graph.Declaration) {
	constants := map[string]bool{}
	for _, t := range p.Initializer {
		constants[t.Name] = true
	}
	add := func(in *onnxpb.ValueInfoProto) {
		t := tensorType(in.GetType())
		if t == nil {
			return
		}
		d, err := dtypeOf(t.ElemType)
		if err != nil {
			return
		}
		v := graph.Value{Name: in.Name, DType: d, Shape: axes(in.Name, t.Shape)}
		list = append(list, graph.Declaration{Value: v, Unranked: t.Shape == nil})
	}
	for _, in := range p.Input {
		if body || constants[in.Name] {
			add(in)
		}
	}
	for _, values := range [][]*onnxpb.ValueInfoProto{p.ValueInfo, p.Output} {
		for _, v := range values {
			add(v)
		}
	}
	return list
}
