package model

import (
	"fmt"

	"pgregory.net/rapid"
)

func (m *Model) objectActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"alloc": m.alloc, "alloc2": m.alloc, "new": m.newObject, "new2": m.newObject, "object_new": m.objectNew,
		"object_new2": m.objectNew, "object_new3": m.objectNew, "free": m.free, "realloc": m.realloc,
		"realloc2":  m.realloc,
		"set_field": m.setField, "set_field2": m.setField, "get_field": m.getField, "deep_clone": m.deepClone,
		"collect": m.collect, "verify": m.verify, "stats": m.stats, "purge": m.purge, "finish": m.finishZero,
		"type_define": m.typeDefine,
	}
}

// sizes are far enough apart that no two of them above the first four can share a
// size class.
var sizes = []int{24, 8, 1, 32, 64, 24, 100, 200, 64, 1000, 5000, 40000, 70000, 300000}

const impossible = 1 << 47

// drawSize returns a size, or what a call for it has to answer instead.
func drawSize(t *rapid.T, negative string) (n int, refusal string) {
	switch rapid.IntRange(0, 30).Draw(t, "odd size") {
	case 28:
		return 0, "0 0"
	case 29:
		return -1, "0 " + negative
	case 30:
		return impossible, "0 11"
	}
	return rapid.SampledFrom(sizes).Draw(t, "bytes"), ""
}

func (m *Model) alloc(t *rapid.T) {
	call, negative := oneOf(t, "call", "alloc", "alloc_tmp"), "11"
	if call == "alloc_tmp" {
		negative = "1"
	}
	n, refusal := drawSize(t, negative)
	if refusal != "" {
		m.do(refusal, "%s %d %d", call, m.next(), n)
		return
	}
	m.do(m.floating(n)+" 0", "%s %d %d", call, m.next()-1, n)
}

// floating makes a plain object whose reference floats.
func (m *Model) floating(n int) string {
	return m.bindObject(m.add(&object{bytes: n, count: 1, floats: 1, content: m.filling()}))
}

// filling is the byte that a machine fills the next handle's object with.
func (m *Model) filling() int { return 1 + m.next()%255 }

func (m *Model) newObject(t *rapid.T) {
	call := oneOf(t, "call", "new", "new_zeroed")
	n, refusal := drawSize(t, "11")
	if refusal != "" {
		m.do(refusal, "%s %d %d", call, m.next(), n)
		return
	}
	want := m.held(&object{bytes: n, content: m.filling()}) + " 0"
	if call == "new_zeroed" {
		want += " 1"
	}
	m.do(want, "%s %d %d", call, m.next()-1, n)
}

// held makes an object that the current scope holds.
func (m *Model) held(o *object) string {
	o.count = 1
	m.me.entries = append(m.me.entries, m.add(o))
	return m.bindObject(o)
}

func (m *Model) objectNew(t *rapid.T) {
	i := rapid.IntRange(0, len(Types)).Draw(t, "type")
	switch {
	case i == len(Types):
		m.do("0 1", "object_new %d %d", m.next(), i)
		return
	case m.Remote && Types[i].Destroy == Registers:
		return // which thread's scope it lands in depends on who notices the end
	case m.Wild && Types[i].Bytes > wildBytes:
		return
	}
	o := &object{kind: typed, typ: i, bytes: Types[i].Bytes, content: m.filling(),
		refs: make([]ref, len(Types[i].Offsets))}
	m.do(m.held(o)+" 0 1", "object_new %d %d", m.next()-1, i)
}

// typeDefine tries descriptions that have to be refused.
func (m *Model) typeDefine(t *rapid.T) {
	m.do("1 1", "type_define %d", rapid.IntRange(0, 4).Draw(t, "mistake"))
}

func (m *Model) free(t *rapid.T) {
	o := m.draw(t, wantAny)
	want := o.refusal()
	switch o.at {
	case alive, awaits:
		if want = m.freeObject(o.object); want == "" {
			return
		}
	case stack, stackMaybe:
		want = "0|4|15"
	}
	m.pointerCall(o, oneOf(t, "call", "free", "dealloc", "free_tmp"), twice(want))
}

func (m *Model) freeObject(o *object) string {
	switch {
	case o.state == zero && len(o.refs) > 0:
		return "" // see finishZero
	case o.state == zero:
		m.bury(o)
	case o.immortal:
		return "0|17"
	case o.loose && !m.Wild:
		return ""
	case o.count > o.floats && !m.Wild:
		return "17"
	case m.contained(o) > 0 && !m.Wild:
		return ""
	default:
		m.touch(o)
		m.die(o)
	}
	return "0"
}

// finishZero does the caller's part after dec_ref: fields, then the memory.
func (m *Model) finishZero(t *rapid.T) {
	o := m.drawWhere(t, "finished", func(o operand) bool { return o.at == awaits })
	if o.at == awaits && !m.Wild {
		m.finish(o)
	}
}

func (m *Model) finish(o operand) {
	refs := o.object.refs
	o.object.refs = nil
	for _, r := range refs {
		m.releaseRef(m.me, r)
	}
	m.bury(o.object)
	typ := -1
	if o.object.kind == typed {
		typ = o.object.typ
	}
	m.do("0 0", "finish %s %d", o.text, typ)
}

var reallocSizes = []int{24, 64, 200, 1000, 5000, 40000, 70000}

