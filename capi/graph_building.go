//go:build full

package main

import (
	"maps"
	"slices"
	"sync"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/models"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

const (
	mostRank      = 64
	mostArguments = 1 << 16
	mostText      = 16 << 20
	mostTensor    = 1 << 56 // bytes, as package graph has it
	mostFolded    = 1 << 30 // bytes of computed constants, as package graph has it
)

// bytesToRead is how often a graph is in memory while it is read: as content, as messages and as
// tensors.
const bytesToRead = 3

// ownGraph is a graph that the program builds.
type ownGraph struct {
	mu     sync.Mutex // guards the rest
	graph  *graph.Graph
	bind   map[string]int64
	frozen map[string]graph.Tensor
	states map[string]string // which state a value is
}

func (g *ownGraph) lock() *sync.Mutex { return &g.mu }
func (g *ownGraph) end()              {}

var ownGraphs = handles[ownGraph, *ownGraph]{kind: "graph", maker: "tl_graph_create", most: 1 << 16}

// keepGraph hands a graph to the program.
func keepGraph(o *object.Context, g *graph.Graph, out uintptr) status.Status {
	h, st := ownGraphs.add(o, &ownGraph{graph: g, bind: map[string]int64{}, frozen: map[string]graph.Tensor{},
		states: map[string]string{}})
	if st == status.OK {
		store(out, h)
	}
	return st
}

func invalid(o *object.Context, err error) status.Status {
	return fail(o, status.InvalidArgument, "%v", err)
}

func needsOutput(o *object.Context, out uintptr, name string) status.Status {
	if usable(out) {
		return status.OK
	}
	return fail(o, status.InvalidArgument, "there is no %s to fill in", name)
}

func createGraph(o *object.Context, name, out uintptr) status.Status {
	called, st := textOf(o, name, "a name")
	if st == status.OK {
		st = needsOutput(o, out, "out_graph")
	}
	if st != status.OK {
		return st
	}
	return keepGraph(o, &graph.Graph{Name: called}, out)
}

func loadGraph(o *object.Context, path, out uintptr) status.Status {
	file, st := textOf(o, path, "a path")
	if st == status.OK {
		st = needsOutput(o, out, "out_graph")
	}
	if st != status.OK {
		return st
	}
	g, err := models.Load(file, memory.Obtainable)
	if err != nil {
		return fail(o, outcomeOf(err), "%v", err)
	}
	return keepGraph(o, g, out)
}

func parseGraph(o *object.Context, content, bytes, form, out uintptr) status.Status {
	named, st := textOf(o, form, "a form")
	if st == status.OK {
		st = needsOutput(o, out, "out_graph")
	}
	switch {
	case st != status.OK:
		return st
	case bytes > 0 && !usable(content) || bytes > layout.ForeignBytes:
		return fail(o, status.InvalidArgument, "content of %d bytes is needed; %#x is none", bytes, content)
	case !memory.Obtainable(bytesToRead * uint64(bytes)):
		return fail(o, status.OutOfMemory, "the system refuses the memory for a graph of %d bytes", bytes)
	}
	g, err := models.Parse(slices.Clone(layout.Bytes(content, uint64(bytes))), named, memory.Obtainable)
	if err != nil {
		return fail(o, outcomeOf(err), "%v", err)
	}
	return keepGraph(o, g, out)
}

// tensorType is an element type and a shape as callers pass them.
type tensorType struct {
	dtype int32
	rank  int64
	shape uintptr
}

// read copies the type.
func (t tensorType) read(o *object.Context) (graph.DType, []int64, status.Status) {
	d := graph.DType(t.dtype)
	switch {
	case t.dtype < 0 || t.dtype > 255 || d.Bytes() == 0 || d.Passed():
		return d, nil, fail(o, status.InvalidArgument, "%d is no element type that operators take", t.dtype)
	case t.rank < 0 || t.rank > mostRank:
		return d, nil, fail(o, status.InvalidArgument, "a rank of %d; it is a number from 0 to %d", t.rank, mostRank)
	case t.rank > 0 && !usable(t.shape):
		return d, nil, fail(o, status.InvalidArgument, "a shape of %d numbers is needed; %#x is none", t.rank, t.shape)
	}
	shape := make([]int64, t.rank)
	for i := range shape {
		shape[i] = load[int64](t.shape + uintptr(i)*8)
	}
	return d, shape, status.OK
}

func addGraphInput(o *object.Context, h, name uintptr, t tensorType, symbols uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		called, st := textOf(o, name, "a name")
		if st != status.OK {
			return st
		}
		dtype, shape, st := t.read(o)
		if st != status.OK {
			return st
		}
		v := graph.Value{Name: called, DType: dtype, Shape: make([]graph.Dim, len(shape))}
		for axis, n := range shape {
			if v.Shape[axis], st = dimension(o, n, symbols, axis); st != status.OK {
				return st
			}
		}
		g.graph.Inputs = append(g.graph.Inputs, v)
		return status.OK
	})
}

