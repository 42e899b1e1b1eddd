package llvm

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of docs/planner-llvm.md is that of the kernels.
func TestDocumentedOperators(t *testing.T) {
	rows := map[string][]string{}
	for op, w := range kernels {
		types := listed(w.types)
		rows[types] = append(rows[types], "`"+op+"`")
	}
	doc, err := os.ReadFile("../../docs/planner-llvm.md")
	require.NoError(t, err)
	for types, ops := range rows {
		slices.Sort(ops)
		require.Contains(t, string(doc), fmt.Sprintf("| %s | %s |\n", types, strings.Join(ops, " ")))
	}
}
