package ops

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write operators.md")

const operatorsHead = `# Operators

Generated from the table of package ops: ` + "`go test ./compiler/graph/ops -run TestOperatorsFile -update`" + `.

Each section has the operator's arguments, its result, and the attributes of its normal form: what a node of a Checked
has, all of them and no other. A mark behind a type: ` + "`?`" + ` may be left out (-1 in TypedNode.Inputs), ` + "`*`" + ` one or more,
` + "`!`" + ` has to be constant; it becomes an attribute, and no node of a Checked has such an input. Otherwise a node has an
input for each argument that stands here, in order. Its outputs go up to the last one that somebody asks for, and of those before it -1 stands for one
that nobody does; Split has one for each part. Types with the same letter are the same type. ` + "`index`" + ` is i32 or i64, ` + "`float`" + ` any float, ` + "`any`" + ` any type, ` + "`other`" + ` what the text says.

`

func operatorsFile() string {
	var b strings.Builder
	b.WriteString(operatorsHead)
	for _, name := range Operators() {
		o, _ := Normal(name)
		b.WriteString(section(o))
		b.WriteString("\n")
	}
	b.WriteString("# Operators that run graphs\n\nTheir nodes stay as they are; what their bodies read of the graph around them " +
		"stands last among\nthe arguments.\n\n")
	for _, o := range Runners() {
		b.WriteString(section(o))
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func TestOperatorsFile(t *testing.T) {
	want := operatorsFile()
	if *update {
		require.NoError(t, os.WriteFile("../operators.md", []byte(want), 0o644))
	}
	got, err := os.ReadFile("../operators.md")
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run with -update")
}

// section describes an operator in operators.md.
func section(o Operator) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", o.Name)
	if o.Becomes != "" {
		fmt.Fprintf(&b, "Becomes %s\n\n", o.Becomes)
	}
	fmt.Fprintf(&b, "`%s -> %s`\n\n", listArguments(o.Inputs), listArguments(o.Outputs))
	if o.Result != "" {
		fmt.Fprintf(&b, "%s\n\n", o.Result)
	}
	for _, a := range o.Attrs {
		fmt.Fprintf(&b, "* `%s` %s: %s\n", a.Name, a.Kind, a.Meaning)
	}
	if len(o.Attrs) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(typesOf(o))
	fmt.Fprintf(&b, "In a Graph it takes: %s.\n", listAttributes(o.Accepts))
	return b.String()
}

func typesOf(o Operator) string {
	var lines []string
	for _, a := range append(slices.Clone(o.Inputs), o.Outputs...) {
		if line := fmt.Sprintf("`%s`: %s.\n\n", a.Type, a.Types); len(a.Type) == 1 && a.Types != 0 &&
			!slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestTableIsSound(t *testing.T) {
	require.Len(t, operators, len(table), "an operator stands twice")
	for _, e := range table {
		o := operators[e.name]
		require.NotEmpty(t, o.Outputs, o.Name)
		require.NotNil(t, o.infer, o.Name)
		require.False(t, o.Becomes != "" && o.fold != nil, "%s: it is gone before constants are computed", o.Name)
		require.Equal(t, strings.Count(e.in+e.out, " ")-strings.Count(e.in+e.out, ", "), len(o.Inputs)+len(o.Outputs),
			o.Name)
		for i, a := range append(o.Inputs, o.Outputs...) {
			require.True(t, a.Types != 0 || a.Type == "other", "%s: %s", o.Name, a.Name)
			last := i == len(o.Inputs)-1 || i == len(o.Inputs)+len(o.Outputs)-1
			require.False(t, a.Variadic && !last, o.Name)
		}
		for _, a := range append(o.Attrs, o.Accepts...) {
			require.NotZero(t, a.Kind, "%s: %s", o.Name, a.Name)
		}
	}
	for name, o := range operators {
		require.False(t, o.Becomes != "" && (o.InPlace != nil || o.Moves != nil), "%s: no planner meets it", name)
		require.False(t, o.InPlace != nil && o.Moves != nil, "%s: what moves elements is a view, and writes nothing",
			name)
		require.True(t, o.Moves == nil || (o.Moves.View == nil) == (o.Moves.Parts != NoParts), name)
		for _, i := range o.InPlace {
			require.Less(t, i, len(o.Inputs), name)
			require.True(t, i != EveryArgument || Variadic(o.Inputs), name)
		}
	}
	_, ok := Normal("Nothing")
	require.False(t, ok)
}
