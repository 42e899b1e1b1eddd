package graph_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

func drawName(t *rapid.T) string { return rapid.StringN(0, 6, -1).Draw(t, "name") }

func drawNames(t *rapid.T) []string {
	names := []string{}
	for range rapid.IntRange(0, 3).Draw(t, "names") {
		names = append(names, drawName(t))
	}
	return names
}

// drawContent draws a tensor of any type with any bits in it; NaNs included.
func drawContent(t *rapid.T) graph.Tensor {
	d := rapid.SampledFrom([]graph.DType{graph.F32, graph.F64, graph.I32, graph.I64, graph.U8, graph.F16, graph.BF16, graph.Bool, graph.I8, graph.I16, graph.U16, graph.U32, graph.U64}).Draw(t, "dtype")
	shape := append([]int64{}, rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 3).Draw(t, "shape")...)
	n := int(graph.Elements(shape) * d.Bytes())
	return graph.Tensor{d, shape, append([]byte{}, rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "data")...)}
}

func drawAttr(t *rapid.T) any {
	float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.Inf(1), math.Inf(-1), math.Copysign(0, -1),
		1e21, 3}))
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return rapid.Int64().Draw(t, "int")
	case 1:
		return float.Draw(t, "float")
	case 2:
		return drawName(t)
	case 3:
		return append([]int64{}, rapid.SliceOfN(rapid.Int64(), 0, 4).Draw(t, "ints")...)
	case 4:
		return append([]float64{}, rapid.SliceOfN(float, 0, 4).Draw(t, "floats")...)
	case 5:
		return drawNames(t)
	default:
		return drawContent(t)
	}
}

// drawAny draws a graph that need not make sense.
func drawAny(t *rapid.T) *graph.Graph {
	g := drawInner(t, 1)
	g.Inputs = drawValues(t)
	return g
}

// drawInner draws what a body may be as well, whose inputs have no types.
func drawInner(t *rapid.T, depth int) *graph.Graph {
	g := &graph.Graph{Name: drawName(t), Opset: rapid.Int64().Draw(t, "opset"), Outputs: drawNames(t)}
	for range rapid.IntRange(0, 2).Draw(t, "domains") {
		if g.Domains == nil {
			g.Domains = map[string]int64{}
		}
		g.Domains[drawName(t)] = rapid.Int64().Draw(t, "version")
	}
	for _, v := range drawValues(t) {
		d := graph.Declaration{Value: v, Unranked: rapid.Bool().Draw(t, "unranked")}
		if d.Unranked {
			d.Shape = []graph.Dim{}
		}
		g.Declared = append(g.Declared, d)
	}
	for range rapid.IntRange(0, 3).Draw(t, "constants") {
		g.Constants = append(g.Constants, graph.Constant{drawName(t), drawContent(t)})
	}
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		n := graph.Node{Name: drawName(t), Op: drawName(t), Inputs: drawNames(t), Outputs: drawNames(t)}
		for range rapid.IntRange(0, 3).Draw(t, "attrs") {
			if n.Attrs == nil {
				n.Attrs = graph.Attrs{}
			}
			n.Attrs[drawName(t)] = drawAttr(t)
		}
		for k := range rapid.IntRange(0, depth).Draw(t, "bodies") {
			b := graph.Body{Name: fmt.Sprint(k, drawName(t)), Graph: drawInner(t, depth-1)}
			b.Graph.Inputs = nil
			for _, name := range drawNames(t) {
				b.Graph.Inputs = append(b.Graph.Inputs, graph.Value{Name: name})
			}
			n.Bodies = append(n.Bodies, b)
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}

func drawValues(t *rapid.T) (list []graph.Value) {
	for range rapid.IntRange(0, 3).Draw(t, "values") {
		v := graph.Value{Name: drawName(t), DType: rapid.SampledFrom([]graph.DType{graph.F32, graph.Bool, graph.I64}).Draw(t, "dtype"),
			Shape: []graph.Dim{}}
		for range rapid.IntRange(0, 3).Draw(t, "rank") {
			d := graph.Dim{Symbol: drawName(t)}
			if d.Symbol == "" {
				d.Size = rapid.Int64().Draw(t, "size")
			}
			v.Shape = append(v.Shape, d)
		}
		list = append(list, v)
	}
	return list
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawAny(t)
		var text bytes.Buffer
		require.NoError(t, json.Write(&text, g))
		written := text.String()
		back, err := json.Read(&text)
		require.NoError(t, err, written)
		require.Equal(t, g, back, written)
	})
}

