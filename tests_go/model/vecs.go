package model

import (
	"fmt"

	"pgregory.net/rapid"
)

func (m *Model) vecActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"vec_new": m.vecNew, "vec_push": m.vecPush, "vec_push2": m.vecPush, "vec_push3": m.vecPush, "vec_get": m.vecGet,
		"vec_set": m.vecSet, "vec_pop": m.vecPop, "vec_len": m.vecLen, "vec_reserve": m.vecReserve,
		"vec_clear": m.vecClear,
	}
}

func (m *Model) vecNew(t *rapid.T) {
	switch n := rapid.SampledFrom([]int{0, 1, 4, 100, 1 << 44, -1}).Draw(t, "capacity"); n {
	case -1:
		m.do("0 1", "vec_new %d %d", m.next(), n)
	case 1 << 44:
		m.do("0 11", "vec_new %d %d", m.next(), n)
	default:
		m.do(m.held(&object{kind: vec, bytes: 1})+" 0", "vec_new %d %d", m.next()-1, n)
	}
}

// drawVec chooses a Vec, or once in a while something that is none.
func (m *Model) drawVec(t *rapid.T) (o operand, isVec bool, refusal string) {
	if rapid.IntRange(0, 9).Draw(t, "no Vec") < 9 {
		o = m.drawWhere(t, "vec", func(o operand) bool { return o.at == alive && o.object.kind == vec })
	} else {
		o = m.draw(t, wantAny)
	}
	switch {
	case o.at == alive && o.object.kind == vec:
		return o, true, "0"
	case o.at == alive, o.at == stack:
		return o, false, "15"
	case o.at == stackMaybe:
		return o, false, "4|15"
	case o.at == awaits && o.object.kind == vec:
		return operand{text: "-"}, false, "0" // not said: the caller may need these calls to empty it
	case o.at == awaits:
		return o, false, "2|4|15"
	}
	return o, false, o.refusal()
}

// drawElement chooses what goes into a container; false when the program would
// break its promise to keep it alive.
func (m *Model) drawElement(t *rapid.T) (e operand, good bool) {
	e = m.draw(t, wantAny)
	if e.at == stackMaybe {
		return e, false
	}
	return e, e.at != alive || m.mayHold(e.object)
}

// hold returns the reference that a container takes to an operand.
func (m *Model) hold(e operand) (r ref, taken bool) {
	switch e.at {
	case alive:
		m.touch(e.object)
		e.object.retain()
		return ref{object: e.object}, true
	case stack:
		return ref{region: e.region}, true
	}
	return ref{}, e.at == null
}

func (m *Model) vecPush(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	e := operand{text: "-"}
	if isVec {
		good := false
		if e, good = m.drawElement(t); !good {
			return
		}
		want = e.refusal()
		if r, taken := m.hold(e); taken {
			v.object.refs = append(v.object.refs, r)
		}
	}
	m.on(either(v, e), twice(want), "vec_push %s %s", v.text, e.text)
}

// either returns the operand that is stale, if one is.
func either(a, b operand) operand {
	if a.stale {
		return a
	}
	return b
}

func (m *Model) vecGet(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	k, i, reply := m.next(), 0, "0"
	if isVec {
		if i = m.drawIndex(t, v); i < 0 || i >= len(v.object.refs) {
			want = "1"
		} else if reply = m.bindRef(v.object.refs[i]); reply == "" {
			return
		}
	}
	m.on(v, reply+" "+want, "vec_get %d %s %d", k, v.text, i)
}

func (m *Model) drawIndex(t *rapid.T, v operand) int {
	return rapid.IntRange(-1, len(v.object.refs)).Draw(t, "index")
}

// bindRef gives what a container returned a handle; "" when it is dead memory.
func (m *Model) bindRef(r ref) string {
	switch {
	case r.object != nil:
		return m.bindObject(r.object)
	case r.region == nil:
		return "0"
	case !r.region.alive(), r.region.thread != m.me:
		return ""
	}
	return m.bind(&handle{region: r.region})
}

func (m *Model) vecSet(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	e, i := operand{text: "-"}, 0
	if isVec {
		if i = m.drawIndex(t, v); i < 0 || i >= len(v.object.refs) {
			want = "1"
		} else {
			good := false
			if e, good = m.drawElement(t); !good {
				return
			}
			want = e.refusal()
			m.replace(v.object, i, e)
		}
	}
	m.on(either(v, e), twice(want), "vec_set %s %d %s", v.text, i, e.text)
}

func (m *Model) replace(v *object, i int, e operand) {
	if r, taken := m.hold(e); taken {
		old := v.refs[i]
		v.refs[i] = r
		m.releaseRef(m.me, old)
	}
}

func (m *Model) vecPop(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	k, reply := m.next(), "0"
	if isVec {
		if reply, want = m.pop(v.object); reply == "" {
			return
		}
	}
	m.on(v, reply+" "+want, "vec_pop %d %s", k, v.text)
}

func (m *Model) pop(v *object) (reply, status string) {
	n := len(v.refs) - 1
	if n < 0 {
		return "0", "1"
	}
	r := v.refs[n]
	if r.object != nil && r.object.immortal && r.object.frozen >= maxFloats-1 {
		return "", ""
	}
	if r.object != nil && !r.object.float(m.me) {
		return "0", "13"
	}
	if r.object != nil {
		m.touch(r.object)
	}
	reply = m.bindRef(r)
	if reply != "" {
		v.refs = v.refs[:n]
	}
	return reply, "0"
}

func (m *Model) vecLen(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	reply := "-1"
	switch {
	case isVec:
		reply = fmt.Sprint(len(v.object.refs))
	case v.at == null:
		reply = "0"
	}
	m.pointerCall(v, "vec_len", reply+" "+want)
}

func (m *Model) vecReserve(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	n := rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "capacity")
	if isVec {
		switch rapid.IntRange(0, 9).Draw(t, "impossible") {
		case 8:
			n, want = -1, "1"
		case 9:
			n, want = 1<<44, "11"
		}
	}
	m.on(v, twice(want), "vec_reserve %s %d", v.text, n)
}

func (m *Model) vecClear(t *rapid.T) {
	v, isVec, want := m.drawVec(t)
	if isVec {
		m.clear(v.object)
	}
	m.pointerCall(v, "vec_clear", twice(want))
}

// clear releases the elements, last first; the Vec may hold itself and die on the way.
func (m *Model) clear(v *object) {
	for len(v.refs) > 0 {
		last := v.refs[len(v.refs)-1]
		v.refs = v.refs[:len(v.refs)-1]
		m.releaseRef(m.me, last)
	}
}
