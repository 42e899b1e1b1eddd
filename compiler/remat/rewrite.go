package remat

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// value is the value of the new graph that v is now.
func (r *replay) value(v int) int {
	c := r.base
	if v < 0 {
		return -1
	}
	p := c.Values[v].Producer
	if p < 0 || !r.isView(p) {
		return r.fresh[v]
	}
	if from := r.value(c.Nodes[p].Inputs[0]); r.shows[v] != from {
		r.shows[v] = from
		r.write(p)
	}
	return r.fresh[v]
}

// write appends a node to the new graph.
func (r *replay) write(i int) {
	c := r.base
	n := c.Nodes[i]
	n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
	for k, v := range n.Inputs {
		n.Inputs[k] = r.value(v)
	}
	again := slices.ContainsFunc(n.Outputs, func(v int) bool { return v >= 0 && r.earliest[v] >= 0 })
	choice := -1
	if again {
		r.out.names++
		n.Name = fmt.Sprintf("%s/again%d", n.Name, r.out.names)
		r.extra += r.costs[i]
		if r.isView(i) {
			choice = r.made[n.Inputs[0]]
		} else {
			choice = r.out.choices
			r.out.choices++
		}
	}
	for k, v := range n.Outputs {
		if v < 0 {
			continue
		}
		made, kept := c.Values[v], again && !r.isView(i) && (r.under[v] < 0 || r.there[v])
		if again {
			made.Name = fmt.Sprintf("%s/again%d", made.Name, r.out.names)
		}
		n.Outputs[k] = r.add(made, r.fresh[v], choice)
		if r.earliest[v] < 0 {
			r.earliest[v] = n.Outputs[k]
		}
		if !kept {
			r.fresh[v] = n.Outputs[k]
		}
	}
	r.append(n, i, choice)
}

func (r *replay) append(n graph.TypedNode, first, choice int) {
	g := &r.out
	g.Nodes, g.first, g.choice = append(g.Nodes, n), append(g.first, first), append(g.choice, choice)
}

// transfer writes a node that moves a value, and returns what it gives.
func (r *replay) transfer(op string, b, from int, what string) int {
	r.out.names++
	v := r.base.Values[b]
	v.Name = fmt.Sprintf("%s/%s%d", v.Name, what, r.out.names)
	to := r.add(v, r.fresh[b], r.out.choices)
	n := graph.TypedNode{Name: v.Name, Op: op, Inputs: []int{from}, Outputs: []int{to}}
	r.append(n, -1, r.out.choices)
	r.out.choices++
	r.extra += r.options.Cost(r.out.Checked, &n)
	if op == plan.OpMoveIn {
		r.fresh[b] = to
	}
	return to
}