// dimension is one axis: the symbol that the caller gives for it, else a number.
func dimension(o *object.Context, n int64, symbols uintptr, axis int) (graph.Dim, status.Status) {
	if !optional(symbols) {
		return graph.Dim{}, fail(o, status.InvalidArgument, "symbols is %#x, which is no array; NULL is for none",
			symbols)
	}
	if symbols != 0 {
		if at := load[uintptr](symbols + uintptr(axis)*8); at != 0 {
			symbol, st := textOf(o, at, "the symbol of an axis")
			if st == status.OK && symbol == "" {
				st = fail(o, status.InvalidArgument, "the symbol of axis %d has no name; NULL is for none", axis)
			}
			return graph.Dim{Symbol: symbol}, st
		}
	}
	if n < 0 {
		return graph.Dim{}, fail(o, status.InvalidArgument, "axis %d has the extent %d; an unknown one is a symbol",
			axis,
			n)
	}
	return graph.Dim{Size: n}, status.OK
}

// tensorAt copies a tensor of the caller's.
func tensorAt(o *object.Context, t tensorType, data uintptr) (graph.Tensor, status.Status) {
	dtype, shape, st := t.read(o)
	if st != status.OK {
		return graph.Tensor{}, st
	}
	for axis, n := range shape {
		if n < 0 {
			return graph.Tensor{}, fail(o, status.InvalidArgument,
				"axis %d has the extent %d; a constant has no unknown ones",
				axis, n)
		}
	}
	bytes, fits := graph.SizeOf(shape, dtype, mostTensor)
	switch {
	case !fits:
		return graph.Tensor{}, fail(o, status.Overflow, "%v elements of %s are more bytes than any memory has", shape,
			dtype)
	case !memory.Obtainable(uint64(bytes)):
		return graph.Tensor{}, fail(o, status.OutOfMemory, "the system refuses the memory for a copy of %d bytes",
			bytes)
	case bytes > 0 && !usable(data):
		return graph.Tensor{}, fail(o, status.InvalidArgument, "%d bytes of data are needed; %#x is none", bytes, data)
	}
	made := graph.Tensor{DType: dtype, Shape: shape, Data: []byte{}}
	if bytes > 0 {
		made.Data = slices.Clone(layout.Bytes(data, uint64(bytes)))
	}
	return made, status.OK
}

func addGraphConstant(o *object.Context, h, name uintptr, t tensorType, data uintptr) status.Status {
	return withTensor(o, h, name, t, data, func(g *ownGraph, called string, made graph.Tensor) {
		g.graph.Constants = append(g.graph.Constants, graph.Constant{Name: called, Tensor: made})
	})
}

func freezeGraphInput(o *object.Context, h, input uintptr, t tensorType, data uintptr) status.Status {
	return withTensor(o, h, input, t, data, func(g *ownGraph, called string, made graph.Tensor) {
		g.frozen[called] = made
	})
}

func withTensor(o *object.Context, h, name uintptr, t tensorType, data uintptr,
	body func(*ownGraph, string, graph.Tensor)) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		called, st := textOf(o, name, "a name")
		if st != status.OK {
			return st
		}
		made, st := tensorAt(o, t, data)
		if st == status.OK {
			body(g, called, made)
		}
		return st
	})
}

func addGraphOutput(o *object.Context, h, name uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		called, st := textOf(o, name, "a name")
		if st == status.OK {
			g.graph.Outputs = append(g.graph.Outputs, called)
		}
		return st
	})
}

func bindGraph(o *object.Context, h, symbol uintptr, number int64) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		called, st := textOf(o, symbol, "a symbol")
		switch {
		case st != status.OK:
			return st
		case number < 1:
			return fail(o, status.InvalidArgument, "%q is bound to %d; a symbol is bound to a number from 1", called,
				number)
		}
		g.bind[called] = number
		return status.OK
	})
}

func saveGraph(o *object.Context, h, path uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		file, st := textOf(o, path, "a path")
		if st != status.OK {
			return st
		}
		content, err := models.Encode(g.graph, file, check.Options{Bind: maps.Clone(g.bind)})
		if err == nil {
			err = output.WriteBytes(file, content)
		}
		if err != nil {
			return invalid(o, err)
		}
		return status.OK
	})
}

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
	attrs, err := json.ReadAttrs(text)
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
