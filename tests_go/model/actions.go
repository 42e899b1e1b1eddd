package model

import (
	"fmt"

	"pgregory.net/rapid"
)

// Actions returns what Repeat chooses from; names with a number occur more often.
func (m *Model) Actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){}
	for _, group := range []map[string]func(*rapid.T){
		m.countActions(), m.objectActions(), m.scopeActions(), m.frameActions(), m.arenaActions(), m.vecActions(),
	} {
		for name, action := range group {
			all[name] = m.asStep(action)
		}
	}
	if m.Remote {
		all["poll"] = m.asStep(m.poll)
	}
	if m.Host {
		for name, action := range m.hostActions() {
			all[name] = m.asStep(action)
		}
	}
	return all
}

// asStep makes an action choose its thread and settle afterwards. An action that
// skips has drawn and changed nothing.
func (m *Model) asStep(action func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		m.me = m.threads[rapid.IntRange(0, len(m.threads)-1).Draw(t, "thread")]
		before := len(m.Steps)
		action(t)
		if len(m.Steps) == before {
			t.Skip("nothing to do")
		}
		m.settle()
	}
}

// pointerCall is the reply of a call on one pointer: value(refusal) and status.
func (m *Model) pointerCall(o operand, name, want string) { m.on(o, want, "%s %s", name, o.text) }

func oneOf(t *rapid.T, label string, names ...string) string {
	return rapid.SampledFrom(names).Draw(t, label)
}

func (m *Model) countActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"acquire": m.acquire, "acquire2": m.acquire, "release": m.drop, "release2": m.drop, "release3": m.drop,
		"dec_ref": m.decRef, "refcount": m.refcount, "refcount2": m.refcount, "check": m.check,
		"register": m.register, "register2": m.register, "register known": m.registerKnown,
		"unregister": m.unregister, "unregister2": m.unregister, "share": m.share, "immortal": m.makeImmortal,
	}
}

func (m *Model) acquire(t *rapid.T) {
	o := m.draw(t, wantAny)
	if o.at == alive {
		m.touch(o.object)
		o.object.retain()
	}
	if oneOf(t, "call", "acquire", "inc_ref") == "acquire" {
		m.pointerCall(o, "acquire", "1 "+o.refusal())
		return
	}
	m.pointerCall(o, "inc_ref", twice(o.refusal()))
}

// touch notes that a thread other than the owner counts an object.
func (m *Model) touch(o *object) {
	if o.owner != m.me {
		o.shared = true
	}
}

func (m *Model) drop(t *rapid.T) {
	o := m.draw(t, wantAny)
	if o.at == alive {
		if !m.mayDrop(o.object) {
			return
		}
		m.release(o.object)
	}
	if oneOf(t, "call", "release", "release_bool") == "release" {
		m.pointerCall(o, "release", twice(o.refusal()))
		return
	}
	m.pointerCall(o, "release_bool", o.flag()+" "+o.refusal())
}

// flag is the reply of release_bool before the status.
func (o operand) flag() string {
	switch o.at {
	case alive:
		return "1"
	case stack, stackMaybe:
		return "0|1"
	}
	return "0"
}

func (m *Model) decRef(t *rapid.T) {
	o := m.draw(t, wantAny)
	if o.at != alive {
		m.pointerCall(o, "dec_ref", "0 "+o.refusal())
		return
	}
	x := o.object
	last := !x.immortal && x.count == 1
	if !m.mayDrop(x) || last && (m.Remote || x.kind == vec && len(x.refs) > 0) {
		return
	}
	m.touch(x)
	if !x.drop(m.me) {
		m.pointerCall(o, "dec_ref", "0 0")
		return
	}
	x.state = zero
	m.pointerCall(o, "dec_ref", "1 0")
}

func (m *Model) refcount(t *rapid.T) {
	o := m.draw(t, wantAny)
	m.pointerCall(o, "refcount", o.count()+" "+o.refusal())
}

func (o operand) count() string {
	switch {
	case o.at == null:
		return "0"
	case o.at == stack:
		return "1"
	case o.at == stackMaybe:
		return "-1|1"
	case o.at != alive:
		return "-1"
	case o.object.immortal:
		return "*"
	}
	return fmt.Sprint(o.object.count)
}

func (m *Model) check(t *rapid.T) {
	o := m.draw(t, wantAny)
	m.pointerCall(o, "check", twice(o.refusal()))
}

// enlist puts a reference into the current scope: a floating one or a new one.
func (m *Model) enlist(o *object) {
	m.touch(o)
	switch {
	case o.immortal:
	case o.sink():
	default:
		o.count++
	}
	m.me.entries = append(m.me.entries, o)
}

// register is the calls that adopt what they do not know.
func (m *Model) register(t *rapid.T) {
	o := m.draw(t, wantKnown)
	want := o.refusal()
	switch o.at {
	case alive:
		if !m.maySink(o.object) {
			return
		}
		m.enlist(o.object)
	case awaits:
		if o.object.kind == foreign {
			return
		}
	case stackOther:
		want = "15"
	case unknown, hostInside:
		want = m.adoptRefusal()
	}
	m.pointerCall(o, oneOf(t, "call", "register_struct", "register_named", "register"), twice(want))
}

func (m *Model) adoptRefusal() string {
	if m.Host {
		return "1"
	}
	return "2"
}

func (m *Model) registerKnown(t *rapid.T) {
	o := m.draw(t, wantAny)
	want := o.refusal()
	switch o.at {
	case alive:
		if !m.maySink(o.object) {
			return
		}
		m.enlist(o.object)
	case awaits:
		if o.object.kind == foreign {
			return
		}
	case stackOther:
		want = "2|4|15"
	}
	m.pointerCall(o, oneOf(t, "call", "register_ptr", "register_tensor", "register_vec_ptr"), twice(want))
}

func (m *Model) unregister(t *rapid.T) {
	o := m.draw(t, wantAny)
	want := o.refusal()
	switch {
	case o.at == alive:
		if want = m.takeOut(o.object); want == "" {
			return
		}
	case o.at == stack:
		want = "15"
	case o.at == stackMaybe:
		want = "4|15"
	}
	m.pointerCall(o, "unregister", twice(want))
}

// takeOut makes the newest entry of an object float; "" when the model does not
// say what happens.
func (m *Model) takeOut(o *object) string {
	i := m.me.find(o)
	switch {
	case i < 0:
		return "6"
	case o.immortal && o.frozen >= maxFloats-1:
		return ""
	case !o.float(m.me):
		return "13"
	}
	m.touch(o)
	m.me.entries[i] = nil
	return "0"
}

func (m *Model) share(t *rapid.T) {
	o := m.draw(t, wantAny)
	want := o.refusal()
	switch {
	case o.at == alive && o.object.owner == m.me:
		o.object.shared = true
	case o.at == alive && o.object.kind != foreign && !o.object.shared:
		want = "17"
	case o.at == alive:
		want = "0|17"
	case o.at == stack, o.at == stackMaybe:
		want = "0|4|15"
	}
	m.pointerCall(o, "share", twice(want))
}

// makeImmortal is rare, since what it makes stays for the rest of the process.
func (m *Model) makeImmortal(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "rarely") != 9 {
		return
	}
	o := m.draw(t, wantAny)
	want := o.refusal()
	switch o.at {
	case alive:
		x := o.object
		if x.kind == foreign || x.bytes > 100 || m.Remote {
			return
		}
		x.immortal = true
	case stack, stackMaybe:
		want = "0|4|15"
	}
	m.pointerCall(o, "immortal", twice(want))
}
