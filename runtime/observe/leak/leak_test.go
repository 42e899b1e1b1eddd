package leak

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

func context(t *testing.T) *object.Context {
	t.Helper()
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	require.Equal(t, status.OK, track.SetPeriod(1))
	c.HonourTracking()
	t.Cleanup(func() {
		require.Equal(t, status.OK, track.SetPeriod(0))
		c.Finish()
	})
	return c
}

func collect(t *testing.T, c *object.Context, since uint64) *Report {
	t.Helper()
	r, st := Collect(c, since)
	require.Equal(t, status.OK, st)
	return r
}

// A Go program's own stack is the site.
func forgetful(c *object.Context) uintptr { return c.Alloc(40) }

func TestGoProgramsSeeTheirLines(t *testing.T) {
	c := context(t)
	mark := track.Count()
	p := forgetful(c)
	r := collect(t, c, mark)
	require.Equal(t, [2]uint64{1, 40}, [2]uint64{uint64(r.Count), r.Bytes})
	require.Equal(t, Floating, r.Groups[0].Reason)
	text := r.Text()
	require.Contains(t, text, "Direct leak of 40 byte(s) in 1 object(s) allocated from:\n    #0 0x")
	require.Contains(t, text, "leak.forgetful ")
	require.Contains(t, text, "leak_test.go:")
	require.True(t, strings.HasSuffix(text, "SUMMARY: LeakSanitizer: 40 byte(s) leaked in 1 allocation(s).\n"))
	require.Equal(t, status.OK, c.Free(p))
	r = collect(t, c, mark)
	require.Zero(t, r.Count)
	require.Empty(t, r.Text())
}

// A list has what leaked when it was made: what is younger, has left its scope since, or was acquired once more is
// no leak, nor is what it refers to.
func TestWhatIsNotOnAListIsNoLeak(t *testing.T) {
	c := context(t)
	mark := track.Count()
	require.Equal(t, status.OK, c.EnterScope())
	held, base := c.New(24), c.New(32)
	c.Acquire(held)
	c.Acquire(base)
	require.Equal(t, status.OK, c.ExitScope())
	require.Equal(t, status.OK, c.EnterScope())
	inScope := c.New(16)
	list, st := ListOf(c, nil)
	require.Equal(t, status.OK, st)
	young := c.VecNew(1)
	require.Equal(t, status.OK, c.VecPush(young, base))
	c.Release(base)
	for _, p := range []uintptr{held, inScope, young} {
		c.Acquire(p)
	}
	require.Equal(t, status.OK, c.ExitScope())
	require.EqualValues(t, 4, collect(t, c, mark).Count)
	r, st := CollectOf(c, mark, list, held)
	require.Equal(t, status.OK, st)
	require.Zero(t, r.Count, "%s", r.Text())
	require.EqualValues(t, 4, r.Held.Count)
	r, st = CollectOf(c, mark, list)
	require.Equal(t, status.OK, st)
	require.Equal(t, [2]uint64{1, 24}, [2]uint64{uint64(r.Count), r.Bytes})
	for left, known := range [][]uintptr{{held}, nil} {
		again, st := ListOf(c, list, known...)
		require.Equal(t, status.OK, st)
		require.Len(t, again, left, "what the caller has held is open no more")
	}
	for _, p := range []uintptr{held, held, inScope, young} {
		require.Equal(t, status.OK, c.Release(p))
	}
	c.Drain()
	require.Zero(t, collect(t, c, mark).Count)
}

