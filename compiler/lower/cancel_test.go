package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// handMade is a function of one block with these operations on variables of type P and
// Q: a and b are P, c is Q.
func handMade(ops ...flow.Op) *function {
	f := &function{Function: &flow.Function{Program: &ir.Program{
		Structs: []*ir.StructDef{{Name: "P"}, {Name: "Q"}},
		Externs: []*ir.Function{{Name: "outside"}}}}}
	for i, name := range []string{"P", "P", "Q"} {
		f.Vars = append(f.Vars, flow.Variable{Name: string(rune('a' + i)), Type: ir.StructType(name)})
	}
	for i := range ops {
		if ops[i].Code != flow.Copy && ops[i].Code != flow.Unshare {
			ops[i].Dst = flow.NoVar
		}
	}
	f.Blocks = []*flow.Block{{Ops: append(ops, flow.Op{Code: flow.Return, Dst: flow.NoVar})}}
	return f
}

// TestCancel holds every kind of operation between an acquire of a and a release of b,
// which is a copy of it.
func TestCancel(t *testing.T) {
	const a, b, c = flow.Var(0), flow.Var(1), flow.Var(2)
	f := handMade()
	about := func(code flow.Code, v flow.Var) flow.Op { return flow.Op{Code: code, Args: []flow.Operand{f.Use(v)}} }
	for name, one := range map[string]struct {
		between   flow.Op
		cancelled int
	}{
		"another acquire":         {about(flow.Acquire, c), 1},
		"a register":              {about(flow.Register, c), 1},
		"an unregister":           {about(flow.Unregister, c), 1},
		"a call":                  {flow.Op{Code: flow.Call, Callee: "inside"}, 1},
		"a change of another":     {flow.Op{Code: flow.Unshare, Dst: c, Type: f.Vars[c].Type}, 1},
		"a change of its type":    {flow.Op{Code: flow.Unshare, Dst: a, Type: f.Vars[a].Type}, 0},
		"another release":         {about(flow.Release, c), 0},
		"the end of a scope":      {flow.Op{Code: flow.ExitScope}, 0},
		"the end of the frame":    {flow.Op{Code: flow.FunctionExit}, 0},
		"an extern call":          {flow.Op{Code: flow.Call, Callee: "outside"}, 0},
		"an element's end":        {flow.Op{Code: flow.StoreAt}, 0},
		"the last one's end":      {flow.Op{Code: flow.RemoveLast}, 0},
		"another value for b":     {flow.Op{Code: flow.Copy, Dst: b, Args: []flow.Operand{flow.None(f.Vars[b].Type)}}, 0},
		"another value for a":     {flow.Op{Code: flow.Copy, Dst: a, Args: []flow.Operand{flow.None(f.Vars[a].Type)}}, 1},
		"its own value once more": {flow.Op{Code: flow.Copy, Dst: b, Args: []flow.Operand{f.Use(a)}}, 1},
	} {
		f := handMade(about(flow.Acquire, a), flow.Op{Code: flow.Copy, Dst: b, Args: []flow.Operand{f.Use(a)}},
			one.between, about(flow.Release, b))
		f.cancel()
		require.Equal(t, one.cancelled, f.cancelled, name)
		require.Len(t, f.Blocks[0].Ops, 5-2*one.cancelled, name)
	}
}

// TestCancelOfTwoPairs removes a pair that stands inside of another one or overlaps
// with it: its release would keep the other.
func TestCancelOfTwoPairs(t *testing.T) {
	for _, order := range [][2]flow.Var{{2, 0}, {0, 2}} {
		f := handMade()
		about := func(code flow.Code, v flow.Var) flow.Op {
			return flow.Op{Code: code, Args: []flow.Operand{f.Use(v)}}
		}
		f = handMade(about(flow.Acquire, 0), about(flow.Acquire, 2), about(flow.Release, order[0]),
			about(flow.Release, order[1]))
		f.cancel()
		require.Equal(t, 2, f.cancelled, "%v", order)
		require.Len(t, f.Blocks[0].Ops, 1)
	}
}

// TestCancelGoesThroughJumps goes on in a block that nothing else leads to, and in no
// other.
func TestCancelGoesThroughJumps(t *testing.T) {
	for text, want := range map[string]int{
		"func f(p: P) -> int { let q = p q.x = 1 block { q = q } return q.x }":                        1,
		"func f(p: P, n: int) -> int { let q = p q.x = 1 if n { let r = q r = p } q = p return q.x }": 2,
		"func f(p: P) { let q = none P q.x = 1 let r = p q = r q.x = 1 let s = q q = p s.x = 2 }":     1,
		"func f(p: P, n: int) { let q = p while n { n = n - 1 q.x = n } }":                            0,
	} {
		m := lowered(t, "struct P { x: int }\n"+text, Options{})
		require.Equal(t, want, m.Cancelled, "%s\n%s", text, print(m))
	}
}
