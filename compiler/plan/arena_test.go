package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// prefill makes a cache, decode changes some of its rows and reads all of them.
func chat() []Entry {
	p := newSketch()
	p.input("prompt", 4, 8)
	p.constant("w", 8, 8)
	p.node("MatMul", "h", shape(4, 8), nil, "prompt", "w")
	p.node("Exp", "e", shape(4, 8), nil, "h")
	p.node("MatMul", "present", shape(4, 8), nil, "e", "w")
	p.node("ReduceSum", "logits", shape(4, 1), nil, "e")
	p.output("logits", "present")

	d := newSketch()
	d.input("past", 4, 8)
	d.input("rows", 4, 8)
	d.input("token", 4, 8)
	d.node("ScatterElements", "present", shape(4, 8), graph.Attrs{"axis": int64(0), "reduction": "none"}, "past", "rows",
		"token")
	d.node("MatMul", "s", shape(4, 4), nil, "token", "present")
	d.node("Softmax", "a", shape(4, 4), graph.Attrs{"axis": int64(1)}, "s")
	d.node("MatMul", "out", shape(4, 8), nil, "a", "present")
	d.output("out", "present")
	return []Entry{{"prefill", &p.Checked, map[string]string{"present": "cache"}},
		{"decode", &d.Checked, map[string]string{"past": "cache", "present": "cache"}}}
}

func together(t require.TestingT, entries []Entry, o Options) *Arena {
	a, err := Together(entries, o)
	require.NoError(t, err)
	require.NoError(t, VerifyArena(a, entries))
	return a
}

func copiesOf(p *ExecutionPlan) (n int) {
	for _, i := range p.Instructions {
		if i.Op == OpCopy {
			n++
		}
	}
	return n
}

func TestAStateIsOnePlace(t *testing.T) {
	a := together(t, chat(), Options{})
	require.Equal(t, []StateTensor{{Name: "cache", DType: graph.F32, Shape: shape(4, 8), Bytes: 128}}, a.States)
	assert.Equal(t, "prefill_decode", a.Name)
	assert.EqualValues(t, 128, a.StateBytes)
	assert.Zero(t, copiesOf(a.Entries[1]), "a scatter writes into its argument")
	largest := int64(0)
	for _, p := range a.Entries {
		largest = max(largest, p.Frame.Bytes)
	}
	assert.Equal(t, largest, a.Bytes)
	// Each plan alone: the same scratch, the cache of prefill, and both caches of decode.
	separate := int64(3 * 128)
	for _, e := range chat() {
		p, err := Build(e.Graph, Options{})
		require.NoError(t, err)
		separate += p.Frame.Bytes
	}
	assert.Equal(t, separate, a.SeparateBytes)
	assert.Less(t, a.Bytes, a.SeparateBytes)
}

// training is a step of gradient descent. Its gradient is a result whose memory the new
// weights would take over, and which is there before the weights are read last.
func training() Entry {
	s := newSketch()
	s.input("x", 16, 16)
	s.input("t", 16, 16)
	s.input("w", 16, 16)
	s.constant("rate", 16, 16)
	s.node("MatMul", "y", shape(16, 16), nil, "x", "w")
	s.node("Sub", "d", shape(16, 16), nil, "y", "t")
	s.node("MatMul", "g", shape(16, 16), nil, "x", "d")
	s.node("Mul", "step", shape(16, 16), nil, "g", "rate")
	s.node("Sub", "next", shape(16, 16), nil, "w", "step")
	s.node("MatMul", "back", shape(16, 16), nil, "d", "w")
	s.node("ReduceSum", "loss", shape(1, 1), nil, "back")
	s.output("next", "loss")
	return Entry{"train", &s.Checked, map[string]string{"w": "weights", "next": "weights"}}
}

// The last reader of the weights stands behind their update in the graph.
func TestWeightsChangeInPlace(t *testing.T) {
	for _, o := range []Options{{}, {NoReorder: true}, {PlaceInputs: true, PlaceOutputs: true}, {NoInPlace: true}} {
		a := together(t, []Entry{training()}, o)
		assert.Zero(t, copiesOf(a.Entries[0]), "%+v", o)
	}
}

// A state that changes in place costs no order that is better than the graph's.
func TestWeightsLeaveTheOrderFree(t *testing.T) {
	e := training()
	s := &sketch{*e.Graph, map[string]int{}}
	for v := range s.Values {
		s.names[s.Values[v].Name] = v
	}
	s.Nodes[5].Inputs[1] = s.names["t"] // nothing reads the weights after their update
	for _, name := range []string{"a", "b", "c"} {
		s.node("Expand", name, shape(16, 16, 16), nil, "x")
		s.node("Exp", name+"e", shape(16, 16, 16), nil, name)
	}
	for _, name := range []string{"a", "b", "c"} {
		s.node("ReduceSum", name+"s", shape(1, 1, 1), nil, name+"e")
		s.output(name + "s")
	}
	e.Graph = &s.Checked
	given := together(t, []Entry{e}, Options{NoReorder: true})
	free := together(t, []Entry{e}, Options{})
	assert.Zero(t, copiesOf(free.Entries[0]))
	assert.Less(t, 2*free.Bytes, given.Bytes)
}

