package lower

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/lower/flow"
	"tlruntime/runtime/lower/internal/programs"
	"tlruntime/runtime/lower/interp"
	"tlruntime/runtime/lower/ir"
)

// eachProgram calls visit with random programs that the interpreter can run, and
// their results. $TL_PROGRAMS is how many, $TL_SEED where they begin.
func eachProgram(t *testing.T, count int64, visit func(seed int64, p *ir.Program, root string, want any)) {
	first := int64(1)
	for name, value := range map[string]*int64{"TL_PROGRAMS": &count, "TL_SEED": &first} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err, name)
			*value = n
		}
	}
	for seed := first; seed < first+count; seed++ {
		p, root := programs.Make(seed, "p")
		info, err := ir.Verify(p)
		require.NoError(t, err, "seed %d", seed)
		want, err := interp.Run(info, root, 50_000)
		if errors.Is(err, interp.ErrLimit) {
			continue
		}
		require.NoError(t, err)
		visit(seed, p, root, want)
	}
}

var variants = map[string]Options{
	"complete":   {},
	"no moves":   {NoMoves: true},
	"no borrows": {NoBorrows: true},
	"no slots":   {NoSlots: true},
	"plain":      {NoMoves: true, NoBorrows: true, NoSlots: true},
}

// TestModel runs random programs on the model of the runtime, in every variant of the
// lowering. It needs no compiler; package llvm's tests run them for real.
func TestModel(t *testing.T) {
	executed := map[string]map[flow.Code]int{}
	eachProgram(t, 400, func(seed int64, p *ir.Program, root string, want any) {
		for name, options := range variants {
			m, err := Lower(p, options)
			require.NoError(t, err)
			w := newModel(t, m)
			got := w.run(root, nil)
			if !same(got, want) || w.live != 0 || len(w.scopes) != 1 || len(w.scopes[0].entries) != 0 {
				t.Fatalf("seed %d, %s: got %v, want %v; %d objects live, %d scopes open\n%s", seed, name, got, want, w.live, len(w.scopes)-1, print(m))
			}
			if executed[name] == nil {
				executed[name] = map[flow.Code]int{}
			}
			for code, n := range w.executed {
				executed[name][code] += n
			}
		}
	})
	for name, n := range executed {
		t.Logf("%-10s %7d acquires, %7d releases, %7d registers, %7d scopes, %7d frames", name, n[flow.Acquire], n[flow.Release],
			n[flow.Register], n[flow.EnterScope], n[flow.FunctionEnter])
	}
	require.Less(t, executed["complete"][flow.Acquire], executed["no moves"][flow.Acquire], "moves save acquires")
	require.Less(t, executed["complete"][flow.Release], executed["no moves"][flow.Release], "and releases")
	require.Less(t, executed["complete"][flow.Register], executed["no borrows"][flow.Register], "borrows save registrations")
}
