package model

import (
	"fmt"
	"strconv"
	"strings"
)

// Matches tells whether a reply is one that the step allows.
func (s Step) Matches(reply string) bool {
	if reply == reused {
		return s.Stale
	}
	want, got := strings.Fields(s.Want), strings.Fields(reply)
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !matchToken(want[i], got[i]) {
			return false
		}
	}
	return true
}

// Same tells whether the replies of two paths agree, where the model does not leave it to chance.
func (s Step) Same(a, b string) bool {
	if a == b || s.Stale && (a == reused || b == reused) {
		return true
	}
	want, one, other := strings.Fields(s.Want), strings.Fields(a), strings.Fields(b)
	for i := range want {
		if len(one) != len(want) || len(other) != len(want) || one[i] != other[i] && !isOpen(want[i]) {
			return false
		}
	}
	return true
}

// isOpen tells whether the model leaves a token to chance: memory of freed objects is used again in another order by
// each path, so a dead address may lie inside of a new object behind one of them, and entries of it are passed over.
func isOpen(want string) bool {
	return want == anything || strings.Contains(want, "|") || strings.Contains(want, "..")
}

// anything is the token for what neither model nor other path have to agree with.
const anything = "~"

const reused = "reused"

func matchToken(want, got string) bool {
	if want == "*" || want == anything {
		return true
	}
	for _, one := range strings.Split(want, "|") {
		if one == got || inSpan(one, got) {
			return true
		}
	}
	return false
}

func inSpan(want, got string) bool {
	low, high, found := strings.Cut(want, "..")
	if !found {
		return false
	}
	from, err1 := strconv.ParseInt(low, 10, 64)
	to, err2 := strconv.ParseInt(high, 10, 64)
	n, err3 := strconv.ParseInt(got, 10, 64)
	return err1 == nil && err2 == nil && err3 == nil && from <= n && n <= to
}

// Failer is the part of testing.TB and rapid.T that Compare uses.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Compare fails at the first reply that is not right, showing the steps up to it.
func Compare(t Failer, who string, steps []Step, replies []string) {
	t.Helper()
	for i, s := range steps {
		switch {
		case i >= len(replies):
			t.Fatalf("%s: no reply\n%s", who, Show(steps, replies, i))
		case !s.Matches(replies[i]):
			t.Fatalf("%s: %q, want %q\n%s", who, replies[i], s.Want, Show(steps, replies, i))
		}
	}
}

// Show returns the steps up to one of them with what was and should be replied.
func Show(steps []Step, replies []string, last int) string {
	var b strings.Builder
	for i, s := range steps[:last+1] {
		reply := "?"
		if i < len(replies) {
			reply = replies[i]
		}
		if s.Want != "." || reply != "." {
			fmt.Fprintf(&b, "    %-36s -> %-14s want %s\n", s.Line, reply, s.Want)
		}
	}
	return b.String()
}
