package lower

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/interp"
	"tlruntime/compiler/lower/ir"
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

// runOnModel runs a module's root, which has to return what is wanted and leave
// nothing behind.
func runOnModel(t *testing.T, m *Module, root string, want any, what string) *model {
	t.Helper()
	w := newModel(t, m)
	got := w.run(root, nil)
	if !same(got, want) || w.live != 0 || len(w.scopes) != 1 || len(w.scopes[0].entries) != 0 {
		t.Fatalf("%s: got %v, want %v; %d objects live, %d scopes open\n%s", what, got, want, w.live, len(w.scopes)-1,
			print(m))
	}
	return w
}

// TestPrograms runs the programs in testdata/run, which are about cases that random
// ones hardly meet.
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/run/*.tl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		p, err := ir.Parse(string(text))
		require.NoError(t, err, file)
		info, err := ir.Verify(p)
		require.NoError(t, err, file)
		want, err := interp.Run(info, "root", 100_000_000)
		require.NoError(t, err, file)
		for name, options := range variants {
			m, err := Lower(p, options)
			require.NoError(t, err)
			runOnModel(t, m, "root", want, file+", "+name)
		}
	}
}

var variants = map[string]Options{
	"complete":   {},
	"no moves":   {NoMoves: true},
	"no borrows": {NoBorrows: true},
	"no slots":   {NoSlots: true},
	"no cancel":  {NoCancel: true},
	"plain":      {NoMoves: true, NoBorrows: true, NoSlots: true, NoCancel: true},

	"cells":                {Cells: true},
	"cells without reuse":  {Cells: true, NoReuse: true},
	"cells, no borrows":    {Cells: true, NoBorrows: true},
	"cells, no cancel":     {Cells: true, NoCancel: true},
	"cells with all of it": {Cells: true, NoMoves: true, NoBorrows: true, NoSlots: true, NoCancel: true},
}

// TestModel runs random programs on the model of the runtime, in every variant of the
// lowering. It needs no compiler; package llvm's tests run them for real.
func TestModel(t *testing.T) {
	executed, owned, reused := map[string]map[flow.Code]int{}, map[string]int{}, map[string]int{}
	programs := int64(400)
	if testing.Short() {
		programs = 100
	}
	eachProgram(t, programs, func(seed int64, p *ir.Program, root string, want any) {
		for name, options := range variants {
			m, err := Lower(p, options)
			require.NoError(t, err)
			w := runOnModel(t, m, root, want, fmt.Sprintf("seed %d, %s", seed, name))
			if executed[name] == nil {
				executed[name] = map[flow.Code]int{}
			}
			owned[name] += w.owned
			reused[name] += w.reused
			for code, n := range w.executed {
				executed[name][code] += n
			}
		}
	})
	for name, n := range executed {
		t.Logf("%-10s %7d acquires (%d from owned variables), %7d releases, %7d registers, %7d scopes, %7d frames",
			name, n[flow.Acquire], owned[name], n[flow.Release],
			n[flow.Register], n[flow.EnterScope], n[flow.FunctionEnter])
	}
	t.Logf("%d of %d cells are built in others", reused["cells"], executed["cells"][flow.New])
	require.NotZero(t, reused["cells"])
	require.Zero(t, reused["cells without reuse"])
	require.Less(t, executed["complete"][flow.Acquire], executed["no moves"][flow.Acquire], "moves save acquires")
	require.Less(t, executed["complete"][flow.Release], executed["no moves"][flow.Release], "and releases")
	require.Less(t, executed["complete"][flow.Register], executed["no borrows"][flow.Register],
		"borrows save registrations")
	for _, code := range []flow.Code{flow.Acquire, flow.Release} {
		require.Less(t, executed["complete"][code], executed["no cancel"][code], "pairs cancel out")
	}
}
