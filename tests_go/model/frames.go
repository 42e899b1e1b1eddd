package model

import (
	"fmt"

	"pgregory.net/rapid"
)

func (m *Model) frameActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"function_enter": m.functionEnter, "function_exit": m.functionExit, "get_buffer": m.getBuffer,
		"get_buffer2": m.getBuffer, "frame_enter": m.frameEnter, "frame_exit": m.frameExit,
	}
}

func (m *Model) functionEnter(t *rapid.T) {
	n := rapid.SampledFrom([]int{1, 3, 0, -1, 1 << 30}).Draw(t, "slots")
	switch {
	case n < 0:
		m.do("1 1", "function_enter %d", n)
		return
	case n == 1<<30:
		m.do("12 12", "function_enter %d", n)
		return
	case n > 0:
		m.grow()
	}
	m.me.open(function).slots = make([]*region, n)
	m.me.take(16 * n)
	m.do("0 0", "function_enter %d", n)
}

func (m *Model) functionExit(*rapid.T) {
	f := m.me.function()
	if f < 0 {
		m.do("8 8", "function_exit")
		return
	}
	m.close(f)
	m.do("0 0", "function_exit")
}

func (m *Model) getBuffer(t *rapid.T) {
	f, k := m.me.function(), m.next()
	if f < 0 {
		m.do("0 8", "get_buffer %d 0 64", k)
		return
	}
	slots := m.me.marks[f].slots
	slot := rapid.IntRange(-1, len(slots)).Draw(t, "slot")
	if slot < 0 || slot == len(slots) {
		m.do("0 9", "get_buffer %d %d 64", k, slot)
		return
	}
	n := rapid.SampledFrom([]int{64, 256, 300, 384, 4096, 0, -1, 1 << 40}).Draw(t, "bytes")
	m.do(m.fillSlot(f, slot, n), "get_buffer %d %d %d", k, slot, n)
}

// fillSlot returns the slot's buffer while it is large enough. At the top of the
// frame stack it grows; elsewhere a new one, larger by half at least, leaves the
// old one valid.
func (m *Model) fillSlot(f, slot, n int) string {
	slots := m.me.marks[f].slots
	switch {
	case n < 0:
		return "0 1"
	case n == 0:
		return "0 0"
	case n == 1<<40:
		return "0 10"
	}
	if r := slots[slot]; r == nil || r.bytes < n {
		switch {
		case r == nil:
			slots[slot] = m.addRegion(m.me.marks[f], n)
		case r.end == m.me.frames:
			m.grow()
			r.bytes, r.end, m.me.frames = n, r.end+n-r.bytes, r.end+n-r.bytes
		default:
			slots[slot] = m.addRegion(m.me.marks[f], max(n, r.bytes+r.bytes/2))
		}
		for _, k := range m.me.marks[f:] {
			k.pinned = k.pinned || k.kind == planned
		}
	}
	return m.bind(&handle{region: slots[slot]}) + " 0"
}

func (m *Model) frameEnter(t *rapid.T) {
	n := rapid.SampledFrom([]int{64, 1000, 0, 1 << 40}).Draw(t, "bytes")
	switch n {
	case 1 << 40:
		m.do("0 10", "frame_enter %d %d", m.next(), n)
	case 0:
		m.me.open(planned)
		m.me.take(0)
		m.do("1 0", "frame_enter %d %d", m.next(), n)
	default:
		r := m.addRegion(m.me.open(planned), n)
		m.do(m.bind(&handle{region: r})+" 0", "frame_enter %d %d", m.next()-1, n)
	}
}

func (m *Model) frameExit(*rapid.T) {
	for i := len(m.me.marks) - 1; i > m.me.function(); i-- {
		if m.me.marks[i].kind == planned {
			m.close(i)
			m.do("0 0", "frame_exit")
			return
		}
	}
	m.do("8 8", "frame_exit")
}

