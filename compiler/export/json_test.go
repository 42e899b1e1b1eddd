package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

func text(t require.TestingT, p *plan.ExecutionPlan, content Content) string {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, p, content))
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		written := text(t, p, WithContent)
		require.True(t, json.Valid([]byte(written)))
		read, err := ReadJSON(strings.NewReader(written))
		require.NoError(t, err)
		require.Equal(t, p, read)
		require.Equal(t, written, text(t, read, WithContent), "equal plans give equal bytes")
	})
}

func TestWithoutContent(t *testing.T) {
	p := small()
	read, err := ReadJSON(strings.NewReader(text(t, p, WithoutContent)))
	require.NoError(t, err)
	p.Buffers[4].Constant = nil
	assert.Equal(t, p, read)
}

func TestNilListsAreEmpty(t *testing.T) {
	p := &plan.ExecutionPlan{
		Frame:        plan.Frame{Alignment: 1},
		Buffers:      []plan.Buffer{{Offset: -1}},
		Instructions: []plan.Instruction{{Inputs: []plan.Operand{{Buffer: -1}}}},
	}
	written := text(t, p, WithContent)
	require.Equal(t, 1, strings.Count(written, "null"), "the offset of a buffer outside the frame alone")
	read, err := ReadJSON(strings.NewReader(written))
	require.NoError(t, err)
	assert.Equal(t, written, text(t, read, WithContent))
}

func TestNaNIsWritten(t *testing.T) {
	p := small()
	p.Instructions[1].Attrs = graph.Attrs{"min": math.NaN()}
	written := text(t, p, WithContent)
	require.Contains(t, written, `{"min":{"float":"NaN"}}`)
	read, err := ReadJSON(strings.NewReader(written))
	require.NoError(t, err)
	assert.True(t, math.IsNaN(read.Instructions[1].Attrs.Float("min")))
}

const smallBuffer = `{"name":"h/0","kind":"activation","dtype":"f32","shape":[2,3],"bytes":24,"first":0,"last":1,` +
	`"offset":0,"values":["h/0"]}`

func TestForm(t *testing.T) {
	lines := strings.Split(text(t, small(), WithContent), "\n")
	assert.Equal(t, []string{"{", `"tl_plan": 1,`, `"name": "small <net>",`, `"symbols": {"N":2},`}, lines[:4])
	assert.Contains(t, lines, smallBuffer+",", "one line for each buffer")
	assert.Contains(t, lines[4], `"lower_bound":128,"optimal":true,"naive_bytes":192`)
}

func TestReadRefuses(t *testing.T) {
	good := text(t, small(), WithContent)
	for _, c := range []struct{ old, new, message string }{
		{`"tl_plan": 1`, `"tl_plan": 2`, "version 2; this reader knows version 1 alone"},
		{`"tl_plan": 1`, `"tl_graph": 1`, `"tl_plan" is missing`},
		{`"frame":`, `"fame":`, `unknown field "fame"`},
		{"\n}\n", "\n} x", "not JSON of a plan"},
		{smallBuffer, strings.Replace(smallBuffer, "f32", "f17", 1),
			`buffers[1] "h/0": dtype: "f17" is no element type`},
		{smallBuffer, strings.Replace(smallBuffer, "activation", "pet", 1), `kind: "pet" is none of`},
		{smallBuffer, strings.Replace(smallBuffer, `"first":0`, `"first":2`, 1), "first 2, last 1"},
		{smallBuffer, strings.Replace(smallBuffer, `"last":1`, `"last":4`, 1), "<= 3, the number of instructions"},
		{smallBuffer, strings.Replace(smallBuffer, `"offset":0`, `"offset":128`, 1), "outside the frame of 128 bytes"},
		{smallBuffer, strings.Replace(smallBuffer, `"offset":0`, `"offset":-1`, 1), "null is for buffers"},
		{smallBuffer, strings.Replace(smallBuffer, `"offset":0`, `"offset":32`, 1), "not a multiple"},
		{smallBuffer, strings.Replace(smallBuffer, `"bytes":24`, `"bytes":-24`, 1), "-24 is negative"},
		{smallBuffer, strings.Replace(smallBuffer, `[2,3]`, `[2,-3]`, 1), "negative extent"},
		{smallBuffer, strings.Replace(smallBuffer, `[2,3]`, `[4294967296,4294967296]`, 1), "more than 2^63"},
		{`"alignment":64`, `"alignment":48`, "48 is not a power of two"},
		{`"naive_bytes":192`, `"naive_bytes":-1`, "naive_bytes: -1 is negative"},
		{`"data":"AACAPw=="`, `"data":"AACA"`, "data: 3 bytes for shape [1] of f32"},
		{`{"int":-1}`, `{}`, `attribute "axis": it has 0 of`},
		{`{"int":-1}`, `{"int":1,"float":1}`, `attribute "axis": it has 2 of`},
		{`{"float":"Infinity"}`, `{"float":"big"}`, `the float "big" is not a number`},
		{`"name":"x","buffer":0`, `"name":"x","buffer":5`, `inputs[0] "x": buffer 5; there are 5`},
		{`"strides":[3,1]`, `"strides":[3]`, "2 extents, 1 strides"},
	} {
		require.Contains(t, good, c.old)
		_, err := ReadJSON(strings.NewReader(strings.Replace(good, c.old, c.new, 1)))
		assert.ErrorContains(t, err, c.message, c.new)
	}
}

// TestDocumentedForm holds the documentation's example to the code.
func TestDocumentedForm(t *testing.T) {
	document, err := os.ReadFile("../../docs/planner-artefacts.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(document), "```json\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	p, err := ReadJSON(strings.NewReader(example))
	require.NoError(t, err)
	assert.Equal(t, example, text(t, p, WithContent))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }
func (broken) Read([]byte) (int, error)  { return 0, errors.New("disk gone") }

func TestWriteRefuses(t *testing.T) {
	assert.ErrorContains(t, WriteJSON(&bytes.Buffer{}, nil, WithContent), "no plan")
	assert.ErrorContains(t, WriteJSON(broken{}, small(), WithContent), "disk full")
	_, err := ReadJSON(broken{})
	assert.ErrorContains(t, err, "disk gone")
	for message, spoil := range map[string]func(*plan.ExecutionPlan){
		`buffers[0] "x": kind 9`:          func(p *plan.ExecutionPlan) { p.Buffers[0].Kind = 9 },
		`buffers[0] "x": element type 99`: func(p *plan.ExecutionPlan) { p.Buffers[0].DType = 99 },
		"element type 77 of a tensor":     func(p *plan.ExecutionPlan) { p.Buffers[4].Constant.DType = 77 },
		`attribute "axis": a value of type int `: func(p *plan.ExecutionPlan) {
			p.Instructions[2].Attrs = graph.Attrs{"axis": 1}
		},
	} {
		p := small()
		spoil(p)
		assert.ErrorContains(t, WriteJSON(&bytes.Buffer{}, p, WithContent), message)
	}
}

func FuzzReadJSON(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, WriteJSON(&b, small(), WithContent))
	f.Add(b.String())
	f.Fuzz(func(t *testing.T, input string) {
		if p, err := ReadJSON(strings.NewReader(input)); err == nil {
			text(t, p, WithContent) // what was read can be written
		}
	})
}
