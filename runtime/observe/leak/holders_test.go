package leak

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// heldWhen returns what a trace that ends now tells of who holds what, by address.
func heldWhen(t *testing.T, c *object.Context) map[string][]string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.json")
	_, err := trace.Start(path, trace.Options{})
	require.NoError(t, err)
	require.Equal(t, status.OK, TraceHolders(c))
	_, err = trace.Stop()
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		TraceEvents []struct {
			Name string
			Args struct{ Address, By, From string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	held := map[string][]string{}
	for _, e := range file.TraceEvents {
		if e.Name == "held" {
			held[e.Args.Address] = append(held[e.Args.Address], e.Args.By+" "+e.Args.From)
		}
	}
	return held
}

func TestTheEndOfATraceTellsWhoHoldsWhat(t *testing.T) {
	c := context(t)
	typ, st := c.Define(object.Type{Name: "held node", Size: 24, Offsets: []uintptr{8, 16}})
	require.Equal(t, status.OK, st)
	store := func(p, offset, value uintptr) {
		require.Equal(t, status.OK, c.Acquire(value))
		*layout.At[uintptr](p + offset) = value
	}
	outside := c.New(8)
	require.Equal(t, status.OK, c.FunctionEnter(0))
	require.Equal(t, status.OK, c.EnterScope())
	root, acquired := c.ObjectNew(typ), c.New(8)
	require.Equal(t, status.OK, c.Acquire(acquired))

	require.Equal(t, status.OK, c.EnterScope())
	vec, near, far, base := c.VecNew(4), c.New(8), c.New(8), tensor.Empty(c, 0, 0, 1, layout.Address(&[]int64{10}[0]))
	elements := []uintptr{c.ObjectNew(typ), c.ObjectNew(typ)}
	store(root, 8, vec)
	for _, p := range elements {
		require.Equal(t, status.OK, c.VecPush(vec, p))
		store(p, 8, near) // which the root has too: the shorter path is told
	}
	store(root, 16, near)
	store(elements[1], 16, far)
	view := tensor.View(c, base, layout.ViewSlice, 0, 0, 2, 1)
	require.Equal(t, status.OK, c.Acquire(view))
	ring := c.ObjectNew(typ)
	store(ring, 16, ring)
	require.Equal(t, status.OK, c.ExitScope())
	floating, immortal := c.Alloc(8), c.Alloc(8)
	require.Equal(t, status.OK, c.MakeImmortal(immortal))

	held := heldWhen(t, c)
	table := *layout.At[layout.VecPayload](vec)
	for p, want := range map[uintptr][]string{
		outside:           {"outside of scopes "},
		root:              {"scope "},
		acquired:          {"scope ", "a reference that was acquired "},
		vec:               {fmt.Sprintf("field at offset 8 %#x", root)},
		table.Data.Object: {fmt.Sprintf("table %#x", vec)},
		elements[0]:       {fmt.Sprintf("element 0 %#x", vec)},
		elements[1]:       {fmt.Sprintf("element 1 %#x", vec)},
		near:              {fmt.Sprintf("field at offset 16 %#x", root)},
		far:               {fmt.Sprintf("field at offset 16 %#x", elements[1])},
		view:              {"a reference that was acquired "},
		base:              {fmt.Sprintf("base %#x", view)},
		ring:              {what[Cycle] + " "},
		floating:          {what[Floating] + " "},
		immortal:          {"immortal "},
	} {
		assert.Equal(t, want, held[fmt.Sprintf("%#x", p)])
	}

	require.Equal(t, status.OK, c.Free(floating))
	require.Equal(t, status.OK, c.Release(view))
	require.Equal(t, status.OK, c.Release(acquired))
	require.Equal(t, status.OK, c.FunctionExit())
	require.EqualValues(t, 1, c.CollectCycles())
}
