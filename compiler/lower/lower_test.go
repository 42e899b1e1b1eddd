package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

func TestLowerReportsWhatVerifyFinds(t *testing.T) {
	p, err := ir.Parse("func f() { x = 1 }")
	require.NoError(t, err)
	_, err = Lower(p, Options{})
	require.ErrorContains(t, err, "function f, statement 1 (x = 1): there is no variable x")
}

// TestLowerLeavesTheProgram lowers one program twice: the text of both is the same,
// and that of the program.
func TestLowerLeavesTheProgram(t *testing.T) {
	eachProgram(t, 20, func(seed int64, p *ir.Program, _ string, _ any) {
		before := ir.Print(p)
		first, err := Lower(p, Options{})
		require.NoError(t, err)
		second, err := Lower(p, Options{})
		require.NoError(t, err)
		require.Equal(t, print(first), print(second), "seed %d", seed)
		require.Equal(t, before, ir.Print(p), "seed %d", seed)
	})
}

// TestOptionsTurnPartsOff compares counts with those of the complete lowering.
func TestOptionsTurnPartsOff(t *testing.T) {
	const text = `
struct Node { value: int, next: Node }
func build(n: int) -> Node {
	let head = none Node
	while n > 0 { n = n - 1 head = new Node{value: n, next: head} }
	return head
}
func second(list: Node) -> int { let x = list.next return x.value }
func walk(list: Node) { while list.value { list = list.next } }
func twice(list: Node) -> int { let x = list x = list.next x.value = 3 return x.value }
func add(n: int) -> float { let t = zeros tensor<f64, 2> return sum(t + t) }
`
	count := func(options Options, code flow.Code) (n int) {
		for _, f := range lowered(t, text, options).Functions {
			n += countOf(f, code)
		}
		return n
	}
	require.Equal(t, 2, count(Options{}, flow.Acquire))
	require.Equal(t, 4, count(Options{NoMoves: true, NoCancel: true}, flow.Acquire))
	require.Equal(t, 3, count(Options{NoCancel: true}, flow.Acquire))
	require.Equal(t, 4, count(Options{NoBorrows: true}, flow.Acquire))
	require.Equal(t, 2, count(Options{}, flow.Release))
	require.Equal(t, 4, count(Options{NoMoves: true, NoCancel: true}, flow.Release))
	require.Equal(t, 3, count(Options{NoCancel: true}, flow.Release))
	require.Equal(t, 1, count(Options{}, flow.Register))
	require.Equal(t, 4, count(Options{NoBorrows: true}, flow.Register))
	require.Len(t, lowered(t, text, Options{}).Functions[4].Slots, 1)
	require.Empty(t, lowered(t, text, Options{NoSlots: true}).Functions[4].Slots)
	require.Equal(t, 1, lowered(t, text, Options{}).Cancelled)
	require.Zero(t, lowered(t, text, Options{NoCancel: true}).Cancelled)
	require.Equal(t, 1, lowered(t, text, Options{}).Moves)
}

// TestKinds names the kind of every variable of a function.
func TestKinds(t *testing.T) {
	m := lowered(t, `
struct P { x: int, next: P }
func f(a: P, b: P, n: int) -> P {
	let same = a
	let own = b
	own.x = n
	let made = new P{next: own}
	let late = made.next
	let t = zeros tensor<f32>
	if t[0] > 0.0 { return f(a, b, n) }
	own = late
	return made
}`, Options{})
	got := map[string]Kind{}
	for v, k := range m.Kinds[0] {
		got[m.Functions[0].Vars[v].Name] = k
	}
	for name, want := range map[string]Kind{"a": Borrowed, "b": Borrowed, "n": Plain, "same": Borrowed, "own": Owned,
		"made": Held, "late": Borrowed, "t": Slotted} {
		require.Equal(t, want, got[name], name)
	}
	require.Contains(t, m.Kinds[0], Floating)
}

// countOf returns how many operations of a function have a code.
func countOf(f *flow.Function, code flow.Code) (n int) {
	f.Each(func(o *flow.Op) {
		if o.Code == code {
			n++
		}
	})
	return n
}
