package model

import "slices"

type kind int

const (
	plain kind = iota
	typed
	vec
	foreign
)

type state int

const (
	live  state = iota
	zero        // dec_ref brought the count to 0; the caller is to free it
	ended       // freed
	raw         // foreign: malloc'ed and not registered
)

// object is anything that is counted.
//
//	count = references of scopes, containers and callers, and floats
type object struct {
	kind          kind
	state         state
	typ           int
	bytes         int
	count, floats int
	remote        int  // floats that threads made which are not the owner; they are the first to be taken
	loose         bool // one too many may float, since each thread drops only what it can reach
	immortal      bool
	shared        bool // by tl_ptr_share, or counted by a thread that is not its owner
	destroyed     bool
	owner         *thread
	refs          []ref // fields of a typed object, elements of a Vec
	version       int   // of the address: realloc moves
	content       int   // the byte that its own bytes are filled with
	frozen        int   // entries taken out of scopes while immortal
}

// ref is a reference that a container holds: nothing, an object, or memory of a
// frame or an arena, which is not counted.
type ref struct {
	object *object
	region *region
}

// Type describes a type that the machines define before the first step.
type Type struct {
	Bytes   int
	Offsets []int
	Destroy Destructor
}

// Destructor says what the destructor of a type does, besides counting its calls.
type Destructor int

const (
	NoDestructor Destructor = iota
	Counts
	UsesScope // opens a scope, allocates in it, leaves it
	Registers // allocates 32 bytes in the scope that is current
)

// Types are defined in this order.
var Types = []Type{
	{Bytes: 24, Offsets: []int{0, 8}},
	{Bytes: 32, Offsets: []int{8, 24}, Destroy: Counts},
	{Bytes: 40, Destroy: UsesScope},
	{Bytes: 48, Offsets: []int{40}, Destroy: Registers},
	{Bytes: 70000, Offsets: []int{0, 69992}, Destroy: Counts},
}

// skip returns how many bytes at the front of a typed object verify leaves alone.
func (t Type) skip() int {
	if len(t.Offsets) == 0 {
		return 0
	}
	return t.Offsets[len(t.Offsets)-1] + 8
}

func (m *Model) add(o *object) *object {
	o.owner = m.me
	m.objects = append(m.objects, o)
	return o
}

// contained counts the references that containers hold to o.
func (m *Model) contained(o *object) int {
	n := 0
	for _, holder := range m.objects {
		if holder.state == live || holder.state == zero {
			for _, r := range holder.refs {
				if r.object == o {
					n++
				}
			}
		}
	}
	return n
}

// listed counts the scope entries of o.
func (m *Model) listed(o *object) int {
	n := 0
	for _, t := range m.threads {
		for _, e := range t.entries {
			if e == o {
				n++
			}
		}
	}
	return n
}

// The interface trusts programs in one thing: what they put into a container stays
// alive while it is there. These three tell whether an operation keeps to that.

func (m *Model) mayDrop(o *object) bool {
	inside := m.contained(o)
	return m.Wild || o.immortal || inside == 0 || o.count-1 >= inside+m.listed(o)
}

func (m *Model) mayHold(o *object) bool {
	return m.Wild || o.immortal || o.count >= m.contained(o)+m.listed(o)
}

func (m *Model) maySink(o *object) bool {
	inside := m.contained(o)
	if o.kind == foreign && o.count == o.floats && m.listed(o) > 0 {
		return m.Wild // handed back while a scope lists it: not promised
	}
	if o.loose {
		return m.Wild
	}
	return m.Wild || o.immortal || o.floats == 0 || inside == 0 || o.count >= inside+m.listed(o)+1
}

func (o *object) retain() {
	if !o.immortal {
		o.count++
	}
}

// float turns a held reference into a floating one; false when fifteen float.
func (o *object) float(by *thread) bool {
	if o.immortal {
		o.frozen++
		return true
	}
	if o.floats == maxFloats {
		return false
	}
	if o.kind != foreign && by != o.owner {
		o.loose = o.loose || o.floats == o.count
		o.remote++
	}
	o.floats = min(o.floats+1, o.count)
	return true
}

// sink takes a floating reference; false when there is none.
func (o *object) sink() bool {
	if o.floats == 0 {
		return false
	}
	o.floats--
	o.remote = max(o.remote-1, 0)
	return true
}

const maxFloats = 15

// drop takes a counted reference before a floating one; true at zero. The thread is nil where several may do it.
func (o *object) drop(by *thread) bool {
	if o.immortal {
		return false
	}
	if o.count == o.floats {
		reached := by != nil && (by == o.owner) == (o.floats > o.remote)
		o.loose = o.loose || o.kind != foreign && !reached
		o.sink()
	}
	o.count--
	return o.count == 0
}

func (m *Model) release(o *object) { m.releaseBy(m.me, o) }

func (m *Model) releaseBy(t *thread, o *object) {
	m.touch(o)
	if o.drop(t) {
		m.die(o)
	}
}

// releaseRef releases what a container held.
func (m *Model) releaseRef(by *thread, r ref) {
	if r.object != nil && r.object.state == live {
		m.releaseBy(by, r.object)
	}
}

// die ends an object whose count came to zero, and what only it held.
func (m *Model) die(o *object) {
	o.state = ended
	if o.kind == typed && !o.destroyed {
		o.destroyed = true
		m.destroy(Types[o.typ].Destroy)
	}
	m.bury(o)
	refs := o.refs
	o.refs = nil
	if o.kind == vec {
		slices.Reverse(refs)
	}
	for _, r := range refs {
		noticed := m.me
		if r.object != nil && m.Remote {
			r.object.shared, noticed = true, nil // who notices the end releases, and that may be another thread
		}
		m.releaseRef(noticed, r)
	}
}

func (m *Model) destroy(d Destructor) {
	if d != NoDestructor {
		m.destroyed++
	}
	if d == UsesScope || d == Registers {
		m.forgetStale()
	}
	if d == UsesScope {
		m.deaths++
	}
	if d == Registers {
		m.me.entries = append(m.me.entries, m.add(&object{bytes: 32, count: 1}))
	}
}

// bury removes an object from the list of those that occupy memory.
func (m *Model) bury(o *object) {
	o.state = ended
	m.deaths++
	m.objects = slices.DeleteFunc(m.objects, func(x *object) bool { return x == o })
}
