package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
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

// read returns the form of a text, which has no other members.
func read(t require.TestingT, text string) (f planForm) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&f))
	return f
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *number) UnmarshalJSON(text []byte) (err error) {
	f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*n = number(f)
	return err
}

func TestTextTellsTheForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlan(t)
		written := text(t, p, WithContent)
		want, err := formOf(p, WithContent)
		require.NoError(t, err)
		require.Equal(t, want, read(t, written))
		require.Equal(t, written, text(t, p, WithContent), "equal plans give equal bytes")
	})
}

func TestWithoutContent(t *testing.T) {
	p := small()
	without := text(t, p, WithoutContent)
	p.Buffers[4].Constant = nil
	assert.Equal(t, text(t, p, WithContent), without)
}

func TestNilListsAreEmpty(t *testing.T) {
	p := &plan.ExecutionPlan{
		Frame:        plan.Frame{Alignment: 1},
		Buffers:      []plan.Buffer{{Offset: -1}},
		Instructions: []plan.Instruction{{Inputs: []plan.Operand{{Buffer: -1}}}},
	}
	written := text(t, p, WithContent)
	require.Equal(t, 1, strings.Count(written, "null"), "the offset of a buffer outside the frame alone")
}

func TestNaNIsWritten(t *testing.T) {
	p := small()
	p.Instructions[1].Attrs = graph.Attrs{"min": math.NaN()}
	require.Contains(t, text(t, p, WithContent), `{"min":{"float":"NaN"}}`)
}

const smallBuffer = `{"name":"h/0","kind":"activation","dtype":"f32","shape":[2,3],"bytes":24,"first":0,"last":1,` +
	`"offset":0,"values":["h/0"]}`

func TestForm(t *testing.T) {
	lines := strings.Split(text(t, small(), WithContent), "\n")
	assert.Equal(t, []string{"{", `"tl_plan": 1,`, `"name": "small <net>",`, `"symbols": {"N":2},`}, lines[:4])
	assert.Contains(t, lines, smallBuffer+",", "one line for each buffer")
	assert.Contains(t, lines[4], `"lower_bound":128,"optimal":true,"naive_bytes":192`)
}

// TestDocumentedForm holds the documentation's example to the code.
func TestDocumentedForm(t *testing.T) {
	document, err := os.ReadFile("../../docs/planner-artefacts.md")
	require.NoError(t, err)
	_, example, found := strings.Cut(string(document), "```json\n")
	require.True(t, found)
	example, _, _ = strings.Cut(example, "```")
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	require.NoError(t, writeForm(out, read(t, example)))
	require.NoError(t, out.Flush())
	assert.Equal(t, example, b.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteRefuses(t *testing.T) {
	assert.ErrorContains(t, WriteJSON(&bytes.Buffer{}, nil, WithContent), "no plan")
	assert.ErrorContains(t, WriteJSON(broken{}, small(), WithContent), "disk full")
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
