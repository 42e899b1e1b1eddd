package ops

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/runtime/dtype"
)

// checkAttrs copies the node's attributes to given, each as the kind that the
// operator takes.
func (k *call) checkAttrs() error {
	k.given = make(graph.Attrs, len(k.node.Attrs))
	for _, name := range slices.Sorted(maps.Keys(k.node.Attrs)) {
		i := slices.IndexFunc(k.spec.Accepts, func(a Attribute) bool { return a.Name == name })
		if i < 0 {
			return k.fault("it takes "+listAttributes(k.spec.Accepts), "its attribute %q is unknown", name)
		}
		want := k.spec.Accepts[i].Kind
		value, ok := convert(k.node.Attrs[name], want)
		if !ok {
			return k.fault("give it as such", "its attribute %q is %s; it has to be %s", name,
				kindOf(k.node.Attrs[name]), want)
		}
		if t, ok := value.(graph.Tensor); ok {
			if text := graph.TensorFault(&t); text != "" {
				return k.fault("correct it", "its attribute %q %s", name, text)
			}
		}
		k.given[name] = value
	}
	return nil
}

// convert returns a copy of an attribute's value as the kind that is wanted:
// integers serve as floats, and an empty list as any list.
func convert(value any, want Kind) (any, bool) {
	switch v := value.(type) {
	case int64:
		if want == KindFloat {
			return float64(v), true
		}
		return v, want == KindInt || want == KindAny
	case float64:
		return v, want == KindFloat
	case string:
		return v, want == KindString || want == KindAny
	case []int64:
		if want != KindInts && (want == KindFloats || len(v) == 0) {
			return convert(asFloats(v), want)
		}
		return slices.Clone(v), want == KindInts
	case []float64:
		if len(v) == 0 {
			return emptyList(want)
		}
		return slices.Clone(v), want == KindFloats
	case []string:
		if len(v) == 0 {
			return emptyList(want)
		}
		return slices.Clone(v), want == KindStrings
	case graph.Tensor:
		return v, want == KindTensor
	}
	return nil, false
}

func asFloats(list []int64) []float64 {
	all := make([]float64, len(list))
	for i, x := range list {
		all[i] = float64(x)
	}
	return all
}

func emptyList(want Kind) (any, bool) {
	switch want {
	case KindInts:
		return []int64{}, true
	case KindFloats:
		return []float64{}, true
	case KindStrings:
		return []string{}, true
	}
	return nil, false
}

// kindOfValue returns the kind of an attribute's value, false when it has none.
func kindOfValue(value any) (Kind, bool) {
	for kind := KindInt; kind <= KindTensor; kind++ {
		if v, ok := convert(value, kind); ok && fmt.Sprintf("%T", v) == fmt.Sprintf("%T", value) {
			return kind, true
		}
	}
	return 0, false
}

func kindOf(value any) string {
	if kind, ok := kindOfValue(value); ok {
		return kind.String()
	}
	return fmt.Sprintf("the Go type %T", value)
}

// intOr returns an attribute, or the default when it was not given.
func (k *call) intOr(name string, otherwise int64) int64 {
	if _, ok := k.given[name]; ok {
		return k.given.Int(name)
	}
	return otherwise
}

func (k *call) floatOr(name string, otherwise float64) float64 {
	if _, ok := k.given[name]; ok {
		return k.given.Float(name)
	}
	return otherwise
}

func (k *call) stringOr(name, otherwise string) string {
	if _, ok := k.given[name]; ok {
		return k.given.String(name)
	}
	return otherwise
}

// require makes sure that an attribute is there.
func (k *call) require(name string) error {
	if _, ok := k.given[name]; !ok {
		return k.fault("give it", "its attribute %q is missing", name)
	}
	return nil
}

// dtypeAttr returns the element type, one of these, that an attribute asks for by its number or its name; 0 asks for
// none.
func (k *call) dtypeAttr(name string, otherwise graph.DType, types graph.DTypes) (d graph.DType, err error) {
	ok := false
	switch to := k.given[name].(type) {
	case nil:
		return otherwise, nil
	case int64:
		if d, ok = otherwise, to == 0 && name != "to"; !ok {
			d, ok = graph.FindDType(func(i *dtype.Info) bool { return int64(i.ONNX) == to })
		}
	case string:
		d, ok = graph.FindDType(func(i *dtype.Info) bool { return strings.EqualFold(i.Data, to) || i.Name == to })
	}
	if !ok || !types.Has(d) {
		return 0, k.fault("use a number or name of ONNX's TensorProto.DataType, or a name such as f32",
			"its attribute %q is %v, which is no element type", name, k.given[name])
	}
	return d, nil
}

