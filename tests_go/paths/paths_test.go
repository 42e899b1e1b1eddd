// Package paths holds the differential test of the two paths: random sequences of
// operations go through the fast path, through the slow one and through a model,
// and every reply, count and byte in use has to be the same.
//
//	go test ./tests_go/paths -rapid.checks=10000
//	go test ./tests_go/paths -run TestPaths -rapid.seed=<as printed>
package paths

import (
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/tests_go/model"
)

// TestPaths runs sequences on one thread.
func TestPaths(t *testing.T) { comparePaths(t, false) }

// TestPathsTwoThreads lets a second thread count what the first one owns.
func TestPathsTwoThreads(t *testing.T) { comparePaths(t, true) }

// TestWildPrograms breaks every promise that a program makes, on two threads. Then
// replies are nobody's to tell, but each call has to return, without the status of a
// defect, and the process has to live.
func TestWildPrograms(t *testing.T) {
	program := compileDriver(t)
	seeded(t)
	for _, d := range []*driver{newDriver(t, program, "fast path", "1"), newDriver(t, program, "slow path", "0")} {
		rapid.Check(t, func(r *rapid.T) {
			m := model.New(false, true)
			m.Wild = true
			r.Repeat(m.Actions())
			survive(r, d, append(m.Steps, model.Abandon...))
		})
	}
}

// defect is TL_E_INTERNAL.
const defect = "18"

func survive(t *rapid.T, d *driver, steps []model.Step) {
	replies, err := d.run(steps)
	for i, reply := range replies {
		if words := strings.Fields(reply); len(words) > 1 && words[1] == defect {
			d.stop()
			t.Fatalf("%s: %q\n%s", d.name, reply, model.Show(steps, replies, i))
		}
	}
	if err != nil {
		t.Fatalf("%s: %v at\n%s", d.name, err, model.Show(steps, replies, len(replies)))
	}
}

func comparePaths(t *testing.T, remote bool) {
	program := compileDriver(t)
	fast, slow := newDriver(t, program, "fast path", "1"), newDriver(t, program, "slow path", "0")
	seeded(t)
	steps := 0
	rapid.Check(t, func(r *rapid.T) {
		m := model.New(true, remote)
		r.Repeat(m.Actions())
		m.Close()
		steps += len(m.Steps)
		compare(r, m.Steps, fast, slow)
	})
	t.Logf("%d steps agree", steps)
}

// compare runs a sequence through both paths. Drivers whose replies were wrong are
// in a state that nobody knows, so they are not used again.
func compare(t *rapid.T, steps []model.Step, paths ...*driver) {
	good := false
	defer func() {
		for _, d := range paths {
			if !good {
				d.stop()
			}
		}
	}()
	var all [2][]string
	for i, d := range paths {
		replies, err := d.run(steps)
		all[i] = replies
		model.Compare(t, d.name, steps[:len(replies)], replies)
		if err != nil {
			t.Fatalf("%s: %v at\n%s", d.name, err, model.Show(steps, replies, len(replies)))
		}
	}
	for i, s := range steps {
		if !s.Same(all[0][i], all[1][i]) {
			t.Fatalf("fast path %q, slow path %q\n%s", all[0][i], all[1][i], model.Show(steps, all[1], i))
		}
	}
	good = true
}

// seeded makes a run replayable: the seed that rapid would choose on its own is
// chosen here, so that it can be printed when nothing fails, too.
func seeded(t *testing.T) {
	set := func(name, value, unless string) {
		if f := flag.Lookup(name); f.Value.String() == unless {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	set("rapid.seed", strconv.FormatInt(time.Now().UnixMilli(), 10), "0")
	set("rapid.checks", "1000", flag.Lookup("rapid.checks").DefValue)
	set("rapid.steps", "60", flag.Lookup("rapid.steps").DefValue)
	set("rapid.nofailfile", "true", "false")
	t.Logf("replay with -rapid.seed=%v", flag.Lookup("rapid.seed").Value)
}

// A consumer that pops an object twice, drops one of the references and acquires another one holds it. Floats outlived
// the references that a release of another thread's object took: free and the next registration took the held one.
func TestPathsFloatsGoWithTheLastReferences(t *testing.T) {
	popped := "vec_new 0 0\n@1 alloc 1 24\n@1 enter_scope\n@1 register h1\n@1 vec_push h0 h1\n@1 vec_push h0 h1\n" +
		"@1 exit_scope\n@0 vec_pop 2 h0\n@0 vec_pop 3 h0\n"
	replies(t, popped+"@0 release h1\n@0 acquire h1\n@0 free h1\n@0 refcount h1\npoll\n@0 free h1\n@0 release h1\n@0 free h1\n",
		"0 0", "1 0", "17 17", "2 0", ".", "17 17", "0 0", "0 0")
}

// replies runs steps through both paths and compares the last replies.
func replies(t *testing.T, lines string, want ...string) {
	var steps []model.Step
	for line := range strings.Lines(lines) {
		steps = append(steps, model.Step{Line: strings.TrimSuffix(line, "\n")})
	}
	program := compileDriver(t)
	for _, path := range []string{"1", "0"} {
		got, err := newDriver(t, program, "TL_FASTPATH="+path, path).run(steps)
		require.NoError(t, err)
		require.Equal(t, want, got[len(got)-len(want):], "TL_FASTPATH=%s", path)
	}
}
