package object_test

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/tests_go/model"
)

// TestAgainstModel runs random sequences through a context and compares every
// reply with the model's.
func TestAgainstModel(t *testing.T) { checkAgainstModel(t, 1) }

// TestTwoContextsAgainstModel lets a second context count what the first owns.
func TestTwoContextsAgainstModel(t *testing.T) { checkAgainstModel(t, 2) }

func checkAgainstModel(t *testing.T, contexts int) {
	seeded(t)
	defineTypes(t)
	rapid.Check(t, func(r *rapid.T) {
		m := model.New(true, contexts > 1)
		r.Repeat(m.Actions())
		m.Close()
		machine, done := newMachine(t, contexts)
		defer done()
		model.Compare(r, "context", m.Steps, machine.Run(m.Steps))
		require.NoError(r, object.Registry().Check())
		require.NoError(r, object.Check(nil))
	})
}

// seeded makes a run replayable: the seed that rapid would choose on its own is
// chosen here, so that it can be printed when nothing fails, too.
func seeded(t *testing.T) {
	checks := "2000"
	if memory.Instrumented {
		checks = "40"
	}
	set := func(name, value, unless string) {
		if f := flag.Lookup(name); f.Value.String() == unless {
			require.NoError(t, flag.Set(name, value))
		}
	}
	set("rapid.seed", strconv.FormatInt(time.Now().UnixMilli(), 10), "0")
	set("rapid.checks", checks, flag.Lookup("rapid.checks").DefValue)
	set("rapid.steps", "60", flag.Lookup("rapid.steps").DefValue)
	set("rapid.nofailfile", "true", "false")
	t.Logf("replay with -rapid.seed=%v", flag.Lookup("rapid.seed").Value)
}

// newMachine opens fresh contexts. They are parked when the sequence is over and
// adopted by the next.
func newMachine(t *testing.T, contexts int) (m *model.Machine, done func()) {
	m = &model.Machine{Malloc: inUse.malloc, Free: inUse.free, Stats: readStats}
	var all []*object.Context
	for range contexts {
		c, st := object.NewContext()
		require.Equal(t, status.OK, st)
		all = append(all, c)
		m.Paths = append(m.Paths, model.Path{
			Call:   acting(c, calls(c)),
			Status: func() int32 { return c.Status },
			Clear:  func() { c.Status = 0 },
		})
	}
	m.Run([]model.Step{{Line: "baseline"}})
	return m, func() {
		for _, c := range all {
			c.Finish()
		}
	}
}

func readStats() [5]int64 {
	s := object.ReadStats()
	return [5]int64{int64(s.LiveObjects), int64(s.LiveBytes), int64(s.ForeignLive), destroyed, int64(s.Skipped)}
}

// host is the memory that stands in for malloc. It knows what is in use, so that
// nothing is freed twice.
type host struct{ blocks map[uintptr][]byte }

// inUse is shared by the tests of the process, since Open takes its functions once.
var inUse = host{blocks: map[uintptr][]byte{}}

func init() {
	object.Open(object.Config{
		Free:       inUse.free,
		UsableSize: func(p uintptr) (uintptr, bool) { return uintptr(len(inUse.blocks[p])), true },
	})
}

func (h *host) malloc(n uintptr) uintptr {
	block := make([]byte, n)
	p := layout.Address(&block[0])
	h.blocks[p] = block
	return p
}

func (h *host) free(p uintptr) {
	if h.blocks[p] == nil {
		panic("freed twice, or never allocated")
	}
	delete(h.blocks, p)
}

var (
	types     []uint32
	badTypes  []object.Type
	destroyed int64
	current   *object.Context // whose call is running, for destructors
)

// defineTypes defines model.Types, once for the process.
func defineTypes(t *testing.T) {
	if types != nil {
		return
	}
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	defer c.Finish()
	for _, described := range model.Types {
		typ := object.Type{Name: "model", Size: uintptr(described.Bytes), OnDestroy: destructor(described.Destroy)}
		for _, offset := range described.Offsets {
			typ.Offsets = append(typ.Offsets, uintptr(offset))
		}
		id, st := c.Define(typ)
		require.Equal(t, status.OK, st)
		types = append(types, id)
	}
	badTypes = []object.Type{
		{Size: 0}, {Size: 16, Offsets: []uintptr{4}}, {Size: 16, Offsets: []uintptr{16}},
		{Size: 24, Offsets: []uintptr{8, 8}}, {Size: 4, Offsets: []uintptr{0}},
	}
}

func destructor(d model.Destructor) func(uintptr) {
	switch d {
	case model.NoDestructor:
		return nil
	case model.UsesScope:
		return func(uintptr) {
			destroyed++
			current.EnterScope()
			current.New(64)
			current.ExitScope()
		}
	case model.Registers:
		return func(uintptr) {
			destroyed++
			current.New(32)
		}
	}
	return func(uintptr) { destroyed++ }
}