// flag returns an attribute that is 0 or 1.
func (k *call) flag(name string, otherwise int64) (int64, error) {
	v := k.intOr(name, otherwise)
	if v != 0 && v != 1 {
		return 0, k.fault("use 0 or 1", "its attribute %q is %d", name, v)
	}
	return v, nil
}

// constant returns the content of argument i, or an error when it is not known.
func (k *call) constant(i int) (*graph.Tensor, error) {
	v := k.arg(i)
	if v.Constant == nil {
		roots, remedy := k.draft.Host.Roots(v.Name), "make it a constant"
		if roots != "" {
			remedy = "make it a constant, or freeze " + roots
		}
		err := k.draft.Host.Fault(k.index, fmt.Sprintf("its input %d (%s) is %q, which is not constant", i, k.argument(i).Name,
			v.Name), remedy)
		err.Dynamic = true
		return nil, err
	}
	return v.Constant, nil
}

// list returns a parameter that is an input or, in older forms, an attribute, and
// whether there is one. An input has one axis or is a scalar.
func (k *call) list(i int, name string) ([]int64, bool, error) {
	given, asAttr := k.given[name]
	if !k.has(i) {
		list, _ := given.([]int64)
		return list, asAttr, nil
	}
	if asAttr {
		return nil, false, k.fault("leave out the attribute", "%s is given twice, as input %d and as an attribute",
			name, i)
	}
	t, err := k.constant(i)
	if err != nil {
		return nil, false, err
	}
	if len(t.Shape) > 1 {
		return nil, false, k.fault("give it one axis", "its input %d (%s) has the shape %s", i, name,
			graph.ShapeText(t.Shape))
	}
	list := make([]int64, graph.Elements(t.Shape))
	for j := range list {
		list[j] = t.IntAt(int64(j))
	}
	return list, true, nil
}

// number returns a parameter of one element that is an input or an attribute.
func (k *call) number(i int, name string, otherwise float64) (float64, error) {
	_, asAttr := k.given[name]
	if !k.has(i) {
		return k.floatOr(name, otherwise), nil
	}
	if asAttr {
		return 0, k.fault("leave out the attribute", "%s is given twice, as input %d and as an attribute", name, i)
	}
	t, err := k.constant(i)
	if err != nil {
		return 0, err
	}
	if graph.Elements(t.Shape) != 1 {
		return 0, k.fault("give it one element", "its input %d (%s) has the shape %s", i, name, graph.ShapeText(t.Shape))
	}
	return t.FloatAt(0), nil
}

// axis makes an axis of a tensor not negative.
func (k *call) axis(axis int64, rank int) (int64, error) {
	if rank == 0 {
		return 0, k.fault("give it a tensor with axes", "axis %d is not one of a scalar", axis)
	}
	if axis < int64(-rank) || axis >= int64(rank) {
		return 0, k.fault(fmt.Sprintf("use %d to %d", -rank, rank-1), "axis %d is not one of a tensor with %d axes",
			axis, rank)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return axis, nil
}

// axes makes axes not negative, in the order given; none stands there twice.
func (k *call) axes(list []int64, rank int) ([]int64, error) {
	seen := map[int64]bool{}
	all := make([]int64, 0, len(list))
	for _, a := range list {
		a, err := k.axis(a, rank)
		if err != nil {
			return nil, err
		}
		if seen[a] {
			return nil, k.fault("name each axis once", "axis %d stands twice in %v", a, list)
		}
		seen[a] = true
		all = append(all, a)
	}
	return all, nil
}

// CopyAttrs returns a copy of the attributes of a node with any operator; else what is wrong with one of them, and what
// to do about it.
func CopyAttrs(given graph.Attrs) (attrs graph.Attrs, found, remedy string) {
	attrs = graph.Attrs{}
	for name, value := range given {
		kind, ok := kindOfValue(value)
		if !ok {
			return nil, fmt.Sprintf("its attribute %q is %s", name, kindOf(value)), "use one of the types of graph.Attrs"
		}
		if t, ok := value.(graph.Tensor); ok {
			if text := graph.TensorFault(&t); text != "" {
				return nil, fmt.Sprintf("its attribute %q %s", name, text), "correct it"
			}
		}
		attrs[name], _ = convert(value, kind)
	}
	return attrs, "", ""
}
