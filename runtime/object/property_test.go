package object_test

import (
	"flag"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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
	seeded(t, "150", "60")
	defineTypes(t)
	host := newHost()
	rapid.Check(t, func(r *rapid.T) {
		m := model.New(host.adopts, contexts > 1)
		r.Repeat(m.Actions())
		m.Close()
		machine, done := newMachine(t, host, contexts)
		defer done()
		model.Compare(r, "context", m.Steps, machine.Run(m.Steps))
		require.NoError(r, object.Registry().Check())
	})
}

// seeded makes a run replayable: the seed that rapid would choose on its own is
// chosen here, so that it can be printed when nothing fails, too.
func seeded(t *testing.T, checks, steps string) {
	seed := flag.Lookup("rapid.seed")
	if seed.Value.String() == "0" {
		require.NoError(t, flag.Set("rapid.seed", strconv.FormatInt(time.Now().UnixMilli(), 10)))
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps, "rapid.nofailfile": "true"} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			require.NoError(t, flag.Set(name, value))
		}
	}
	t.Logf("replay with -rapid.seed=%v", seed.Value)
}

// newMachine opens fresh contexts. They are parked when the sequence is over and
// adopted by the next.
func newMachine(t *testing.T, host *host, contexts int) (m *model.Machine, done func()) {
	m = &model.Machine{Malloc: host.malloc, Free: host.free, Stats: readStats}
	var all []*object.Context
	for range contexts {
		c, st := object.NewContext()
		require.Equal(t, status.OK, st)
		all = append(all, c)
		m.Doors = append(m.Doors, model.Door{
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

// host is the memory that stands in for malloc: blocks of one slab, each used once.
type host struct {
	adopts bool
	slab   []byte
	used   uintptr
}

func newHost() *host { return &host{} }

func (h *host) malloc(n uintptr) uintptr { return 0 }

func (h *host) free(uintptr) {}

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
