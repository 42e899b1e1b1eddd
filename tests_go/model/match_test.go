package model

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, reply string
		matches     bool
	}{
		{"0 0", "0 0", true},
		{"0 0", "0 4", false},
		{"0 0", "0", false},
		{"2|4 2|4", "4 4", true},
		{"2|4 2|4", "3 3", false},
		{"10..20 ~", "12 9", true},
		{"10..20 *", "21 9", false},
		{"-1 4", "-1 4", true},
		{"=3 0", "=4 0", false},
		{"0 0", "reused", false},
	} {
		if got := (Step{Want: c.want}).Matches(c.reply); got != c.matches {
			t.Errorf("want %q, reply %q: %v", c.want, c.reply, got)
		}
	}
	if !(Step{Want: "4 4", Stale: true}).Matches("reused") {
		t.Error("a stale operand may be reused")
	}
}

func TestSame(t *testing.T) {
	step := Step{Want: "0..9 ~ 3|4 7"}
	if !step.Same("3 1 3 7", "4 2 4 7") || step.Same("3 1 3 7", "3 1 3 8") || step.Same("3 1 3 7", "3 1 3") {
		t.Error("paths differ in what nobody has to agree with, and in nothing else")
	}
}

type failure struct{ text string }

func (f *failure) Helper()                        {}
func (f *failure) Fatalf(format string, _ ...any) { f.text = format }

// TestCompareNotices: a comparison that cannot fail would test nothing.
func TestCompareNotices(t *testing.T) {
	m := New(false, false)
	m.enterScope(nil)
	m.exitScope(nil)
	right, wrong := []string{"0 0", "0 0"}, []string{"0 0", "7 7"}
	var f failure
	if Compare(&f, "path", m.Steps, right); f.text != "" {
		t.Error("a right reply was refused")
	}
	if Compare(&f, "path", m.Steps, wrong); f.text == "" {
		t.Error("a wrong reply was accepted")
	}
	if shown := Show(m.Steps, wrong, 1); !strings.Contains(shown, "exit_scope") {
		t.Errorf("the failing step is missing:\n%s", shown)
	}
}

// TestHandOver walks the example of the interface's documentation through the model.
func TestHandOver(t *testing.T) {
	m := New(false, false)
	m.enterScope(nil)
	m.floating(64)
	o := m.handles[0].object
	m.enlist(o)
	if o.count != 1 || o.floats != 0 {
		t.Fatalf("register sinks: count %d, floats %d", o.count, o.floats)
	}
	if m.takeOut(o) != "0" || o.count != 1 || o.floats != 1 {
		t.Fatalf("unregister floats: count %d, floats %d", o.count, o.floats)
	}
	m.enlist(o)
	o.retain()
	m.exitScope(nil)
	if o.state != live || o.count != 1 {
		t.Fatalf("the caller's reference is left: count %d", o.count)
	}
	if m.release(o); o.state != ended {
		t.Fatal("nobody holds it any more")
	}
}