func TestJSONOfNaN(t *testing.T) {
	g := &graph.Graph{Nodes: []graph.Node{{Op: "x", Attrs: graph.Attrs{"a": math.NaN(), "b": []float64{1, math.NaN()}}}}}
	var text bytes.Buffer
	require.NoError(t, json.Write(&text, g))
	back, err := json.Read(&text)
	require.NoError(t, err)
	require.True(t, math.IsNaN(back.Nodes[0].Attrs.Float("a")))
	require.True(t, math.IsNaN(back.Nodes[0].Attrs.Floats("b")[1]))
}

// TestJSONIsReadable holds Write to one line for each item and to numbers
// where there are few.
func TestJSONIsReadable(t *testing.T) {
	g := single("Conv", "f32(1,1,4) f32[1,2,3]", A{"strides": list(1)}, 1)
	g.Constants[0].Tensor = numbers(graph.F32, list(1, 1, 3), 1, 0.1, -3)
	g.Constants = append(g.Constants, graph.Constant{"k", numbers(graph.Bool, list(2, 1), 1, 0)},
		graph.Constant{"big", graph.NewTensor(graph.I64, list(3, 6))})
	var text bytes.Buffer
	require.NoError(t, json.Write(&text, g))
	require.Equal(t, `{
  "tl_graph": 1,
  "inputs": [
    {"name":"a","dtype":"f32","shape":[1,1,4]}
  ],
  "outputs": ["y0"],
  "constants": [
    {"name":"b","dtype":"f32","shape":[1,1,3],"data":[[[1.0,0.1,-3.0]]]},
    {"name":"k","dtype":"bool","shape":[2,1],"data":[[true],[false]]},
    {"name":"big","dtype":"i64","shape":[3,6],"data":"`+strings.Repeat("A", 192)+`"}
  ],
  "nodes": [
    {"name":"n","op":"Conv","inputs":["a","b"],"outputs":["y0"],"attrs":{"strides":[1]}}
  ]
}
`, text.String())
}

func TestJSONForms(t *testing.T) {
	constant := func(fields string) graph.Tensor {
		return parse(t, `"outputs": [], "constants": [{"name": "k", `+fields+`}]`).Constants[0].Tensor
	}
	want := numbers(graph.I16, list(2, 2), 1, -2, 3, 4)
	require.Equal(t, want, constant(`"dtype": "i16", "shape": [2, 2], "data": [[1, -2], [3, 4]]`))
	require.Equal(t, want, constant(`"dtype": "i16", "shape": [2, 2], "data": [1, -2, 3, 4]`))
	require.Equal(t, want, constant(`"dtype": "i16", "shape": [2, 2], "data": "AQD+/wMABAA="`))
	require.Equal(t, numbers(graph.F64, []int64{}, 2), constant(`"dtype": "f64", "shape": [], "data": 2`))
	require.Equal(t, numbers(graph.F32, list(2), math.Inf(1), math.Inf(-1)),
		constant(`"dtype": "f32", "shape": [2], "data": ["Infinity", "-Infinity"]`))
	require.Equal(t, numbers(graph.U64, list(1), -1),
		constant(`"dtype": "u64", "shape": [1], "data": [18446744073709551615]`))
	require.Equal(t, numbers(graph.Bool, list(3), 1, 0, 1), constant(`"dtype": "bool", "shape": [3], "data": [true, 0, 1]`))
	require.Equal(t, graph.NewTensor(graph.F16, list(0, 7)), constant(`"dtype": "f16", "shape": [0, 7], "data": []`))
	require.Equal(t, graph.NewTensor(graph.F32, list(2, 0)), constant(`"dtype": "f32", "shape": [2, 0], "data": [[], []]`))
	attrs := parse(t,
		`"outputs": [], "nodes": [{"op": "x", "outputs": [], "attrs": {"a": 3, "b": 3.0, "c": [1, 2.5], "d": [], "e": {"floats": [1]}, "f": "s", "g": ["s"], "h": {"ints": [4]}}}]`).Nodes[0].Attrs
	require.Equal(t, graph.Attrs{"a": int64(3), "b": 3.0, "c": []float64{1, 2.5}, "d": []int64{}, "e": []float64{1}, "f": "s",
		"g": []string{"s"}, "h": []int64{4}}, attrs)
}

