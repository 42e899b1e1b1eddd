package main

import (
	"fmt"
	"strings"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// A story is a sequence of calls and what they do to the counts of some objects.
type story struct {
	name    string
	title   string
	objects []string // their names, a row of the picture each
	steps   []step
}

// A step is one call. holders tells, for each object, who holds a reference
// afterwards, from the bottom of the picture up.
type step struct {
	who     string // the thread or function that makes the call
	verb    string
	detail  string
	do      func(w *world) status.Status
	holders [][]string
}

// Holders of these names are drawn in ways of their own.
const (
	floating = "floating"
	inbox    = "A's inbox" // a dropped reference that waits; it does not count
)

// world is what the steps of a story act on.
type world struct {
	a, b *object.Context // two threads
	p    []uintptr       // the objects, 0 before they exist
	typ  uint32          // a type whose first field is a reference
}

func (s *story) play() error {
	w := &world{p: make([]uintptr, len(s.objects))}
	for _, c := range []**object.Context{&w.a, &w.b} {
		made, st := object.NewContext()
		if st != status.OK {
			return st
		}
		*c = made
		defer made.Finish()
	}
	typ, st := w.a.Define(object.Type{Name: "Point", Size: 16, Offsets: []uintptr{0}})
	if st != status.OK {
		return st
	}
	w.typ = typ
	for _, step := range s.steps {
		if st := step.do(w); st != status.OK {
			return fmt.Errorf("%s %s: %w", step.verb, step.detail, st)
		}
		if err := w.compare(s, step); err != nil {
			return err
		}
	}
	return nil
}

// compare holds the picture to the runtime. A dead object's count is -1.
func (w *world) compare(s *story, step step) error {
	for i, holders := range step.holders {
		if w.p[i] == 0 && len(holders) == 0 {
			continue
		}
		want := int64(0)
		for _, h := range holders {
			if h != inbox {
				want++
			}
		}
		if len(holders) == 0 {
			want = -1
		}
		if got := w.b.Refcount(w.p[i]); got != want {
			return fmt.Errorf("after %s %s: %s is held by %q, the runtime counts %d",
				step.verb, step.detail, s.objects[i], strings.Join(holders, ", "), got)
		}
	}
	return nil
}
