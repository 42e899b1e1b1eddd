package pools

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/status"
)

// machine is one random run: a pool and the model.
type machine struct {
	handle mempool.Handle
	device *Device
	model  *Model
	stack  []uintptr // live blocks, newest last
	dead   []uintptr // addresses that were blocks once
}

func statusOf(err error) status.Status {
	var e *mempool.Error
	if errors.As(err, &e) {
		return e.Status
	}
	if err != nil {
		return status.Internal
	}
	return status.OK
}

func newMachine(t *rapid.T) *machine {
	granule := rapid.SampledFrom([]uintptr{1, 16, 64, 256}).Draw(t, "granule")
	bytes := rapid.SampledFrom([]uintptr{1, 4096, 10000, 1 << 20}).Draw(t, "bytes")
	m := &machine{device: NewDevice(granule), model: NewModel(NewDevice(granule), bytes)}
	var err error
	if m.handle, err = mempool.Create(m.device, limit.Own, bytes); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // of a run that failed; there is no end of others
		_ = mempool.Reset(m.handle, func() {})
		_ = mempool.Destroy(m.handle)
	})
	return m
}

// want compares the status of a step with the model's.
func (m *machine) want(t *rapid.T, st status.Status, err error) {
	if got := statusOf(err); got != st {
		t.Fatalf("%v, the model says %v", got, st)
	}
}

// anySize draws sizes that repeat, that are odd and that are far too large.
func anySize(t *rapid.T) uintptr {
	switch rapid.IntRange(0, 9).Draw(t, "kind of size") {
	case 0, 1, 2, 3:
		return rapid.SampledFrom([]uintptr{64, 100, 1024, 4096}).Draw(t, "bytes")
	case 4, 5, 6:
		return rapid.UintptrRange(0, 3000).Draw(t, "bytes")
	case 7, 8:
		return rapid.UintptrRange(1, 1<<rapid.IntRange(1, 22).Draw(t, "bits")).Draw(t, "bytes")
	}
	return rapid.SampledFrom([]uintptr{1 << 41, 1<<47 - 1, 1 << 47, 1 << 63, math.MaxUint64}).Draw(t, "bytes")
}

func (m *machine) allocate(t *rapid.T) { m.allocateBytes(t, anySize(t)) }

func (m *machine) allocateBytes(t *rapid.T, n uintptr) {
	want, st := m.model.Allocate(n)
	got, err := mempool.Allocate(m.handle, n)
	if got != want {
		t.Fatalf("%d bytes at %#x, best fit is %#x", n, got, want)
	}
	m.want(t, st, err)
	if want != 0 {
		m.stack = append(m.stack, want)
	}
}

func (m *machine) free(t *rapid.T, i int) {
	address := m.stack[i]
	m.stack = append(m.stack[:i], m.stack[i+1:]...)
	m.dead = append(m.dead, address)
	st := m.model.Deallocate(address)
	m.want(t, st, mempool.Deallocate(m.handle, address))
	if st != status.OK {
		t.Fatalf("the model does not know %#x", address)
	}
}

func (m *machine) freeAny(t *rapid.T) {
	if len(m.stack) == 0 {
		t.Skip("nothing is live")
	}
	m.free(t, rapid.IntRange(0, len(m.stack)-1).Draw(t, "which"))
}

// repeat goes down and up the stack, as steps that repeat do.
func (m *machine) repeat(t *rapid.T) {
	sizes := rapid.SliceOfN(rapid.SampledFrom([]uintptr{64, 300, 4096}), 1, 6).Draw(t, "sizes")
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		for _, n := range sizes {
			m.allocateBytes(t, n)
		}
		for range min(len(sizes), len(m.stack)) {
			m.free(t, len(m.stack)-1)
		}
	}
}

// deep goes further down the stack than the log of the LIFO cache reaches.
func (m *machine) deep(t *rapid.T) {
	depth := rapid.IntRange(60, 70).Draw(t, "depth")
	for range 2 {
		for i := range depth {
			m.allocateBytes(t, uintptr(64+i%3*64))
		}
		for range min(depth, len(m.stack)) {
			m.free(t, len(m.stack)-1)
		}
	}
}

