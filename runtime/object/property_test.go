package object_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/tests_go/model"
)

// seeded makes a run replayable: the seed that rapid would choose on its own is
// chosen here, so that it can be printed when nothing fails, too.
func seeded(t *testing.T, checks, steps string) {
	seed := flag.Lookup("rapid.seed")
	if seed.Value.String() == "0" {
		require.NoError(t, flag.Set("rapid.seed", time.Now().Format("150405000000")))
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps, "rapid.nofailfile": "true"} {
		if f := flag.Lookup(name); f.Value.String() == f.DefValue {
			require.NoError(t, flag.Set(name, value))
		}
	}
	t.Logf("replay with -rapid.seed=%v", seed.Value)
}

// TestAgainstModel runs random sequences through a context and compares every
// reply with the model's.
func TestAgainstModel(t *testing.T) {
	seeded(t, "200", "60")
	host := newHost(t)
	rapid.Check(t, func(r *rapid.T) {
		m := model.New(host.adopts, false)
		r.Repeat(m.Actions())
		m.Close()
		machine := newMachine(t, host, 1)
		model.Compare(r, "context", m.Steps, machine.Run(m.Steps))
	})
}

// TestTwoContextsAgainstModel lets a second context count what the first owns.
func TestTwoContextsAgainstModel(t *testing.T) {
	seeded(t, "200", "60")
	host := newHost(t)
	rapid.Check(t, func(r *rapid.T) {
		m := model.New(host.adopts, true)
		r.Repeat(m.Actions())
		m.Close()
		machine := newMachine(t, host, 2)
		model.Compare(r, "contexts", m.Steps, machine.Run(m.Steps))
	})
}

// newMachine opens fresh contexts; they are parked and adopted again by the next.
func newMachine(t *testing.T, host *host, threads int) *model.Machine {
	m := &model.Machine{Malloc: host.malloc, Free: host.free}
	destroyed := int64(0)
	var contexts []*object.Context
	for range threads {
		c, st := object.NewContext()
		require.Equal(t, status.OK, st)
		contexts = append(contexts, c)
	}
	types := defineTypes(t, contexts[0], &destroyed)
	for _, c := range contexts {
		m.Doors = append(m.Doors, model.Door{
			Call:   calls(c, types),
			Status: func() int32 { return c.Status },
			Clear:  func() { c.Status = 0 },
		})
	}
	m.Stats = func() [5]int64 {
		s := object.ReadStats()
		return [5]int64{int64(s.LiveObjects), int64(s.LiveBytes), int64(s.ForeignLive), destroyed, int64(s.Skipped)}
	}
	m.Run([]model.Step{{Line: "baseline"}})
	t.Cleanup(func() {})
	return m
}