func (m *Model) arenaActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"arena_init": m.arenaInit, "arena_alloc": m.arenaAlloc, "arena_malloc": m.arenaMalloc,
		"arena_free": m.arenaFree, "arena_reset": m.arenaReset, "arena_set_offset": m.arenaSetOffset,
		"arena_contains": m.arenaContains, "arena_state": m.arenaState,
	}
}

const reservedArena = -1 // capacity: all that is reserved

func (m *Model) arenaInit(t *rapid.T) {
	a := &m.me.arena
	n := rapid.SampledFrom([]int{4096, 65536, 0, -1, 1 << 45}).Draw(t, "capacity")
	want := "0"
	switch {
	case n < 0:
		want = "1"
	case n == 1<<45:
		want = "12"
	case n > 0 && a.top > n:
		want = "17"
	case n == 0:
		a.active, a.capacity = true, reservedArena
	default:
		a.active, a.capacity = true, n
	}
	m.do(twice(want), "arena_init %d", n)
}

// drawBump returns a size: multiples of 64, so that offsets leave no room for
// interpretation.
func drawBump(t *rapid.T) int {
	return rapid.SampledFrom([]int{64, 256, 1024, 4096, 0, -1, 1 << 50}).Draw(t, "bytes")
}

func (a *arena) fits(n int) bool {
	return a.active && n < 1<<50 && (a.capacity == reservedArena || a.top+n <= a.capacity)
}

// bump returns the reply for arena memory that fits.
func (m *Model) bump(n int) string {
	r := &region{thread: m.me, bytes: n, offset: m.me.arena.top}
	m.me.arena.top += n
	return m.bind(&handle{region: r}) + " 0"
}

func (m *Model) arenaAlloc(t *rapid.T) {
	n, a, k := drawBump(t), &m.me.arena, m.next()
	want := "0 10"
	switch {
	case !a.active && n <= 0:
		return
	case n < 0:
		want = "0 1"
	case !a.active:
		want = "0 8"
	case n == 0:
		want = "0 0"
	case a.fits(n):
		want = m.bump(n)
	}
	m.do(want, "arena_alloc %d %d", k, n)
}

func (m *Model) arenaMalloc(t *rapid.T) {
	n, k := drawBump(t), m.next()
	want := "0 11"
	switch {
	case n < 0:
		want = "0 1"
	case n == 0:
		want = "0 0"
	case m.me.arena.fits(n):
		want = m.bump(n)
	case n < 1<<50:
		want = m.floating(n) + " 0"
	}
	m.do(want, "arena_malloc %d %d", k, n)
}

func (m *Model) arenaFree(*rapid.T) {
	m.me.arena = arena{}
	m.do("0 0", "arena_free")
}

func (m *Model) arenaReset(*rapid.T) {
	m.me.arena.top = 0
	m.do("0 0", "arena_reset")
}

func (m *Model) arenaSetOffset(t *rapid.T) {
	a := &m.me.arena
	to := a.top + 64*rapid.SampledFrom([]int{-1, 0, -4, 1}).Draw(t, "back")
	want := "0"
	switch {
	case !a.active && to < 0:
		return
	case !a.active:
		want = "8"
	case to < 0, to > a.top:
		want = "1"
	default:
		a.top = to
	}
	m.do(twice(want), "arena_set_offset %d", to)
}

func (m *Model) arenaContains(t *rapid.T) {
	o := m.draw(t, wantAny)
	is := 0
	if o.at == stack && o.region.offset >= 0 {
		is = 1
	}
	m.pointerCall(o, "arena_contains", fmt.Sprintf("%d 0", is))
}

func (m *Model) arenaState(*rapid.T) {
	a, active := m.me.arena, 0
	if a.active {
		active = 1
	}
	capacity := fmt.Sprint(a.capacity)
	if a.capacity == reservedArena {
		capacity = "*"
	}
	m.do(fmt.Sprintf("%d %d %s", active, a.top, capacity), "arena_state")
}