// freeWrong returns what is no live block.
func (m *machine) freeWrong(t *rapid.T) {
	wrong := []uintptr{0, 1, 0x1230, 1 << 45, math.MaxUint64}
	for _, of := range [][]uintptr{m.stack, m.dead} {
		if len(of) > 0 {
			at := rapid.SampledFrom(of).Draw(t, "near")
			wrong = append(wrong, at+1, at+64, at-1)
		}
	}
	if len(m.dead) > 0 {
		wrong = append(wrong, rapid.SampledFrom(m.dead).Draw(t, "dead"))
	}
	address := rapid.SampledFrom(wrong).Draw(t, "address")
	st := m.model.Deallocate(address)
	m.want(t, st, mempool.Deallocate(m.handle, address))
	m.forget(t, address)
}

// forget drops a block that was freed after all: 64 bytes beyond one block is another.
func (m *machine) forget(t *rapid.T, address uintptr) {
	for i, live := range m.stack {
		if live == address {
			m.stack = append(m.stack[:i], m.stack[i+1:]...)
			return
		}
	}
}

func (m *machine) reset(t *rapid.T) {
	m.model.Reset()
	m.want(t, status.OK, mempool.Reset(m.handle, func() {}))
	m.dead, m.stack = append(m.dead, m.stack...), nil
}

func (m *machine) trim(t *rapid.T) {
	m.model.Trim()
	m.want(t, status.OK, mempool.Trim(m.handle))
}

func (m *machine) limit(t *rapid.T) {
	bytes := rapid.SampledFrom([]uintptr{0, 1, 20000, 3 << 20}).Draw(t, "limit")
	m.model.SetLimit(bytes)
	m.want(t, status.OK, mempool.SetLimit(m.handle, uint64(bytes)))
}

func (m *machine) refuse(t *rapid.T) {
	refuse := rapid.Bool().Draw(t, "refuse")
	m.model.device.Refuse, m.device.Refuse = refuse, refuse
}

func (m *machine) destroy(t *rapid.T) {
	if len(m.stack) == 0 {
		t.Skip("it would end")
	}
	m.want(t, status.Busy, mempool.Destroy(m.handle))
}

// stats flushes the LIFO cache, so it is a step of its own.
func (m *machine) stats(t *rapid.T) {
	want := m.model.Stats()
	if got, err := mempool.ReadStats(m.handle); err != nil || got != want {
		t.Fatalf("%+v, %v\nthe model: %+v", got, err, want)
	}
}

func (m *machine) check(t *rapid.T) {
	require.NoError(t, mempool.Check(m.handle))
	if len(m.device.Faults) > 0 || len(m.device.Granted) != len(m.model.device.Granted) {
		t.Fatalf("%d chunks, the model has %d; %v", len(m.device.Granted), len(m.model.device.Granted), m.device.Faults)
	}
}

// end releases everything; the device has everything back.
func (m *machine) end(t *rapid.T) {
	for len(m.stack) > 0 {
		m.free(t, len(m.stack)-1)
	}
	m.stats(t)
	m.want(t, status.OK, mempool.Destroy(m.handle))
	m.want(t, status.InvalidArgument, mempool.Destroy(m.handle))
	if len(m.device.Granted) != 0 {
		t.Fatalf("the device misses %v", m.device.Granted)
	}
}

func TestPoolAndModelAgree(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMachine(r)
		r.Repeat(map[string]func(*rapid.T){
			"": m.check, "allocate": m.allocate, "allocate too": m.allocate, "allocate as well": m.allocate,
			"free": m.freeAny, "free too": m.freeAny, "free wrong": m.freeWrong, "repeat": m.repeat, "deep": m.deep,
			"reset": m.reset,
			"trim":  m.trim, "limit": m.limit, "refuse": m.refuse, "destroy": m.destroy, "stats": m.stats,
		})
		m.end(r)
	})
}