// Neither a slot's bytes nor those of a tensor's header count, unless there is nothing else. The period is whether
// allocations are recorded.
func TestBytesAreThoseThatWereAskedFor(t *testing.T) {
	c := context(t)
	typ, st := c.Define(object.Type{Name: "asked", Size: 24})
	require.Equal(t, status.OK, st)
	for _, period := range []uint64{1, 0} {
		require.Equal(t, status.OK, track.SetPeriod(period))
		c.HonourTracking()
		require.Equal(t, status.OK, c.EnterScope())
		want, live := map[uint64]string{24: "asked", layout.TensorHeaderBytes: "tensor"}, []uintptr{c.ObjectNew(typ)}
		for _, n := range []int64{1, 21, 1000, 300000} {
			want[uint64(4*n)] = "tensor"
			live = append(live, tensor.Empty(c, 0, 0, 1, layout.Address(&n)))
		}
		live = append(live, tensor.View(c, live[3], layout.ViewSlice, 0, 0, 10, 1))
		for _, p := range live {
			require.Equal(t, status.OK, c.Acquire(p))
		}
		require.Equal(t, status.OK, c.ExitScope())
		got := map[uint64]string{}
		require.Equal(t, status.OK, EachLive(c, func(l Live) {
			if slices.Contains(live, l.Address) {
				got[l.Bytes] = l.Type
			}
		}))
		require.Equal(t, want, got)
		for _, p := range slices.Backward(live) {
			require.Equal(t, status.OK, c.Release(p))
		}
	}
}

func TestWhatAScopeHoldsIsNoLeak(t *testing.T) {
	c := context(t)
	mark := track.Count()
	require.Equal(t, status.OK, c.EnterScope())
	p := c.New(64)
	r := collect(t, c, mark)
	require.Zero(t, r.Count)
	require.Equal(t, int64(1), r.Held.Count)
	require.Equal(t, status.OK, c.Acquire(p))
	r = collect(t, c, mark)
	require.Equal(t, Acquired, r.Groups[0].Reason)
	require.Equal(t, status.OK, c.Release(p))
	require.Equal(t, status.OK, c.ExitScope())
}

// A context that is parked in an open scope is what a thread leaves that ends there.
func TestWhatEndedThreadsLeftIsToldAfterItWasReleased(t *testing.T) {
	c := context(t)
	object.Globals().LeakCheck = layout.LeakCheckReport
	defer func() { object.Globals().LeakCheck = layout.LeakCheckOff }()
	before := &Report{}
	before.AddLeftOpen()
	for range 2 {
		ended, st := object.NewContext()
		require.Equal(t, status.OK, st)
		ended.New(32) // at rest: no leak
		require.Equal(t, status.OK, ended.EnterScope())
		shared := ended.New(64)
		require.Equal(t, status.OK, ended.Register(shared)) // a second entry, of the same object
		kept := ended.New(128)
		require.Equal(t, status.OK, ended.Acquire(kept))
		ended.Park()
		c.Reap()
		require.Equal(t, status.OK, c.Release(kept))
	}
	after := &Report{}
	after.AddLeftOpen()
	require.Equal(t, int64(2), after.Count-before.Count)
	require.Equal(t, uint64(128), after.Bytes-before.Bytes)
	require.Equal(t, LeftOpen, after.Groups[0].Reason)
	require.Contains(t, after.Text(), "a thread ended in the open scope that held it")
}