// What is computed from all of a state cannot be written over it.
func TestAStateIsCopiedBack(t *testing.T) {
	s := newSketch()
	s.input("w", 4, 4)
	s.node("MatMul", "next", shape(4, 4), nil, "w", "w")
	s.output("next")
	a := together(t, []Entry{{"square", &s.Checked, map[string]string{"w": "w", "next": "w"}}}, Options{})
	assert.Equal(t, []string{"MatMul", OpCopy}, opsOf(a.Entries[0]))
	assert.EqualValues(t, 128, a.Bytes)

	// Nor can one that is read in another order than it is written.
	s = newSketch()
	s.input("w", 4, 4)
	s.node("Transpose", "t", shape(4, 4), graph.Attrs{"perm": []int64{1, 0}}, "w")
	s.node("Relu", "next", shape(4, 4), nil, "t")
	s.output("next")
	a = together(t, []Entry{{"turn", &s.Checked, map[string]string{"w": "w", "next": "w"}}}, Options{})
	assert.Equal(t, []string{"Relu", OpCopy}, opsOf(a.Entries[0]))

	// Nor can a state that is swapped with another.
	s = newSketch()
	s.input("a", 4, 4)
	s.input("b", 4, 4)
	s.node("Relu", "na", shape(4, 4), nil, "b")
	s.node("Exp", "nb", shape(4, 4), nil, "a")
	s.output("na", "nb")
	a = together(t, []Entry{{"swap", &s.Checked, map[string]string{"a": "a", "b": "b", "na": "a", "nb": "b"}}}, Options{})
	assert.Equal(t, 1, copiesOf(a.Entries[0]))
}

func TestErrorsOfArenas(t *testing.T) {
	for want, spoil := range map[string]func(e []Entry) []Entry{
		"an arena needs an entry": func([]Entry) []Entry { return nil },
		`entry 1 is called "prefill"`: func(e []Entry) []Entry {
			e[1].Name = "prefill"
			return e
		},
		`entry "decode": "absent" should be state "cache", and is no input or output`: func(e []Entry) []Entry {
			e[1].States["absent"] = "cache"
			return e
		},
		`entry "decode": "past" and "token" are both state "cache"`: func(e []Entry) []Entry {
			e[1].States["token"] = "cache"
			return e
		},
		`state "cache" is f32 [4 1] in entry "decode" (rows), and f32 [4 8] elsewhere (prefill, present)`: func(
			e []Entry) []Entry {
			e[1].States = map[string]string{"rows": "cache"}
			e[1].Graph.Values[1].Shape = shape(4, 1)
			return e
		},
		`entry "decode": plan: there is no graph`: func(e []Entry) []Entry {
			e[1].Graph = nil
			return e
		},
	} {
		_, err := Together(spoil(chat()), Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := Together(chat(), Options{Alignment: 3})
	require.ErrorContains(t, err, "power of two")
}

// Whatever is wrong with an arena is found by code that does not know how it was made.
func TestMistakesInArenasAreFound(t *testing.T) {
	for name, spoil := range map[string]func(a *Arena){
		"another place":     func(a *Arena) { stateIn(a.Entries[1]).Offset += 64 },
		"another place all": func(a *Arena) { a.States[0].Offset += 64 },
		"another type":      func(a *Arena) { stateIn(a.Entries[0]).DType = graph.I32 },
		"too short a life":  func(a *Arena) { stateIn(a.Entries[0]).First = 1 },
		"no such state":     func(a *Arena) { stateIn(a.Entries[0]).Name = "stash" },
		"beyond the arena":  func(a *Arena) { a.Bytes -= 64 },
		"scratch on it": func(a *Arena) {
			for i := range a.Entries[1].Buffers {
				if b := &a.Entries[1].Buffers[i]; b.Kind == Activation {
					b.Offset = 0
				}
			}
		},
		"read after it changed": func(a *Arena) {
			p := a.Entries[1]
			find(p, "n_s").Inputs[0] = Operand{Name: "past", Buffer: find(p, "n_present").Inputs[0].Buffer,
				View: find(p, "n_present").Inputs[0].View}
		},
		"changed and not given out": func(a *Arena) {
			p := a.Entries[1]
			p.Outputs = slices.DeleteFunc(slices.Clone(p.Outputs), func(o Operand) bool { return o.Name == "present" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := Together(chat(), Options{})
			require.NoError(t, err)
			require.NoError(t, ValidateArena(a))
			spoil(a)
			require.ErrorContains(t, ValidateArena(a), "plan: ")
		})
	}
}

func stateIn(p *ExecutionPlan) *Buffer {
	return &p.Buffers[slices.IndexFunc(p.Buffers, func(b Buffer) bool { return b.Kind == State })]
}

// drawStates makes states of some inputs and outputs of a graph; what has one type and
// one shape may be the same state in all entries.
func drawStates(t *rapid.T, c *graph.Checked) map[string]string {
	states := map[string]string{}
	for _, list := range [][]int{c.Inputs, c.Outputs} {
		taken := map[string]bool{}
		for _, v := range list {
			x := &c.Values[v]
			name := fmt.Sprint(x.DType, x.Shape, rapid.IntRange(0, 1).Draw(t, "which"))
			count := 0
			for _, u := range slices.Concat(c.Inputs, c.Outputs) {
				if u == v {
					count++
				}
			}
			if count == 1 && !taken[name] && rapid.IntRange(0, 3).Draw(t, "state") > 0 {
				states[x.Name], taken[name] = name, true
			}
		}
	}
	return states
}

func TestRandomArenas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var entries []Entry
		for i := range rapid.IntRange(1, 3).Draw(t, "entries") {
			c := drawGraph(t, rapid.IntRange(1, 10).Draw(t, "nodes"))
			entries = append(entries, Entry{fmt.Sprint("e", i), c, drawStates(t, c)})
		}
		o := drawOptions(t)
		a := together(t, entries, switched(o, rapid.IntRange(0, 15).Draw(t, "switches")))
		for i, p := range a.Entries {
			require.Equal(t, entries[i].Name, p.Name)
			require.LessOrEqual(t, p.Frame.LowerBound, p.Frame.Bytes)
			require.LessOrEqual(t, p.Frame.Bytes, a.Bytes)
		}
	})
}
