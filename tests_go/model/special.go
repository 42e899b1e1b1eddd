package model

import (
	"fmt"

	"tlruntime/runtime/layout"
)

// special are the steps that are more than one call.
func (m *Machine) special() map[string]func(a []uintptr) string {
	return map[string]func(a []uintptr) string{
		"acquire": m.acquire, "realloc": m.realloc, "malloc": m.malloc, "hostfree": m.hostFree, "get_field": m.getField,
		"set_field": m.setField, "finish": m.finish, "verify": m.verify, "arena_state": m.arenaState,
		"stats": m.stats, "baseline": m.baseline, "dead": m.dead, "poll": m.poll,
	}
}

func (m *Machine) call(name string, a ...uintptr) uintptr { return m.path.Call[name](a) }

// acquire returns its argument, always.
func (m *Machine) acquire(a []uintptr) string {
	same := 0
	if m.call("acquire", a...) == a[0] {
		same = 1
	}
	return fmt.Sprintf("%d %d", same, m.path.Status())
}

// realloc: handle, object, old size, new size. What has to be kept is looked at.
func (m *Machine) realloc(a []uintptr) string {
	k, p, old, n := int(a[0]), a[1], a[2], a[3]
	moved := m.call("realloc", p, n)
	st := m.path.Status()
	if moved == 0 {
		return fmt.Sprintf("0 %d 0", st)
	}
	kept, value := uintptr(0), byte(1+k%255)
	if old > 0 {
		kept = uniform(moved, min(old, n, front))
		value = byte(kept)
	}
	reply := m.claim(k, slot{p: moved, bytes: n})
	fill(moved, 0, n, value)
	return fmt.Sprintf("%s %d %d", reply, st, int64(kept))
}

func (m *Machine) malloc(a []uintptr) string {
	p := m.Malloc(a[1])
	reply := m.claim(int(a[0]), slot{p: p, bytes: a[1]})
	fill(p, 0, a[1], byte(1+a[0]%255))
	return reply + " 0"
}

func (m *Machine) hostFree(a []uintptr) string {
	m.Free(a[0])
	return "."
}

func field(p, offset uintptr) *uintptr { return layout.At[uintptr](p + offset) }

// getField: handle, object, offset.
func (m *Machine) getField(a []uintptr) string {
	p := *field(a[1], a[2])
	if p == 0 {
		return "0 0"
	}
	return m.claim(int(a[0]), slot{p: p, bytes: 1}) + " 0"
}

// setField: object, offset, new value.
func (m *Machine) setField(a []uintptr) string {
	m.call("acquire", a[2])
	acquired := m.path.Status()
	old := *field(a[0], a[1])
	*field(a[0], a[1]) = a[2]
	return fmt.Sprintf("%d %d", acquired, int64(m.call("release", old)))
}

// finish: object, type or -1. The caller's part after dec_ref returned 1.
func (m *Machine) finish(a []uintptr) string {
	if a[1] < uintptr(len(Types)) {
		for _, offset := range Types[a[1]].Offsets {
			old := field(a[0], uintptr(offset))
			m.call("release", *old)
			*old = 0
		}
	}
	r := m.call("free", a[0])
	return fmt.Sprintf("%d %d", int64(r), m.path.Status())
}

// verify: object, bytes, bytes to leave out.
func (m *Machine) verify(a []uintptr) string { return fmt.Sprint(int64(uniformFrom(a[0], a[2], a[1]))) }

func (m *Machine) arenaState([]uintptr) string {
	return fmt.Sprintf("%d %d %d", m.call("arena_is_active"), m.call("arena_get_offset"), m.call("arena_get_capacity"))
}

func (m *Machine) stats([]uintptr) string {
	now := m.Stats()
	return fmt.Sprintf("%d %d %d %d %d", now[0]-m.base[0], now[1]-m.base[1], now[2]-m.base[2], now[3]-m.base[3],
		now[4]-m.base[4])
}

func (m *Machine) baseline([]uintptr) string {
	m.base = m.Stats()
	return "."
}

func (m *Machine) dead(a []uintptr) string {
	m.handles[a[0]].dead = true
	return "."
}

// rounds of polling: what one thread ends may leave work for another.
const rounds = 4

func (m *Machine) poll([]uintptr) string {
	for i := range rounds * len(m.Paths) {
		path := m.Paths[i%len(m.Paths)]
		path.Call["enter_scope"](nil)
		path.Call["exit_scope"](nil)
	}
	return "."
}
