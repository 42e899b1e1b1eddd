package llvm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// unwritten are types that an operator takes and that there is no kernel for.
var unwritten = map[string][]graph.DType{"Erf": integers}

// Kernels are those of the operators that plans have, and take the types that the
// operators take.
func TestTablesAgree(t *testing.T) {
	for op, w := range kernels {
		o, known := plan.Operator(op)
		if assert.True(t, known && o.Becomes == "", "%s is in no plan", op) {
			assert.LessOrEqual(t, w.results, len(o.Outputs), op)
			assertTypes(t, &o, w)
		}
	}
	for _, op := range ops.Operators() {
		if o, _ := ops.Normal(op); o.Becomes == "" {
			assert.Contains(t, kernels, op)
		}
	}
	assert.Contains(t, kernels, plan.OpCopy)
}

func assertTypes(t *testing.T, o *ops.Operator, w writer) {
	arguments := o.Arguments()
	for _, d := range computed {
		if !arguments[w.decider].Types.Has(d) {
			continue
		}
		written := !slices.Contains(unwritten[o.Name], d)
		assert.Equal(t, written, slices.Contains(w.types, d), "%s of %s", o.Name, d)
	}
}
