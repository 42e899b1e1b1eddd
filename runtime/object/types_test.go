package object

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

func define(t *testing.T, c *Context, typ Type) uint32 {
	t.Helper()
	n, st := c.Define(typ)
	require.Equal(t, status.OK, st)
	return n
}

func TestEqualDefinitionsShareANumber(t *testing.T) {
	c := newContext(t)
	pair := Type{Name: "shared pair", Size: 32, Offsets: []uintptr{0, 16}, Destructor: 4096}
	n, defined := define(t, c, pair), process.types.count.Load()
	for range 100_000 {
		require.Equal(t, n, define(t, c, pair))
	}
	turned, none := pair, pair
	turned.Offsets = []uintptr{16, 0}
	require.Equal(t, n, define(t, c, turned), "the order of offsets")
	require.Equal(t, defined, process.types.count.Load())
	none.Offsets = nil
	plain := define(t, c, none)
	none.Offsets = []uintptr{}
	require.Equal(t, plain, define(t, c, none), "no offsets")

	shape := VecShape{Length: 8, Capacity: 16, NumberBytes: 8, ElementBytes: 4}
	vec := Type{Name: "shared vec", Size: 24, Vec: &shape}
	n = define(t, c, vec)
	same := shape
	vec.Vec = &same
	require.Equal(t, n, define(t, c, vec))
}

// TestUnequalDefinitionsHaveNumbersOfTheirOwn changes one part at a time.
func TestUnequalDefinitionsHaveNumbersOfTheirOwn(t *testing.T) {
	c := newContext(t)
	shape := VecShape{Length: 8, Capacity: 16, NumberBytes: 8, ElementBytes: 8}
	change := func(to func(*VecShape)) *VecShape {
		changed := shape
		to(&changed)
		return &changed
	}
	quiet := func(uintptr) {}
	seen := map[uint32]int{}
	for i, typ := range []Type{
		{Name: "a", Size: 64},
		{Name: "b", Size: 64},
		{Name: "", Size: 64},
		{Name: "a", Size: 72},
		{Name: "a", Size: 64, Offsets: []uintptr{0}},
		{Name: "a", Size: 64, Offsets: []uintptr{8}},
		{Name: "a", Size: 64, Offsets: []uintptr{0, 8}},
		{Name: "a", Size: 64, Destructor: 4096},
		{Name: "a", Size: 64, Destructor: 8192},
		{Name: "a", Size: 64, Destructor: 4096, Context: 4096},
		{Name: "a", Size: 64, OnDestroy: quiet},
		{Name: "a", Size: 64, OnDestroy: quiet}, // functions cannot be compared
		{Name: "a", Size: 64, Vec: &shape},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.Data = 24 })},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.Length = 24 })},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.Capacity = 24 })},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.NumberBytes = 4 })},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.ElementBytes = 16 })},
		{Name: "a", Size: 64, Vec: change(func(s *VecShape) { s.Pointers = true })},
	} {
		n := define(t, c, typ)
		before, twice := seen[n]
		require.False(t, twice, "definitions %d and %d have the number %d", before, i, n)
		seen[n] = i
	}
}

// TestTypesRunOut lowers the limit, and raises it again.
func TestTypesRunOut(t *testing.T) {
	c := newContext(t)
	known := define(t, c, Type{Name: "known", Size: 8})
	limit := process.types.limit
	process.types.limit = process.types.count.Load() + 2*typeChunk
	for n := range uintptr(2 * typeChunk) {
		define(t, c, Type{Name: "many", Size: n + 1})
	}
	_, st := c.Define(Type{Name: "one more", Size: 8})
	require.Equal(t, status.Limit, st)
	require.Equal(t, known, define(t, c, Type{Name: "known", Size: 8}), "an equal definition needs no room")
	process.types.limit = limit
	n := define(t, c, Type{Name: "one more", Size: 8})
	require.Equal(t, "one more", process.types.get(n).Name)
	require.Nil(t, process.types.get(n+1))
	require.Nil(t, process.types.get(layout.TypeFirstUser-1))
	types := ReadTypes()
	require.Equal(t, fmt.Sprint(n), fmt.Sprint(types[len(types)-1].Type))
}