func TestErrorsOfJSON(t *testing.T) {
	constant := func(fields string) string {
		return `{"tl_graph": 1, "outputs": [], "constants": [{"name": "k", ` + fields + `}]}`
	}
	node := func(fields string) string {
		return `{"tl_graph": 1, "outputs": [], "nodes": [{` + fields + `}]}`
	}
	for _, c := range []struct{ text, want string }{
		{"", "line 1, column 1: the text ends before the graph does"},
		{"{\n  \"tl_graph\": 1,\n", "line 3, column 1: the text ends before the graph does"},
		{"[]", "line 1, column 1: it is an array and has to be an object"},
		{`{"outputs": []}`, `line 1, column 1: the field "tl_graph" is missing`},
		{`{"tl_graph": 2, "outputs": []}`, "line 1, column 14: tl_graph: the version is 2; this reader knows 1"},
		{"{\"tl_graph\": 1,\n \"output\": []}", `line 1, column 1: the field "outputs" is missing`},
		{"{\"tl_graph\": 1, \"outputs\": [],\n \"model\": 3}",
			`line 2, column 11: model: the field "model" is unknown; there are tl_graph, name, opset, domains, inputs, outputs, constants, nodes, values`},
		{`{"tl_graph": 1, "outputs": [], "outputs": []}`, `line 1, column 32: the field "outputs" stands twice`},
		{`{"tl_graph": 1, "outputs": []} x`, "line 1, column 32: there is more behind the graph; remove it"},
		{`{"tl_graph": 1, "outputs": [1]}`, "line 1, column 29: outputs[0]: it is a number and has to be a string"},
		{`{"tl_graph": 1, "outputs": ["a" "b"]}`,
			"line 1, column 33: outputs[1]: invalid character '\"' after array element"},
		{`{"tl_graph": 1, "outputs": [], "opset": 1.5}`, "line 1, column 41: opset: 1.5 is not an integer of 64 bits"},
		{`{"tl_graph": 1, "outputs": [], "inputs": [{"name": "x", "dtype": "float", "shape": []}]}`,
			`line 1, column 66: inputs[0].dtype: "float" is not an element type; there are f32 f64 i32 i64 u8 f16 bf16 bool i8 i16 u16 u32 u64`},
		{`{"tl_graph": 1, "outputs": [], "inputs": [{"name": "x", "dtype": "f32", "shape": [""]}]}`,
			"line 1, column 83: inputs[0].shape[0]: a symbol has no name"},
		{`{"tl_graph": 1, "outputs": [], "inputs": [{"name": "x", "dtype": "f32"}]}`,
			`line 1, column 43: inputs[0]: the field "shape" is missing`},
		{constant(`"dtype": "f32", "shape": [-1], "data": []`),
			"line 1, column 85: constants[0].shape: (-1) is negative or takes more than 2^56 bytes"},
		{constant(`"dtype": "f32", "shape": [2], "data": "!"`),
			"line 1, column 98: constants[0].data: it is not base64: illegal base64 data at input byte 0"},
		{constant(`"dtype": "f32", "shape": [2], "data": "AAAA"`),
			"line 1, column 98: constants[0].data: the tensor is f32 (2), which takes 8 bytes, and has 3"},
		{constant(`"dtype": "f32", "shape": [2], "data": [1]`),
			"line 1, column 98: constants[0].data: the shape (2) needs 2 numbers, there are 1"},
		{constant(`"dtype": "f32", "shape": [2, 1], "data": [[1]]`),
			"line 1, column 101: constants[0].data: the array has 1 items, the shape says 2"},
		{constant(`"dtype": "f32", "shape": [1, 1], "data": [[1, 2]]`),
			"line 1, column 102: constants[0].data[0]: the array has 2 items, the shape says 1"},
		{constant(`"dtype": "u8", "shape": [1], "data": [256]`),
			"line 1, column 98: constants[0].data[0]: 256 does not fit in u8"},
		{constant(`"dtype": "u64", "shape": [1], "data": [-1]`),
			"line 1, column 99: constants[0].data[0]: -1 does not fit in u64"},
		{constant(`"dtype": "bool", "shape": [1], "data": [2]`),
			"line 1, column 100: constants[0].data[0]: 2 does not fit in bool"},
		{constant(`"dtype": "f32", "shape": [1], "data": [1e39]`),
			"line 1, column 99: constants[0].data[0]: 1e39 does not fit in f32"},
		{constant(`"dtype": "f64", "shape": [1], "data": [1e999]`),
			"line 1, column 99: constants[0].data[0]: 1e999 is not a float of 64 bits"},
		{constant(`"dtype": "f32", "shape": [1], "data": [null]`),
			"line 1, column 99: constants[0].data[0]: it is null and has to be a number"},
		{constant(`"dtype": "f16", "shape": [1], "data": [1]`),
			"line 1, column 98: constants[0].data: content of f16 has to be base64"},
		{node(`"op": "x", "outputs": [], "attrs": {"a": null}`),
			"line 1, column 84: nodes[0].attrs.a: it is null; an attribute is a number, a string, an array or an " +
				"object"},
		{node(`"op": "x", "outputs": [], "attrs": {"a": {"b": 1}}`),
			`line 1, column 84: nodes[0].attrs.a: the field "b" is unknown; there are float, floats, ints and strings, and dtype, shape and data of a tensor`},
		{node(`"op": "x", "outputs": [], "attrs": {"a": {}}`),
			`line 1, column 84: nodes[0].attrs.a: the field "dtype" is missing`},
		{node(`"op": "x", "outputs": [], "attrs": {"a": [1, "b"]}`),
			`line 1, column 88: nodes[0].attrs.a[1]: it is a string and has to be a number`},
		{node(`"op": "x", "outputs": [], "attrs": {"a": ["b", 1]}`),
			`line 1, column 90: nodes[0].attrs.a[1]: it is a number and has to be a string`},
		{strings.Repeat("[", 200), "line 1, column 101: " + strings.Repeat("[0]", 100) +
			": it nests deeper than 100 levels"},
	} {
		_, err := json.Read(strings.NewReader(c.text))
		require.EqualError(t, err, c.want, c.text)
		var e *json.Error
		require.ErrorAs(t, err, &e)
	}
	_, err := json.Read(failing{})
	require.EqualError(t, err, "no more")
}