func (m *Model) realloc(t *rapid.T) {
	o := m.draw(t, wantAny)
	n := rapid.SampledFrom(reallocSizes).Draw(t, "bytes")
	old, want := 0, ""
	switch o.at {
	case alive:
		old = o.object.bytes
		if rapid.IntRange(0, 9).Draw(t, "impossible") == 9 {
			n = rapid.SampledFrom([]int{0, impossible}).Draw(t, "size")
		}
		want = m.resize(o.object, n)
	case null:
		want = m.floating(n) + " 0 0"
	case stack:
		want = "0 15 0"
	case stackMaybe:
		want = "0 4|15 0"
	default:
		want = "0 " + o.refusal() + " 0"
	}
	if want != "" {
		k := m.next()
		if want[0] == '=' {
			k--
		}
		m.on(o, want, "realloc %d %s %d %d", k, o.text, old, n)
	}
}

// resize is realloc of a live object; "" where the interface leaves open whether
// the object has to move, or may.
func (m *Model) resize(o *object, n int) string {
	outside := o.count - o.floats - m.listed(o)
	switch {
	case o.kind != plain && n == 0:
		return "0 1|15 0"
	case o.kind != plain:
		return "0 15 0"
	case n == 0:
		return "0 1 0"
	case n == impossible:
		return "0 11|17 0"
	case o.immortal || o.shared || o.owner != m.me || outside < m.contained(o):
		return ""
	case n == o.bytes || n <= 32 && o.bytes <= 32:
		kept := o.prefix(n)
		o.bytes = n
		return fmt.Sprintf("%s 0 %d", m.bindObject(o), kept)
	case n > largest && o.bytes > largest, 2*n > o.bytes && 2*o.bytes > n:
		return ""
	case outside > 0:
		return "0 17 0"
	}
	kept := o.prefix(n)
	o.version++
	o.bytes = n
	return fmt.Sprintf("%s 0 %d", m.bindObject(o), kept)
}

// prefix is the byte that a machine finds when it looks at what has to be kept.
func (o *object) prefix(int) int { return o.content }

func (m *Model) setField(t *rapid.T) {
	h := m.drawWhere(t, "holder", func(o operand) bool {
		return o.at == alive && o.object.kind == typed && len(o.object.refs) > 0
	})
	if h.at != alive {
		return
	}
	e := operand{text: "-"}
	if rapid.IntRange(0, 4).Draw(t, "null") > 0 {
		e = m.draw(t, wantHeap)
	}
	i := rapid.IntRange(0, len(h.object.refs)-1).Draw(t, "field")
	if e.object != nil && !m.mayHold(e.object) {
		return
	}
	m.store(h, i, e)
}

// store is what a compiler emits: acquire what goes in, release what was there.
func (m *Model) store(h operand, i int, e operand) {
	if e.object != nil {
		m.touch(e.object)
		e.object.retain()
	}
	old := h.object.refs[i]
	h.object.refs[i] = ref{object: e.object}
	m.do("0 0", "set_field %s %d %s", h.text, Types[h.object.typ].Offsets[i], e.text)
	if old.object != nil {
		m.touch(old.object)
	}
	m.releaseRef(m.me, old)
}

func (m *Model) getField(t *rapid.T) {
	h := m.drawWhere(t, "holder", func(o operand) bool {
		return o.at == alive && o.object.kind == typed && len(o.object.refs) > 0
	})
	if h.at != alive {
		return
	}
	i := rapid.IntRange(0, len(h.object.refs)-1).Draw(t, "field")
	k, want := m.next(), "0"
	if child := h.object.refs[i].object; child != nil {
		want = m.bindObject(child)
	}
	m.do(want+" 0", "get_field %d %s %d", k, h.text, Types[h.object.typ].Offsets[i])
}

// wildBytes bounds what is touched at an address that may be another object's by now.
const wildBytes = 64

// verify reads the bytes of an object that are the program's own.
func (m *Model) verify(t *rapid.T) {
	o := m.draw(t, wantHeap)
	if o.at != alive || o.object.kind == vec {
		return
	}
	skip := 0
	if o.object.kind == typed {
		skip = Types[o.object.typ].skip()
	}
	if o.object.bytes <= skip || m.Wild && o.object.bytes > wildBytes {
		return
	}
	m.do(fmt.Sprint(o.object.content), "verify %s %d %d", o.text, o.object.bytes, skip)
}

func (m *Model) purge(*rapid.T) {
	m.forgetStale()
	m.do("0 0", "purge")
}

// stats compares what the process has in use. A Vec has an element table that the
// model does not follow; sizes are rounded up to classes.
func (m *Model) stats(*rapid.T) { m.do(m.usage(), "stats") }

func (m *Model) usage() string {
	var objects, bytes, hosted span
	for _, o := range m.objects {
		switch {
		case o.kind == foreign && o.state != raw:
			hosted.max++
			if o.floats == 0 {
				hosted.min++
			}
		case o.kind == foreign:
		case o.kind == vec:
			objects.min++
			objects.max += 2
			bytes.max += 1 << 20
		default:
			objects.min++
			objects.max++
			bytes.min += o.bytes
			bytes.max += roundedUp(o.bytes)
		}
	}
	skipped := m.skipped
	skipped.max += m.passedOver()
	if m.Remote { // an object that waits for its owner is not known to be dead yet
		return fmt.Sprintf("%v %v %v %d %s", objects, bytes, hosted, m.destroyed, anything)
	}
	return fmt.Sprintf("%v %v %v %d %v", objects, bytes, hosted, m.destroyed, skipped)
}

// passedOver counts entries of objects that are not live: a search may have skipped them already.
func (m *Model) passedOver() int {
	n := 0
	for _, t := range m.threads {
		for _, o := range t.entries {
			if o != nil && o.state != live {
				n++
			}
		}
	}
	return n
}

func roundedUp(n int) int {
	if n > largest {
		return (n + largest - 1) / largest * largest
	}
	return n + n/4 + 32
}
