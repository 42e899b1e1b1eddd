package json

import (
	"encoding/base64"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"tlruntime/compiler/graph"
)

// jsonVersion is the value of the field tl_graph.
const jsonVersion = 1

// Read reads a graph in the form that docs/graph-json.md describes. What is
// not in that form is a *JSONError; whether the graph makes sense is for Check.
func Read(r io.Reader) (*graph.Graph, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	root, p, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	rd := &reader{p: p}
	g := rd.graph(&root)
	if rd.err != nil {
		return nil, rd.err
	}
	return g, nil
}

// ReadAttrs reads the attributes of a node: the object that stands under "attrs" in a graph. What
// is not in that form is a *JSONError.
func ReadAttrs(text []byte) (graph.Attrs, error) {
	root, p, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	rd := &reader{p: p}
	attrs := rd.attrs(&root)
	return attrs, rd.err
}

// reader turns elements into a graph. It keeps the first error; what follows it
// is thrown away.
type reader struct {
	p      *parser
	err    error
	inBody int // how many bodies are around what is read
}

func (r *reader) wrong(e *element, format string, args ...any) {
	if r.err == nil {
		r.err = r.p.wrong(e, format, args...)
	}
}

// object holds an element to be an object with these fields; those that end in ?
// may be left out.
func (r *reader) object(e *element, fields ...string) bool {
	if !r.is(e, '{') {
		return false
	}
	var names []string
	for _, f := range fields {
		name, optional := strings.CutSuffix(f, "?")
		names = append(names, name)
		if !optional && e.get(name) == nil {
			r.wrong(e, "the field %q is missing", name)
		}
	}
	for i, key := range e.keys {
		if !slices.Contains(names, key) {
			r.wrong(&e.items[i], "the field %q is unknown; there are %s", key, strings.Join(names, ", "))
		}
	}
	return r.err == nil
}

func (r *reader) is(e *element, kind byte) bool {
	if e.kind != kind {
		r.wrong(e, "it is %s and has to be %s", kindWords[e.kind], kindWords[kind])
	}
	return e.kind == kind
}

func (r *reader) graph(e *element) *graph.Graph {
	if !r.object(e, "tl_graph", "name?", "opset?", "domains?", "inputs?", "outputs", "constants?", "nodes?",
		"values?") {
		return nil
	}
	if v := e.get("tl_graph"); r.int(v) != jsonVersion {
		r.wrong(v, "the version is %s; this reader knows %d", v.text, jsonVersion)
	}
	g := &graph.Graph{Name: r.string(e.get("name")), Outputs: r.strings(e.get("outputs"))}
	if o := e.get("opset"); o != nil {
		g.Opset = r.int(o)
	}
	g.Domains = r.domains(e.get("domains"))
	for _, item := range r.array(e.get("inputs")) {
		if r.inBody > 0 {
			g.Inputs = append(g.Inputs, graph.Value{Name: r.string(&item)})
			continue
		}
		g.Inputs = append(g.Inputs, r.input(&item))
	}
	for _, item := range r.array(e.get("constants")) {
		if r.object(&item, "name", "dtype", "shape", "data") {
			g.Constants = append(g.Constants, graph.Constant{Name: r.string(item.get("name")), Tensor: r.tensor(&item)})
		}
	}
	for _, item := range r.array(e.get("nodes")) {
		g.Nodes = append(g.Nodes, r.node(&item))
	}
	for _, item := range r.array(e.get("values")) {
		g.Declared = append(g.Declared, r.declaration(&item))
	}
	return g
}

func (r *reader) domains(e *element) map[string]int64 {
	if e == nil || !r.is(e, '{') {
		return nil
	}
	versions := map[string]int64{}
	for i, domain := range e.keys {
		versions[domain] = r.int(&e.items[i])
	}
	return versions
}

// array returns the items of an array, none when there is no element.
func (r *reader) array(e *element) []element {
	if e == nil || !r.is(e, '[') {
		return nil
	}
	return e.items
}

func (r *reader) string(e *element) string {
	if e == nil || !r.is(e, '"') {
		return ""
	}
	return e.text
}

func (r *reader) strings(e *element) []string {
	list := []string{}
	for _, item := range r.array(e) {
		list = append(list, r.string(&item))
	}
	return list
}

func (r *reader) int(e *element) int64 {
	if !r.is(e, '0') {
		return 0
	}
	v, err := strconv.ParseInt(e.text, 10, 64)
	if err != nil {
		r.wrong(e, "%s is not an integer of 64 bits", e.text)
	}
	return v
}

func (r *reader) ints(e *element) []int64 {
	list := []int64{}
	for _, item := range r.array(e) {
		list = append(list, r.int(&item))
	}
	return list
}

// float reads a number, or one of the words NaN, Infinity and -Infinity.
func (r *reader) float(e *element) float64 {
	switch {
	case e.kind == '"' && e.text == "NaN":
		return math.NaN()
	case e.kind == '"' && e.text == "Infinity":
		return math.Inf(1)
	case e.kind == '"' && e.text == "-Infinity":
		return math.Inf(-1)
	case !r.is(e, '0'):
		return 0
	}
	v, err := strconv.ParseFloat(e.text, 64)
	if err != nil {
		r.wrong(e, "%s is not a float of 64 bits", e.text)
	}
	return v
}