// failing is a reader and writer that does not work.
type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, fmt.Errorf("no more") }
func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("no more") }

func TestErrorsOfWritingJSON(t *testing.T) {
	for want, g := range map[string]*graph.Graph{
		"there is no graph; pass one":                                                    nil,
		`the text "\xff" is not UTF-8; use names that are`:                               {Outputs: []string{"\xff"}},
		`nodes[0]: attribute "a": it has the Go type int`:                                {Nodes: []graph.Node{{Attrs: graph.Attrs{"a": 1}}}},
		`the text "\xfe" is not UTF-8; use names that are `:                              {Nodes: []graph.Node{{Attrs: graph.Attrs{"a": "\xfe"}}}},
		`inputs[0]: the element type 99 does not exist; use one of package graph's`:      {Inputs: []graph.Value{{DType: 99}}},
		`inputs[0]: the text "\xfd" is not UTF-8; use names that are`:                    {Inputs: []graph.Value{{Name: "\xfd"}}},
		`constants[0]: the tensor is f32 (), which takes 4 bytes, and has 0; correct it`: {Constants: []graph.Constant{{Name: "k"}}},
	} {
		require.EqualError(t, json.Write(&bytes.Buffer{}, g), strings.TrimSpace(want))
	}
	require.EqualError(t, json.Write(failing{}, &graph.Graph{}), "no more")
}

// TestJSONOfTheDocumentation reads the example of docs/graph-json.md, and makes
// the fault whose sentence stands there.
func TestJSONOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../../docs/graph-json.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(doc), "```json\n")
	example, rest, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	g, err := json.Read(strings.NewReader(example))
	require.NoError(t, err)
	c := mustCheck(t, g, check.Options{Bind: map[string]int64{"batch": 4}})
	require.Equal(t, "f32(4,3); Gemm[alpha:1 beta:1 transA:0 transB:0]; Relu", summary(c))
	require.Equal(t, []float64{1, 2, 3}, values(&g.Constants[1].Tensor))
	_, err = json.Read(strings.NewReader(strings.Replace(example, `"attrs"`, `"attributes"`, 1)))
	require.Contains(t, rest, "\n"+err.Error()+"\n")
}

// Attributes alone have the form that they have in a graph.
func TestAttributesAloneAreReadAsTheyWereWritten(t *testing.T) {
	given := graph.Attrs{"i": int64(3), "f": 3.0, "n": math.Inf(-1), "is": []int64{}, "fs": []float64{1, 2.5}, "s": "é",
		"ss": []string{}, "t": graph.Tensor{DType: graph.F32, Shape: []int64{2}, Data: []byte{0, 0, 128, 63, 0, 0, 0, 64}}}
	text, err := json.WriteAttrs(given)
	require.NoError(t, err)
	read, err := json.ReadAttrs(text)
	require.NoError(t, err)
	require.Equal(t, given, read)
	for _, wrong := range []string{"", "[]", "{}{}", `{"a": null}`} {
		_, err := json.ReadAttrs([]byte(wrong))
		var where *json.Error
		require.ErrorAs(t, err, &where, wrong)
	}
	_, err = json.WriteAttrs(graph.Attrs{"a": 1})
	require.ErrorContains(t, err, `attribute "a"`)
}

// A key of a mebibyte was copied for each of the values below it: a megabyte of text took the memory of the machine.
func TestLongKeysAreNotCopiedForEachValueBelowThem(t *testing.T) {
	key := strings.Repeat("k", 1<<20)
	text := `{"` + key + `": [` + strings.Repeat("1,", 20000) + `tru]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := json.ReadAttrs([]byte(text))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(100<<20))
	var where *json.Error
	require.ErrorAs(t, err, &where)
	require.Equal(t, key+"[20000]", where.Path)
}
