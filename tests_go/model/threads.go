package model

// thread is what belongs to one thread: a stack of references, the marks in it,
// the arena and the frames.
type thread struct {
	id      int
	entries []*object // nil: taken out
	marks   []*mark
	arena   arena
	frames  int // bytes of the frame stack in use
}

type markKind int

const (
	scope markKind = iota
	function
	planned
)

// mark is an open scope, function or planned frame.
type mark struct {
	kind    markKind
	entries int // of the thread when it was opened
	arena   int // offset when it was opened
	frames  int // bytes of the frame stack then
	slots   []*region
	regions []*region // memory that dies with it
	pinned  bool      // planned: a slot was filled above it
}

type arena struct {
	active        bool
	top, capacity int
}

// region is memory of a frame or of an arena.
type region struct {
	thread *thread
	bytes  int
	offset int // in the arena; -1: in a frame
	end    int // in a frame: bytes of the frame stack up to its end
	live   bool
	// maybe: dead, but the frame stack has grown over it or was not taken back, and
	// nobody promises what lies where.
	maybe bool
}

func (r *region) alive() bool {
	if r.offset < 0 {
		return r.live
	}
	a := r.thread.arena
	return a.active && r.offset < a.top
}

// depth counts scopes and functions.
func (t *thread) depth() int {
	n := 0
	for _, k := range t.marks {
		if k.kind != planned {
			n++
		}
	}
	return n
}

func (t *thread) open(k markKind) *mark {
	opened := &mark{kind: k, entries: len(t.entries), arena: t.arena.top, frames: t.frames}
	t.marks = append(t.marks, opened)
	return opened
}

// function returns the index of the newest function's mark, -1 without one.
func (t *thread) function() int {
	for i := len(t.marks) - 1; i >= 0; i-- {
		if t.marks[i].kind == function {
			return i
		}
	}
	return -1
}

// find returns the newest entry of an object that the current function's scopes
// hold, -1 when there is none.
func (t *thread) find(o *object) int {
	floor := 0
	if f := t.function(); f >= 0 {
		floor = t.marks[f].entries
	}
	for i := len(t.entries) - 1; i >= floor; i-- {
		if t.entries[i] == o {
			return i
		}
	}
	return -1
}

// close leaves marks until n are open.
func (m *Model) close(n int) {
	t := m.me
	for len(t.marks) > n {
		k := t.marks[len(t.marks)-1]
		m.unwind(k.entries)
		t.marks = t.marks[:len(t.marks)-1]
		t.arena.top = min(t.arena.top, k.arena)
		if k.kind == function || k.kind == planned && !k.pinned {
			t.frames = k.frames
		}
		for _, r := range k.regions {
			r.live, r.maybe = false, k.pinned
		}
	}
}

// unwind releases entries, newest first. Destructors may add some meanwhile.
func (m *Model) unwind(down int) {
	for t := m.me; len(t.entries) > down; {
		o := t.entries[len(t.entries)-1]
		t.entries = t.entries[:len(t.entries)-1]
		if o == nil {
			continue
		}
		switch o.state {
		case live:
			m.release(o)
		case zero:
			m.skipped.max++
		case ended:
			m.skipped.max++
			if o.kind != foreign {
				m.skipped.min++
			}
		}
	}
}

// grow notes that the frame stack takes new memory.
func (m *Model) grow() {
	for _, h := range m.handles {
		if r := h.region; r != nil && r.offset < 0 && !r.live {
			r.maybe = true
		}
	}
}

// take takes bytes of the frame stack, aligned to 64.
func (t *thread) take(bytes int) { t.frames = (t.frames+63)&^63 + bytes }

// addRegion makes a frame region that dies with a mark.
func (m *Model) addRegion(k *mark, bytes int) *region {
	m.grow()
	m.me.take(bytes)
	r := &region{thread: m.me, bytes: bytes, offset: -1, end: m.me.frames, live: true}
	k.regions = append(k.regions, r)
	return r
}