func (r *reader) floats(e *element) []float64 {
	list := []float64{}
	for _, item := range r.array(e) {
		list = append(list, r.float(&item))
	}
	return list
}

func (r *reader) dtype(e *element) graph.DType {
	d, ok := graph.ParseDType(r.string(e))
	if !ok {
		r.wrong(e, "%q is not an element type; there are %s", e.text, graph.AnyTypes)
	}
	return d
}

func (r *reader) input(e *element) (v graph.Value) {
	if r.object(e, "name", "dtype", "shape") {
		v = r.value(e)
	}
	return v
}

// declaration reads what an input has; without a shape only the type is known.
func (r *reader) declaration(e *element) (d graph.Declaration) {
	if r.object(e, "name", "dtype", "shape?") {
		d = graph.Declaration{Value: r.value(e), Unranked: e.get("shape") == nil}
	}
	return d
}

func (r *reader) value(e *element) graph.Value {
	v := graph.Value{Name: r.string(e.get("name")), DType: r.dtype(e.get("dtype")), Shape: []graph.Dim{}}
	for _, d := range r.array(e.get("shape")) {
		if d.kind == '"' {
			if d.text == "" {
				r.wrong(&d, "a symbol has no name")
			}
			v.Shape = append(v.Shape, graph.Dim{Symbol: d.text})
			continue
		}
		v.Shape = append(v.Shape, graph.Dim{Size: r.int(&d)})
	}
	return v
}

func (r *reader) node(e *element) (n graph.Node) {
	if !r.object(e, "name?", "op", "inputs?", "outputs", "attrs?", "bodies?") {
		return n
	}
	n = graph.Node{Name: r.string(e.get("name")), Op: r.string(e.get("op")), Inputs: r.strings(e.get("inputs")),
		Outputs: r.strings(e.get("outputs"))}
	n.Bodies = r.bodies(e.get("bodies"))
	if attrs := e.get("attrs"); attrs != nil {
		n.Attrs = r.attrs(attrs)
	}
	return n
}

func (r *reader) attrs(e *element) graph.Attrs {
	if !r.is(e, '{') {
		return nil
	}
	all := graph.Attrs{}
	for i, key := range e.keys {
		all[key] = r.attr(&e.items[i])
	}
	return all
}

// bodies reads the graphs that a node runs. Their inputs are names.
func (r *reader) bodies(e *element) (list []graph.Body) {
	if e == nil || !r.is(e, '{') {
		return nil
	}
	r.inBody++
	for i, name := range e.keys {
		list = append(list, graph.Body{Name: name, Graph: r.graph(&e.items[i])})
	}
	r.inBody--
	return list
}

// attr reads an attribute: a number, a string, an array of one kind, a tensor, or
// an object that names its kind.
func (r *reader) attr(e *element) any {
	switch e.kind {
	case '"':
		return e.text
	case '0':
		if isInteger(e) {
			return r.int(e)
		}
		return r.float(e)
	case '[':
		return r.attrList(e)
	case '{':
		if len(e.keys) != 1 {
			r.object(e, "dtype", "shape", "data")
			return r.tensor(e)
		}
		return r.kinded(e)
	}
	r.wrong(e, "it is %s; an attribute is a number, a string, an array or an object", kindWords[e.kind])
	return nil
}

func isInteger(e *element) bool { return e.kind == '0' && !strings.ContainsAny(e.text, ".eE") }

func (r *reader) attrList(e *element) any {
	switch {
	case !slices.ContainsFunc(e.items, func(i element) bool { return !isInteger(&i) }):
		return r.ints(e)
	case e.items[0].kind == '"':
		return r.strings(e)
	default:
		return r.floats(e)
	}
}

// kinded reads forms such as {"floats": []}, which say what an array cannot.
func (r *reader) kinded(e *element) any {
	switch item := &e.items[0]; e.keys[0] {
	case "float":
		return r.float(item)
	case "floats":
		return r.floats(item)
	case "ints":
		return r.ints(item)
	case "strings":
		return r.strings(item)
	}
	r.wrong(e,
		"the field %q is unknown; there are float, floats, ints and strings, and dtype, shape and data of a tensor",
		e.keys[0])
	return nil
}

// tensor reads the fields dtype, shape and data of an object.
func (r *reader) tensor(e *element) (t graph.Tensor) {
	if r.err != nil {
		return t
	}
	t.DType, t.Shape = r.dtype(e.get("dtype")), r.ints(e.get("shape"))
	data := e.get("data")
	if r.err == nil && !graph.Fits(t.Shape, t.DType) {
		r.wrong(e.get("shape"), "%s is negative or takes more than 2^56 bytes", graph.ShapeText(t.Shape))
	}
	if r.err != nil {
		return t
	}
	if data.kind == '"' {
		content, err := base64.StdEncoding.DecodeString(data.text)
		if err != nil {
			r.wrong(data, "it is not base64: %s", err)
		}
		t.Data = content
	} else {
		t.Data = r.numbers(data, t.DType, t.Shape)
	}
	if text := graph.TensorFault(&t); text != "" {
		r.wrong(data, "the tensor %s", text)
	}
	return t
}
