package model

import (
	"fmt"

	"pgregory.net/rapid"
)

func (m *Model) hostActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){"malloc": m.malloc, "adopt": m.adopt, "adopt2": m.adopt, "hostfree": m.hostFree}
}

func (m *Model) malloc(t *rapid.T) {
	n := rapid.SampledFrom([]int{32, 100, 5000}).Draw(t, "bytes")
	o := m.add(&object{kind: foreign, state: raw, bytes: n, content: m.filling()})
	m.do(m.bindObject(o)+" 0", "malloc %d %d", m.next()-1, n)
}

func isRaw(o operand) bool {
	return o.object != nil && o.object.kind == foreign && o.object.state == raw
}

// adopt registers memory of malloc, which the runtime frees from then on.
func (m *Model) adopt(t *rapid.T) {
	o := m.drawWhere(t, "raw", isRaw)
	if o.at == null {
		return
	}
	o.object.state = live
	o.object.count = 1
	m.me.entries = append(m.me.entries, o.object)
	m.do("0 0", "%s %s", oneOf(t, "call", "register_struct", "register_named", "register"), o.text)
}

func (m *Model) hostFree(t *rapid.T) {
	o := m.drawWhere(t, "raw", isRaw)
	if o.at == null {
		return
	}
	m.bury(o.object)
	m.do(".", "hostfree %s", o.text)
}

// Close ends the sequence: it leaves what is open, takes containers apart, gives
// every reference back, and expects nothing but immortal objects to be left.
func (m *Model) Close() {
	for _, m.me = range m.threads {
		m.leaveTo(0)
		m.do("0 0", "exit_scopes_to 0")
		for n := len(m.me.marks); n > 0; n-- {
			m.close(n - 1)
			m.do("0 0", "frame_exit")
		}
		m.arenaFree(nil)
		m.settle()
	}
	for _, m.me = range m.threads {
		m.shutdown()
		m.settle()
	}
	m.me = m.threads[0]
	m.eachLive(m.takeApart)
	m.eachLive(m.giveBack)
	m.collect(nil) // copies without a handle that hold each other
	m.shutdown()
	m.stats(nil)
	m.do(".", "baseline")
}

// Abandon ends a wild sequence: whatever is left stays.
var Abandon = []Step{
	{Line: "@0 exit_scopes_to 0"}, {Line: "@1 exit_scopes_to 0"}, {Line: "@0 arena_free"}, {Line: "@1 arena_free"},
	{Line: "baseline"},
}

// eachLive visits the objects that have a handle.
func (m *Model) eachLive(visit func(operand)) {
	for k := range m.handles {
		m.me = m.threads[0]
		if o := m.resolve(k, 0); o.at == alive || o.at == awaits || isRaw(o) {
			visit(o)
			m.settle()
		}
	}
}

func (m *Model) takeApart(o operand) {
	switch {
	case o.at == awaits:
		m.finish(o)
	case isRaw(o):
		m.bury(o.object)
		m.do(".", "hostfree %s", o.text)
	case o.object.kind == vec:
		m.clear(o.object)
		m.do("0 0", "vec_clear %s", o.text)
	case o.object.kind == typed:
		for i := range o.object.refs {
			if o.object.state == live {
				m.store(o, i, operand{text: "-"})
			}
		}
	}
}

// giveBack releases what no container holds.
func (m *Model) giveBack(o operand) {
	x := o.object
	if x.immortal {
		return
	}
	for n := x.count - m.contained(x); n > 0; n-- {
		m.release(x)
		m.do("0 0", "release %s", o.text)
	}
}

// Summary says how much a sequence was.
func (m *Model) Summary() string {
	return fmt.Sprintf("%d steps, %d handles, %d destructors", len(m.Steps), len(m.handles), m.destroyed)
}
