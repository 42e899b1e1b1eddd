package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// checkGraph refuses what is no checked graph, so that a Checked that was put together
// by hand is an error and not a crash.
func checkGraph(c *graph.Checked) error {
	if c == nil {
		return errorf("there is no graph")
	}
	if err := checkValues(c); err != nil {
		return err
	}
	ready := make([]bool, len(c.Values))
	for _, v := range c.Inputs {
		if v < 0 || v >= len(c.Values) || c.Values[v].Producer >= 0 || c.Values[v].Constant != nil || ready[v] {
			return errorf("input %d is no value that is an input, or is one a second time", v)
		}
		ready[v] = true
	}
	for v := range c.Values {
		ready[v] = ready[v] || c.Values[v].Constant != nil
	}
	for i := range c.Nodes {
		if err := checkNode(c, i, ready); err != nil {
			return err
		}
	}
	for i, v := range c.Outputs {
		if v < 0 || v >= len(c.Values) || !ready[v] {
			return errorf("output %d is value %d, which nothing gives", i, v)
		}
	}
	return checkTransfers(c)
}

func checkValues(c *graph.Checked) error {
	sum := int64(0)
	for i := range c.Values {
		v := &c.Values[i]
		bytes, ok := graph.SizeOf(v.Shape, v.DType, maxBytes)
		if !ok || v.DType.Bytes() == 0 {
			return errorf("value %q has element type %s and shape %v; it must have a known type, no negative "+
				"extent, and fit in memory", v.Name, v.DType, v.Shape)
		}
		if v.Constant != nil && v.Producer >= 0 {
			return errorf("constant %q is the result of node %d too", v.Name, v.Producer)
		}
		if v.Constant != nil && int64(len(v.Constant.Data)) != bytes {
			return errorf("constant %q has %d bytes; type %s and shape %v take %d", v.Name, len(v.Constant.Data),
				v.DType, v.Shape, bytes)
		}
		if sum += bytes; sum > maxBytes {
			return errorf("the values take more than %d bytes in all", int64(maxBytes))
		}
	}
	return nil
}

func checkNode(c *graph.Checked, i int, ready []bool) error {
	n := &c.Nodes[i]
	for k, v := range n.Inputs {
		if v < -1 || v >= len(c.Values) || v >= 0 && !ready[v] {
			return errorf("node %q (%s): argument %d is value %d, which nothing before it gives", n.Name, n.Op, k, v)
		}
	}
	for k, v := range n.Outputs {
		if v < -1 || v >= len(c.Values) || v >= 0 && (ready[v] || c.Values[v].Producer != i) {
			return errorf("node %q (%s): result %d is value %d, which is given elsewhere", n.Name, n.Op, k, v)
		}
		if v >= 0 {
			ready[v] = true
		}
	}
	if err := checkBodies(n); err != nil {
		return err
	}
	return checkRearrangement(c, n)
}

// checkRearrangement looks at the operators whose meaning Build has to know.
func checkRearrangement(c *graph.Checked, n *graph.TypedNode) error {
	switch {
	case partsOf(n.Op) != ops.NoParts:
		return checkParts(c, n)
	case !isView(c, n):
		return nil
	}
	x, y := &c.Values[n.Inputs[0]], &c.Values[n.Outputs[0]]
	shown, ok := show(c, n, view.Contiguous(x.Shape))
	if !ok || x.DType != y.DType || !slices.Equal(shown.Shape, y.Shape) {
		return errorf("node %q (%s): the result is %s %v; with attributes %v it cannot show the argument, %s %v",
			n.Name, n.Op, y.DType, y.Shape, n.Attrs, x.DType, x.Shape)
	}
	return nil
}

// checkParts holds a Concat or a Split to its axis: the extents there add up, and
// all others are equal.
func checkParts(c *graph.Checked, n *graph.TypedNode) error {
	whole, parts := n.Outputs, n.Inputs
	if partsOf(n.Op) == ops.Splits {
		whole, parts = n.Inputs, n.Outputs
	}
	if len(whole) != 1 || len(parts) == 0 || whole[0] < 0 {
		return errorf("node %q (%s): it has %d arguments and %d results; there must be one whole, and parts", n.Name,
			n.Op, len(n.Inputs), len(n.Outputs))
	}
	w, axis := &c.Values[whole[0]], n.Attrs.Int("axis")
	if axis < 0 || axis >= int64(len(w.Shape)) {
		return errorf("node %q (%s): axis %d of %v; it must be 0 to %d", n.Name, n.Op, axis, w.Shape, len(w.Shape)-1)
	}
	extents, err := extentsOf(c, n, parts, axis)
	if err != nil {
		return err
	}
	sum := int64(0)
	for i, v := range parts {
		sum += extents[i]
		if v < 0 {
			continue
		}
		if p := &c.Values[v]; p.DType != w.DType || !equalBut(p.Shape, w.Shape, axis) || p.Shape[axis] != extents[i] {
			return errorf("node %q (%s): part %q is %s %v, the whole %s %v; they may differ on axis %d only", n.Name,
				n.Op, p.Name, p.DType, p.Shape, w.DType, w.Shape, axis)
		}
	}
	if sum != w.Shape[axis] {
		return errorf("node %q (%s): the parts have %d elements on axis %d in all, the whole has %d", n.Name, n.Op, sum,
			axis, w.Shape[axis])
	}
	return nil
}

// extentsOf returns how much of the axis each part has.
func extentsOf(c *graph.Checked, n *graph.TypedNode, parts []int, axis int64) ([]int64, error) {
	if partsOf(n.Op) == ops.Splits {
		extents := n.Attrs.Ints("split")
		if len(extents) != len(parts) || slices.ContainsFunc(extents, func(d int64) bool {
			return d < 0 || d > maxBytes/int64(len(parts))
		}) {
			return nil, errorf("node %q (Split): attribute split is %v; it must have an extent for each of %d results",
				n.Name, extents, len(parts))
		}
		return extents, nil
	}
	extents := make([]int64, len(parts))
	for i, v := range parts {
		if v < 0 || int64(len(c.Values[v].Shape)) <= axis {
			return nil, errorf("node %q (Concat): part %d is left out, or has no axis %d", n.Name, i, axis)
		}
		extents[i] = c.Values[v].Shape[axis]
	}
	return extents, nil
}

func equalBut(a, b []int64, axis int64) bool {
	for i := range min(len(a), len(b)) {
		if int64(i) != axis && a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
