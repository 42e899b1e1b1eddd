package flow_test

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/ir"
)

func built(t *testing.T, text string) *flow.Function {
	t.Helper()
	p, err := ir.Parse(text)
	require.NoError(t, err)
	info, err := ir.Verify(p)
	require.NoError(t, err)
	return flow.Build(info)[0]
}

func TestBuild(t *testing.T) {
	f := built(t, `func f(n: int) -> int {
	let s = 0
	while n > 0 {
		n = n - 1
		if n == 3 { continue } else { s = s + n }
		if s > 100 { break }
	}
	let s2 = s
	return s2
}`)
	require.Equal(t, `func f(n) {
b0:
	s = 0
	jump b1
b1:
	open 1
	%2 = n > 0
	branch %2, b2, b8
b2:
	open 2
	n = n - 1
	%3 = n == 3
	branch %3, b3, b4
b3:
	open 3
	close 3
	close 2
	close 1
	jump b1
b4:
	open 4
	s = s + n
	close 4
	jump b5
b5:
	%4 = s > 100
	branch %4, b6, b7
b6:
	open 5
	close 5
	close 2
	close 1
	jump b9
b7:
	close 2
	close 1
	jump b1
b8:
	close 1
	jump b9
b9:
	s2 = s
	return s2
}
`, flow.Print(f))
}

func named(t *testing.T, f *flow.Function, name string) flow.Var {
	t.Helper()
	i := slices.IndexFunc(f.Vars, func(v flow.Variable) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return flow.Var(i)
}

// TestLivenessInALoop asks at the end of each block: what the next turn reads is
// live there, what it does not read is not.
func TestLivenessInALoop(t *testing.T) {
	f := built(t, `func f(n: int) -> int {
	let s = 0
	while n > 0 {
		let twice = n + n
		s = s + twice
		n = n - 1
	}
	return s
}`)
	live := flow.Live(f, nil)
	at := func(block int) (names []string) {
		live.Backward(block, func(i int, _ *flow.Op, after flow.Set) {
			if i == len(f.Blocks[block].Ops)-1 {
				after.Each(func(v flow.Var) { names = append(names, f.Vars[v].Name) })
			}
		})
		return names
	}
	require.Equal(t, []string{"n", "s"}, at(0))
	require.Equal(t, []string{"n", "s"}, at(2))
	require.Equal(t, []string{"s"}, at(3))
	require.False(t, live.Backward(2, func(int, *flow.Op, flow.Set) {}).Has(named(t, f, "twice")))
}

// TestBorrowedIsRead keeps alive what a variable looks into.
func TestBorrowedIsRead(t *testing.T) {
	f := built(t, "struct P { x: int } func f(p: P) -> int { let q = p return q.x }")
	p, q := named(t, f, "p"), named(t, f, "q")
	borrowed := slices.Repeat([]flow.Var{flow.NoVar}, len(f.Vars))
	after := func() (has bool) {
		flow.Live(f, borrowed).Backward(0, func(_ int, o *flow.Op, after flow.Set) {
			if o.Dst == q {
				has = after.Has(p)
			}
		})
		return has
	}
	require.False(t, after())
	borrowed[q] = p
	require.True(t, after())
}

// reachesRead tells, by walking forward from an operation, whether v is read before
// it is defined: what liveness means, computed the slow way.
func reachesRead(f *flow.Function, v flow.Var, block, op int, seen map[int]bool) bool {
	for ; op < len(f.Blocks[block].Ops); op++ {
		o := &f.Blocks[block].Ops[op]
		if o.Updates() && o.Dst == v || slices.ContainsFunc(o.Args, func(a flow.Operand) bool { return a.Var == v }) {
			return true
		}
		if o.Dst == v {
			return false
		}
	}
	for _, s := range f.Blocks[block].Successors {
		if !seen[s] {
			seen[s] = true
			if reachesRead(f, v, s, 0, seen) {
				return true
			}
		}
	}
	return false
}

// TestLivenessOfRandomPrograms compares liveness with walks over the graph, and
// slots with liveness: no two tensors that are live together share one.
func TestLivenessOfRandomPrograms(t *testing.T) {
	for seed := range int64(60) {
		p, _ := programs.Make(seed, "p")
		info, err := ir.Verify(p)
		require.NoError(t, err)
		for _, f := range flow.Build(info) {
			checkLiveness(t, f, rand.New(rand.NewSource(seed)))
			checkSlots(t, f)
		}
	}
}

func checkLiveness(t *testing.T, f *flow.Function, rnd *rand.Rand) {
	live := flow.Live(f, nil)
	for block := range f.Blocks {
		live.Backward(block, func(i int, _ *flow.Op, after flow.Set) {
			v := flow.Var(rnd.Intn(len(f.Vars)))
			if got, want := after.Has(v), reachesRead(f, v, block, i+1, map[int]bool{}); got != want {
				t.Fatalf("behind b%d, operation %d: %s live is %v, want %v\n%s", block, i, f.Vars[v].Name, got, want,
					flow.Print(f))
			}
		})
	}
}

func checkSlots(t *testing.T, f *flow.Function) {
	tensors := flow.NewSet(len(f.Vars))
	for v := f.Params; v < len(f.Vars); v++ {
		if f.Vars[v].Type.Kind == ir.Tensor {
			tensors.Add(flow.Var(v))
		}
	}
	slots, bytes := flow.AssignSlots(f, tensors)
	live := flow.Live(f, nil)
	for block := range f.Blocks {
		live.Backward(block, func(_ int, o *flow.Op, after flow.Set) {
			taken := map[int]flow.Var{}
			after.Each(func(v flow.Var) {
				if !tensors.Has(v) {
					return
				}
				require.GreaterOrEqual(t, bytes[slots[v]], f.Vars[v].Type.Bytes())
				if other, both := taken[slots[v]]; both {
					t.Fatalf("%s and %s are live and in slot %d\n%s", f.Vars[v].Name, f.Vars[other].Name, slots[v],
						flow.Print(f))
				}
				taken[slots[v]] = v
			})
			if v, both := taken[slots[o.Dst]]; tensors.Has(o.Dst) && both && v != o.Dst {
				t.Fatalf("%s is made in the slot of %s, which is live\n%s", f.Vars[o.Dst].Name, f.Vars[v].Name,
					flow.Print(f))
			}
		})
	}
}
