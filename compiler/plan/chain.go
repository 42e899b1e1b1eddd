package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
)

// chain rewrites every Concat that joins, among others, just what one before it
// joined: Concat(a, b, c) after p = Concat(a, b) becomes Concat(p, c). A value can
// be written into one whole only; so it is in both, one being a part of the other.
// Networks in which each layer reads all before it (DenseNet, Huang et al., CVPR
// 2017) are often written so. It returns c itself, and none, when there is nothing
// to rewrite.
func chain(c *graph.Checked) (*graph.Checked, map[int]bool) {
	out := *c
	out.Nodes = slices.Clone(c.Nodes)
	rewritten := map[int]bool{}
	joined := map[int][]int{} // by first part: the Concats that begin with it
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if partsOf(n.Op) != ops.Joins {
			continue
		}
		if parts := substitute(c, n, joined); len(parts) < len(n.Inputs) {
			out.Nodes[i].Inputs = parts
			rewritten[i] = true
		}
		joined[n.Inputs[0]] = append(joined[n.Inputs[0]], i)
	}
	if len(rewritten) == 0 {
		return c, nil
	}
	return &out, rewritten
}

// substitute returns the parts of n, with runs of them replaced by what joined them
// before: the longest run at each place.
func substitute(c *graph.Checked, n *graph.TypedNode, joined map[int][]int) []int {
	var parts []int
	for at := 0; at < len(n.Inputs); {
		rest := n.Inputs[at:]
		longest, whole := 1, rest[0]
		for _, i := range joined[rest[0]] {
			p := &c.Nodes[i]
			if k := len(p.Inputs); k > longest && k <= len(rest) && p.Attrs.Int("axis") == n.Attrs.Int("axis") &&
				slices.Equal(p.Inputs, rest[:k]) {
				longest, whole = k, p.Outputs[0]
			}
		}
		parts = append(parts, whole)
		at += longest
	}
	return parts
}
