package graph_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/ops"
)

var update = flag.Bool("update", false, "write operators.md")

const operatorsHead = `# Operators

Generated from the table of package ops: ` + "`go test ./compiler/graph -run TestOperatorsFile -update`" + `.

Each section has the operator's arguments, its result, and the attributes of its normal form: what a node of a Checked
has, all of them and no other. A mark behind a type: ` + "`?`" + ` may be left out (-1 in TypedNode.Inputs), ` + "`*`" + ` one or more,
` + "`!`" + ` has to be constant; it becomes an attribute, and no node of a Checked has such an input. Otherwise a node has an
input for each argument that stands here, in order. Its outputs go up to the last one that somebody asks for, and of those before it -1 stands for one
that nobody does; Split has one for each part. Types with the same letter are the same type. ` + "`index`" + ` is i32 or i64, ` + "`float`" + ` any float, ` + "`any`" + ` any type, ` + "`other`" + ` what the text says.

`

func operatorsFile() string {
	var b strings.Builder
	b.WriteString(operatorsHead)
	for _, name := range ops.Operators() {
		o, _ := ops.Normal(name)
		b.WriteString(o.String())
		b.WriteString("\n")
	}
	b.WriteString("# Operators that run graphs\n\nTheir nodes stay as they are; what their bodies read of the graph around them " +
		"stands last among\nthe arguments.\n\n")
	for _, o := range ops.Runners() {
		b.WriteString(o.String())
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func TestOperatorsFile(t *testing.T) {
	want := operatorsFile()
	if *update {
		require.NoError(t, os.WriteFile("operators.md", []byte(want), 0o644))
	}
	got, err := os.ReadFile("operators.md")
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run with -update")
}
