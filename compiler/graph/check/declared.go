package check

import (
	"fmt"

	"tlruntime/compiler/graph"
)

// declareTypes notes what the graph states of its values. Two statements about one value
// must not contradict each other.
func (c *checker) declareTypes() error {
	for i := range c.graph.Declared {
		d := &c.graph.Declared[i]
		if d.DType.Bytes() == 0 {
			return graph.Problem(fmt.Sprintf("the value %q is declared with the element type %d, which does not exist", d.Name,
				d.DType), "use one of package graph's")
		}
		before, twice := c.declared[d.Name]
		if twice && contradict(before, d) {
			return graph.Problem(fmt.Sprintf("the value %q is declared twice, as %s and as %s", d.Name, declared(before),
				declared(d)), "keep the declaration that is right")
		}
		if !twice || before.Unranked {
			c.declared[d.Name] = d
		}
	}
	return nil
}

// contradict reports whether no value can be what both say. A symbol stands for any
// extent.
func contradict(a, b *graph.Declaration) bool {
	if a.DType != b.DType {
		return true
	}
	if a.Unranked || b.Unranked {
		return false
	}
	if len(a.Shape) != len(b.Shape) {
		return true
	}
	for axis := range a.Shape {
		x, y := a.Shape[axis], b.Shape[axis]
		if x.Symbol == "" && y.Symbol == "" && x.Size != y.Size {
			return true
		}
	}
	return false
}

// agree holds the values that the graph makes to what it states of them. Files of
// exporters state many extents as symbols of their own, which nobody binds: these hold
// nothing to anything.
func (c *checker) agree() error {
	for i := range c.graph.Declared {
		d := &c.graph.Declared[i]
		at, known := c.Index[d.Name]
		if !known {
			continue
		}
		v := &c.Out.Values[at]
		if made := declarationOf(v); contradict(d, made) {
			return c.disagreement(d, made)
		}
	}
	return nil
}

func declarationOf(v *graph.TypedValue) *graph.Declaration {
	d := &graph.Declaration{Value: graph.Value{Name: v.Name, DType: v.DType}}
	for _, size := range v.Shape {
		d.Shape = append(d.Shape, graph.Dim{Size: size})
	}
	return d
}

func (c *checker) disagreement(d, made *graph.Declaration) error {
	found := fmt.Sprintf("%q is declared as %s and is %s", d.Name, declared(d), declared(made))
	m := c.Makers[d.Name]
	if m.Node >= 0 {
		return c.Fault(m.Node, "its result "+found, "correct the declaration or the node")
	}
	return graph.Problem(fmt.Sprintf("%s %s", m.What, found), "correct one of both")
}

// declared writes a declaration as "f32 (n, 2)".
func declared(d *graph.Declaration) string {
	if d.Unranked {
		return d.DType.String()
	}
	return d.DType.String() + " " + graph.DimsText(d.Shape)
}
