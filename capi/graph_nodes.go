//go:build full

package main

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// nodeTexts are the addresses of what a node is called and made with.
type nodeTexts struct{ op, name, attributes uintptr }

func addGraphNode(o *object.Context, h uintptr, t nodeTexts, inputs, outputs addressList,
	bodies []graph.Body) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		n := graph.Node{Bodies: bodies}
		var st status.Status
		if n.Op, st = textOf(o, t.op, "an operator"); st != status.OK {
			return st
		}
		if t.name != 0 {
			if n.Name, st = textOf(o, t.name, "a name"); st != status.OK {
				return st
			}
		}
		if n.Inputs, st = names(o, inputs, "input"); st != status.OK {
			return st
		}
		if n.Outputs, st = names(o, outputs, "output"); st != status.OK {
			return st
		}
		if len(n.Outputs) == 0 {
			return fail(o, status.InvalidArgument, "a node of %q without an output computes nothing; name one", n.Op)
		}
		if n.Attrs, st = attributes(o, t.attributes); st == status.OK {
			g.graph.Nodes = append(g.graph.Nodes, n)
		}
		return st
	})
}

// addGraphNodeWithBodies copies the bodies before the graph around them is locked: a graph may be a body of itself.
func addGraphNodeWithBodies(o *object.Context, h uintptr, t nodeTexts, inputs, outputs addressList, bodyNames uintptr,
	bodies addressList) status.Status {
	called, st := names(o, addressList{bodyNames, bodies.n}, "body")
	if st == status.OK {
		st = bodies.check(o, "bodies")
	}
	if st != status.OK {
		return st
	}
	list := make([]graph.Body, bodies.n)
	for i := range list {
		switch {
		case called[i] == "":
			return fail(o, status.InvalidArgument, "body %d has no name; it is called as the operator calls it", i)
		case slices.Contains(called[:i], called[i]):
			return fail(o, status.InvalidArgument, "two bodies are called %q", called[i])
		}
		st := ownGraphs.with(o, bodies.entry(i), func(g *ownGraph) status.Status {
			list[i] = graph.Body{Name: called[i], Graph: g.copied()}
			return status.OK
		})
		if st != status.OK {
			return st
		}
	}
	return addGraphNode(o, h, t, inputs, outputs, list)
}

// copied is the graph as it is now. What is added to lists later does not change what is in them. The lock is held.
func (g *ownGraph) copied() *graph.Graph {
	c := *g.graph
	c.Inputs, c.Outputs = slices.Clone(c.Inputs), slices.Clone(c.Outputs)
	c.Constants, c.Nodes = slices.Clone(c.Constants), slices.Clone(c.Nodes)
	return &c
}

// names copies an array of strings, in which NULL is "".
func names(o *object.Context, array addressList, kind string) ([]string, status.Status) {
	if st := array.check(o, kind+" names"); st != status.OK {
		return nil, st
	}
	list := make([]string, array.n)
	for i := range list {
		at := array.entry(i)
		if at == 0 {
			continue
		}
		var st status.Status
		if list[i], st = textOf(o, at, kind+" name"); st != status.OK {
			return nil, st
		}
	}
	return list, status.OK
}

// attributes reads a JSON object that is longer than other strings may be.
func attributes(o *object.Context, at uintptr) (graph.Attrs, status.Status) {
	if at == 0 {
		return nil, status.OK
	}
	text, st := longText(o, at, "attributes")
	if st != status.OK {
		return nil, st
	}
	attrs, err := graph.ReadAttrs(text)
	if err != nil {
		return nil, fail(o, status.InvalidArgument, "attributes: %v", err)
	}
	return attrs, status.OK
}

// longText copies a string that is longer than a name may be.
func longText(o *object.Context, at uintptr, what string) (text []byte, st status.Status) {
	if !usable(at) {
		return nil, fail(o, status.InvalidArgument, "%s are %#x, which is no string; NULL is for none", what, at)
	}
	for b := load[byte](at); b != 0; b = load[byte](at + uintptr(len(text))) {
		if len(text) == mostText {
			return nil, fail(o, status.InvalidArgument, "%s are longer than %d bytes", what, mostText)
		}
		text = append(text, b)
	}
	return text, status.OK
}
