package json

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"tlruntime/compiler/graph"
)

// jsonTensor is a tensor, and with a name a constant, as it is written.
type jsonTensor struct {
	Name  *string `json:"name,omitempty"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Data  any     `json:"data"` // numbers, or []byte for base64
}

type jsonInput struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape *[]any `json:"shape,omitempty"` // none: not known
}

type jsonNode struct {
	Name    string         `json:"name,omitempty"`
	Op      string         `json:"op"`
	Inputs  []string       `json:"inputs"`
	Outputs []string       `json:"outputs"`
	Attrs   map[string]any `json:"attrs,omitempty"`
	Bodies  jsonBodies     `json:"bodies,omitempty"`
}

// jsonBodies are the bodies of a node, in their order.
type jsonBodies []graph.Body

// MarshalJSON writes an object with a graph for each body.
func (list jsonBodies) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(list[i].Name)
		if err != nil {
			return nil, err
		}
		b.Write(append(name, ':'))
		if err := writeJSON(&b, list[i].Graph, true); err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].Name, err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Write writes a graph in the form that docs/graph-json.md describes: one line
// for each input, constant and node. It does not Check the graph, but what JSON
// cannot hold is an error: a text that is not UTF-8, content that does not fit its
// shape, a type that does not exist.
func Write(w io.Writer, g *graph.Graph) error { return writeJSON(w, g, false) }

func writeJSON(w io.Writer, g *graph.Graph, body bool) error {
	if g == nil {
		return graph.Problem("there is no graph", "pass one")
	}
	out := &writer{w: bufio.NewWriter(w)}
	out.print("{\n  \"tl_graph\": %d", jsonVersion)
	if g.Name != "" {
		out.field("name", g.Name)
	}
	if g.Opset != 0 {
		out.field("opset", g.Opset)
	}
	if len(g.Domains) > 0 {
		out.text(slices.Collect(maps.Keys(g.Domains))...)
		out.field("domains", g.Domains)
	}
	out.list("inputs", len(g.Inputs), func(i int) (any, error) {
		if body {
			out.text(g.Inputs[i].Name)
			return g.Inputs[i].Name, nil
		}
		return plainInput(&g.Inputs[i], false)
	})
	out.text(g.Outputs...)
	out.field("outputs", append([]string{}, g.Outputs...))
	out.list("constants", len(g.Constants), func(i int) (any, error) {
		out.text(g.Constants[i].Name)
		t, err := plainTensor(&g.Constants[i].Tensor)
		t.Name = &g.Constants[i].Name
		return t, err
	})
	out.list("nodes", len(g.Nodes), func(i int) (any, error) { return out.node(&g.Nodes[i]) })
	out.list("values", len(g.Declared), func(i int) (any, error) { return plainInput(&g.Declared[i].Value, g.Declared[i].Unranked) })
	out.print("\n}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// writer keeps the first error; after it, nothing is written.
type writer struct {
	w   *bufio.Writer
	err error
}

func (o *writer) print(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

func (o *writer) value(v any) {
	data, err := json.Marshal(v)
	if o.err == nil {
		o.err = err
	}
	o.print("%s", data)
}

func (o *writer) field(name string, v any) {
	if text, ok := v.(string); ok {
		o.text(text)
	}
	o.print(",\n  %q: ", name)
	o.value(v)
}

// text refuses what JSON would change silently.
func (o *writer) text(list ...string) {
	for _, s := range list {
		if o.err == nil && !utf8.ValidString(s) {
			o.err = graph.Problem(fmt.Sprintf("the text %q is not UTF-8", s), "use names that are")
		}
	}
}

func (o *writer) list(name string, n int, item func(int) (any, error)) {
	if n == 0 {
		return
	}
	o.print(",\n  %q: [", name)
	for i := range n {
		v, err := item(i)
		if err != nil && o.err == nil {
			o.err = fmt.Errorf("%s[%d]: %w", name, i, err)
		}
		if o.err != nil {
			return
		}
		o.print("%s\n    ", map[bool]string{true: ",", false: ""}[i > 0])
		o.value(v)
	}
	o.print("\n  ]")
}

func plainInput(v *graph.Value, unranked bool) (any, error) {
	if v.DType.Bytes() == 0 {
		return nil, graph.Problem(fmt.Sprintf("the element type %d does not exist", v.DType), "use one of package graph's")
	}
	shape := make([]any, len(v.Shape))
	text := []string{v.Name}
	for i, d := range v.Shape {
		shape[i] = d.Size
		if d.Symbol != "" {
			shape[i] = d.Symbol
			text = append(text, d.Symbol)
		}
	}
	var check writer
	check.text(text...)
	in := jsonInput{Name: v.Name, DType: v.DType.String()}
	if !unranked {
		in.Shape = &shape
	}
	return in, check.err
}

func plainTensor(t *graph.Tensor) (jsonTensor, error) {
	out := jsonTensor{DType: t.DType.String(), Shape: append([]int64{}, t.Shape...)}
	if text := graph.TensorFault(t); text != "" {
		return out, graph.Problem("the tensor "+text, "correct it")
	}
	out.Data = t.Data
	if list, ok := readable(t); ok {
		out.Data = list
	}
	return out, nil
}

func (o *writer) node(n *graph.Node) (any, error) {
	o.text(n.Name, n.Op)
	o.text(n.Inputs...)
	o.text(n.Outputs...)
	out := jsonNode{n.Name, n.Op, append([]string{}, n.Inputs...), append([]string{}, n.Outputs...), nil, n.Bodies}
	for name, value := range n.Attrs {
		o.text(name)
		switch v := value.(type) {
		case string:
			o.text(v)
		case []string:
			o.text(v...)
		}
	}
	var err error
	out.Attrs, err = plainAttrs(n.Attrs)
	return out, err
}

// WriteAttrs writes the attributes of a node as ReadAttrs reads them.
func WriteAttrs(attrs graph.Attrs) ([]byte, error) {
	plain, err := plainAttrs(attrs)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

func plainAttrs(attrs graph.Attrs) (map[string]any, error) {
	all := map[string]any{}
	for name, value := range attrs {
		plain, err := plainAttr(value)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", name, err)
		}
		all[name] = plain
	}
	return all, nil
}
