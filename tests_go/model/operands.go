package model

import (
	"fmt"

	"pgregory.net/rapid"
)

// handle is a name for an address that a step returned.
type handle struct {
	object  *object
	version int
	bytes   int // of that version
	region  *region
	told    bool // the machine knows that it died
	lost    bool // its memory may belong to an object without a handle
}

// gone reports whether the handle's memory is dead. Arena memory is never
// reported: its offset says what is live.
func (h *handle) gone() bool {
	if h.region != nil {
		return h.region.offset < 0 && !h.region.live
	}
	return h.object.state == ended || h.version != h.object.version
}

// place is what an address is.
type place int

const (
	null         place = iota
	alive              // a live object's start
	awaits             // an object that dec_ref brought to 0
	inside             // within a live object
	dead               // in a dead object, whose slab may be gone and its memory part of another slab
	awaitsInside       // within an object that awaits its end
	unknown            // not of the runtime: a number, static memory, malloc'ed
	hostInside         // within registered malloc'ed memory
	stack              // live memory of a frame or the arena of this thread
	stackDead          // beyond the top of it
	stackMaybe         // nobody promises
	stackOther         // of another thread
)

// operand is an argument that is an address.
type operand struct {
	text   string
	handle int
	at     place
	object *object
	region *region
	stale  bool
}

// refusal returns the status with which every call that wants a live object
// answers, "0" when it does not refuse.
func (o operand) refusal() string {
	switch o.at {
	case awaits:
		if o.object.kind == foreign {
			return "2|4"
		}
		return "4"
	case inside:
		return "3"
	case stackDead:
		return "4"
	case awaitsInside:
		return "3|4"
	case unknown:
		return "2"
	case hostInside:
		return "2|3"
	case stackMaybe:
		return "0|4"
	case stackOther:
		return "2|4"
	case dead:
		return "2|3|4"
	}
	return "0"
}

// twice is the reply of a call that returns a status and leaves it.
func twice(status string) string { return status + " " + status }

// resolve says what handle k plus an offset is to the current thread.
func (m *Model) resolve(k, offset int) operand {
	h := m.handles[k]
	o := operand{text: fmt.Sprintf("h%d", k), handle: k, object: h.object, region: h.region, stale: h.told}
	if offset != 0 {
		o.text = fmt.Sprintf("h%d+%d", k, offset)
	}
	if h.region != nil {
		o.at = m.placeOfRegion(h.region)
		return o
	}
	o.at = placeOfObject(h, offset)
	return o
}

func (m *Model) placeOfRegion(r *region) place {
	switch {
	case r.thread != m.me:
		return stackOther
	case r.alive():
		return stack
	case r.maybe:
		return stackMaybe
	}
	return stackDead
}

const largest = 64 << 10 // the largest size that has a class; above it sizes are multiples of it

func placeOfObject(h *handle, offset int) place {
	o := h.object
	over := h.version != o.version || o.state == ended
	switch {
	case o.kind == foreign && (over || o.state == raw):
		return unknown
	case o.kind == foreign && offset != 0:
		return hostInside
	case over:
		return dead
	case offset != 0 && o.state == zero:
		return awaitsInside
	case offset != 0:
		return inside
	case o.state == zero:
		return awaits
	}
	return alive
}

// forgetStale notes that dead memory may have been taken without a handle.
func (m *Model) forgetStale() {
	for _, h := range m.handles {
		if h.region == nil && h.gone() {
			h.lost = true
		}
	}
}

// bind gives an object or a region the next handle and returns the reply: the
// lowest handle that has the address already, or the new one.
func (m *Model) bind(h *handle) string {
	k := len(m.handles)
	m.handles = append(m.handles, h)
	for i, other := range m.handles[:k] {
		if m.same(other, h) {
			return fmt.Sprintf("=%d", i)
		}
	}
	return fmt.Sprintf("=%d", k)
}

func (m *Model) same(a, b *handle) bool {
	if a.region != nil && b.region != nil {
		x, y := a.region, b.region
		return x == y || x.offset >= 0 && x.thread == y.thread && x.offset == y.offset
	}
	return a.object != nil && a.object == b.object && a.version == b.version && !a.gone()
}

func (m *Model) bindObject(o *object) string {
	return m.bind(&handle{object: o, version: o.version, bytes: o.bytes})
}

func (m *Model) next() int { return len(m.handles) }

// Choices of an operand, by how often they come.
const (
	wantAny   = iota
	wantKnown // nothing that the host could have to free: for calls that adopt
	wantHeap  // a live object
)

// draw chooses an operand: mostly a live object.
func (m *Model) draw(t *rapid.T, want int) operand {
	if m.Wild && len(m.handles) > 0 && rapid.Bool().Draw(t, "any handle") {
		return m.resolve(rapid.IntRange(0, len(m.handles)-1).Draw(t, "handle"), 0)
	}
	switch n := rapid.IntRange(0, 19).Draw(t, "operand"); {
	case want == wantHeap || n < 14:
		return m.drawWhere(t, "live", func(o operand) bool { return o.at == alive })
	case n == 14:
		return m.drawWhere(t, "dead", func(o operand) bool { return o.stale && m.offers(o, want) })
	case n == 15:
		return m.drawWhere(t, "stack", func(o operand) bool { return o.region != nil })
	case n == 16:
		return operand{text: "-"}
	case n == 17:
		return m.drawInside(t, want)
	case n == 18:
		return m.drawWhere(t, "other", func(o operand) bool {
			return o.at == awaits && m.offers(o, want)
		})
	}
	return m.drawWild(t, want)
}

// offers tells whether an operand may be given to a call that adopts memory.
func (m *Model) offers(o operand, want int) bool {
	return want != wantKnown || o.object == nil || o.object.kind != foreign || o.at == alive
}

func (m *Model) drawWhere(t *rapid.T, label string, fits func(operand) bool) operand {
	var found []operand
	for k := range m.handles {
		if o := m.resolve(k, 0); fits(o) && !m.handles[k].lost {
			found = append(found, o)
		}
	}
	if len(found) == 0 {
		return operand{text: "-"}
	}
	return rapid.SampledFrom(found).Draw(t, label)
}

func (m *Model) drawInside(t *rapid.T, want int) operand {
	start := m.drawWhere(t, "around", func(o operand) bool {
		return o.object != nil && o.object.bytes > 16 && m.offers(o, want)
	})
	if start.at == null {
		return start
	}
	return m.resolve(start.handle, 8)
}

// drawWild chooses an address that the runtime never gave out; "&" is the
// machine's own static memory.
func (m *Model) drawWild(t *rapid.T, want int) operand {
	texts := []string{"#1", "#10", "#1230", "#fff", "#fffffffffffff000", "#ffffffffffffffff", "&"}
	if want == wantKnown {
		texts = texts[:len(texts)-1]
	}
	return operand{text: rapid.SampledFrom(texts).Draw(t, "wild"), at: unknown}
}