// Names that could be taken for other parts of the report, or write to a terminal, are in quotes.
func TestNamesInQuotes(t *testing.T) {
	for _, name := range []string{"", "a b", "operator new(unsigned long)", "ünïcode", "a;b/c"} {
		require.Equal(t, name, quoted(name, ""))
	}
	for name, want := range map[string]string{"a b": `"a b"`, "a;b": `"a;b"`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`,
		"\xff": `"\xff"`, `say "no"`: `"say \"no\""`, "\u202e": `"\u202e"`} {
		require.Equal(t, want, quoted(name, " ;"))
	}
	g := Group{Type: "a;b", Tag: "x\ny", Site: track.Site{Stack: []uintptr{1}}, Total: Total{1, 8}}
	find := func(uintptr) []Located { return []Located{{Frame: Frame{Function: "f g", File: "/a b.c", Line: 3}}} }
	var b strings.Builder
	g.write(&b, find)
	require.Contains(t, b.String(), "    #0 0x0 in f g \"/a b.c\":3\n    \"a;b\"; nobody took")
	require.Contains(t, b.String(), "; tag \"x\\ny\"\n")
}

func TestGroupsComeInOrder(t *testing.T) {
	group := func(reason Reason, bytes uint64, count int64) Group {
		return Group{Reason: reason, Total: Total{count, bytes}}
	}
	sampled := group(Acquired, 1, 1)
	sampled.Site.Stack = []uintptr{1}
	order := []Group{
		sampled, group(Lent, 90, 1), group(Floating, 80, 2), group(Acquired, 80, 1),
		group(Indirect, 500, 1), group(HandedBack, 900, 1),
	}
	for i := range order[1:] {
		require.Negative(t, before(order[i], order[i+1]), "%d", i)
		require.Positive(t, before(order[i+1], order[i]), "%d", i)
	}
}

// What is inlined comes first, each address is looked up once, and the line that the
// program told is the innermost's.
func TestLinesOfTheSource(t *testing.T) {
	asked := 0
	resolve := Resolve
	Resolve = func(uintptr) Frame { return Frame{Function: "f", Module: "/lib/x.so", Offset: 0x20} }
	InSource = func(f Located) []Located {
		asked++
		return []Located{{Frame{Function: "inlined", File: "a.c", Line: 3}, f.PC},
			{Frame{Function: "f", File: "a.c", Line: 9}, f.PC}}
	}
	defer func() { Resolve, InSource = resolve, func(Located) []Located { return nil } }()
	var b strings.Builder
	find := remembering(lines)
	writeSite(&b, track.Site{Stack: []uintptr{0x10, 0x10}}, find)
	writeSite(&b, track.Site{Stack: []uintptr{0x10}, File: "train.tl", Line: 7}, find)
	f := "#1 0x10 in f a.c:9\n"
	require.Equal(t, "    #0 0x10 in inlined a.c:3\n    "+f+"    #2 0x10 in inlined a.c:3\n    #3 0x10 in f a.c:9\n"+
		"    #0 0x10 in inlined train.tl:7\n    "+f, b.String())
	require.Equal(t, 1, asked)
}

// Two calls on one line are one entry; a line of another file, or another type, is another one.
func TestGroupsOfOneLineAreJoined(t *testing.T) {
	find := func(pc uintptr) []Located {
		return []Located{{Frame{Function: "f", File: "a.c", Line: int(pc >> 4)}, pc}}
	}
	group := func(typ string, count int64, pc uintptr) Group {
		return Group{Total: Total{count, 8}, Type: typ, Site: track.Site{Stack: []uintptr{pc}}}
	}
	all := joined([]Group{group("", 1, 0x10), group("", 2, 0x20), group("", 3, 0x12), group("Vec", 4, 0x11)}, find)
	require.Len(t, all, 3)
	require.Equal(t, Total{4, 16}, all[0].Total)
}

func TestFramesWithoutNames(t *testing.T) {
	var b strings.Builder
	Located{PC: 0x10}.write(&b, 0)
	Located{Frame{Function: "f", Module: "/lib/x.so", Offset: 0x20}, 0x1020}.write(&b, 1)
	Located{Frame{File: "a.tl", Line: 3}, 0x30}.write(&b, 2)
	require.Equal(t,
		"    #0 0x10 (<unknown module>)\n    #1 0x1020 in f (/lib/x.so+0x20)\n    #2 0x30 in <unknown> a.tl:3\n",
		b.String())
	b.Reset()
	Located{Frame: Frame{Function: "load", File: "train.py", Line: 7, Python: true}}.write(&b, 0)
	require.Equal(t, "    #0 in load train.py:7\n", b.String())
	require.Equal(t, "0x10", Located{PC: 0x10}.Place())
	require.Equal(t, "f (x.so+0x20)", Located{Frame: Frame{Function: "f", Module: "/lib/x.so", Offset: 0x20}}.Place())
	require.Equal(t, "f", Located{Frame: Frame{Function: "f", File: "a.c", Line: 3, Module: "/lib/x.so",
		Offset: 0x20}}.Place())
	b.Reset()
	writeSite(&b, track.Site{}, lines)
	require.Equal(t, "    <empty stack>\n", b.String())
}
