package pools

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/status"
)

// threads is how many the machine has; there are fewer caches, so that some threads share one.
const threads = 10

// slack is how much a block may have beyond its request.
const slack = 256

// held is a block that a thread has from a pool.
type held struct {
	address, bytes uintptr // bytes of the request, rounded
	by             uint32
}

// shared is a random run of threads that share a pool. Where blocks lie depends on what threads keep, so this
// holds the pool to what is true in any case.
type shared struct {
	device *Device
	handle mempool.Handle
	live   []held
	dead   []uintptr
	newest uintptr
	count  mempool.Stats   // Allocations and Deallocations alone
	most   uint64          // bytes that were in use at once, at least
	mine   [threads]uint64 // bytes that threads have, at most
	mosts  [threads]uint64
}

func newShared(t *rapid.T) *shared {
	granule := rapid.SampledFrom([]uintptr{1, 64, 256}).Draw(t, "granule")
	m := &shared{device: NewDevice(granule)}
	var err error
	if m.handle, err = mempool.Create(m.device, limit.Own, 1<<20); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = mempool.Reset(m.handle, func() {})
		_ = mempool.Destroy(m.handle)
	})
	return m
}

func state(h mempool.Handle) *layout.MempoolState {
	return layout.At[layout.MempoolState](mempool.Table() + uintptr(h%layout.MempoolSlots)*layout.MempoolStride)
}

// allocateMeeting is tl_memory_pool_allocate by a thread of that number that meets others in the pool.
func allocateMeeting(h mempool.Handle, number uint32, n uintptr) (uintptr, error) {
	if address := core.TakeMeeting(state(h), uint64(h), number, n); address != 0 {
		return address, nil
	}
	return mempool.Allocate(h, n)
}

func deallocateMeeting(h mempool.Handle, number uint32, address uintptr) error {
	if core.GiveMeeting(state(h), uint64(h), number, address) {
		return nil
	}
	return mempool.Deallocate(h, address)
}

func (m *shared) rounded(n uintptr) uintptr {
	return (n + m.device.Granule - 1) &^ (m.device.Granule - 1)
}

// room returns the bytes of the largest gap between live blocks of a chunk.
func (m *shared) room() (room uintptr) {
	for start, size := range m.device.Granted {
		at := start
		for _, b := range m.live { // sorted
			if b.address >= start && b.address < start+size {
				room, at = max(room, b.address-at), b.address+b.bytes
			}
		}
		room = max(room, start+size-at)
	}
	return room
}

func (m *shared) allocateBytes(t *rapid.T, by uint32, n uintptr) {
	address, err := allocateMeeting(m.handle, by, n)
	bytes := m.rounded(n)
	if address == 0 {
		if st := statusOf(err); st != status.OutOfMemory && st != status.Limit {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if m.room() >= bytes+slack+m.device.Granule {
			t.Fatalf("%d bytes are refused, and there is room for %d", n, m.room())
		}
		return
	}
	i, _ := slices.BinarySearchFunc(m.live, address, func(b held, a uintptr) int { return int(b.address) - int(a) })
	if i < len(m.live) && m.live[i].address < address+bytes ||
		i > 0 && m.live[i-1].address+m.live[i-1].bytes > address {
		t.Fatalf("%d bytes at %#x overlap a live block", n, address)
	}
	m.live = slices.Insert(m.live, i, held{address, bytes, by})
	m.newest = address
	m.count.Allocations++
	m.note(by, bytes)
}

// note counts a block in.
func (m *shared) note(by uint32, bytes uintptr) {
	m.mine[by] += uint64(bytes) + slack
	m.mosts[by] = max(m.mosts[by], m.mine[by])
	sum := uint64(0)
	for _, b := range m.live {
		sum += uint64(b.bytes)
	}
	m.most = max(m.most, sum)
}

func anyThread(t *rapid.T) uint32 { return rapid.Uint32Range(0, threads-1).Draw(t, "thread") }

func sharedSize(t *rapid.T) uintptr {
	if rapid.Bool().Draw(t, "repeats") {
		return rapid.SampledFrom([]uintptr{64, 300, 4096, 100000}).Draw(t, "bytes")
	}
	return rapid.UintptrRange(1, 1<<rapid.IntRange(1, 20).Draw(t, "bits")).Draw(t, "bytes")
}

func (m *shared) allocate(t *rapid.T) { m.allocateBytes(t, anyThread(t), sharedSize(t)) }

func (m *shared) free(t *rapid.T, by uint32, i int) {
	b := m.live[i]
	m.live = slices.Delete(m.live, i, i+1)
	m.dead = append(m.dead, b.address)
	m.mine[b.by] -= uint64(b.bytes) + slack
	m.count.Deallocations++
	require.NoError(t, deallocateMeeting(m.handle, by, b.address))
}

func (m *shared) one(t *rapid.T) int {
	if len(m.live) == 0 {
		t.Skip("nothing is live")
	}
	return rapid.IntRange(0, len(m.live)-1).Draw(t, "which")
}

func (m *shared) freeByAnother(t *rapid.T) { m.free(t, anyThread(t), m.one(t)) }
func (m *shared) freeByItsThread(t *rapid.T) {
	i := m.one(t)
	m.free(t, m.live[i].by, i)
}

// repeat has a thread take and give back the same blocks, in either order.
func (m *shared) repeat(t *rapid.T) {
	by, last := anyThread(t), rapid.Bool().Draw(t, "last first")
	sizes := rapid.SliceOfN(rapid.SampledFrom([]uintptr{64, 300, 4096}), 1, 80).Draw(t, "sizes")
	for range rapid.IntRange(1, 4).Draw(t, "times") {
		var taken []uintptr
		for _, n := range sizes {
			before := m.live
			if m.allocateBytes(t, by, n); len(m.live) > len(before) {
				taken = append(taken, m.newest)
			}
		}
		if last {
			slices.Reverse(taken)
		}
		for _, address := range taken {
			m.free(t, by, slices.IndexFunc(m.live, func(b held) bool { return b.address == address }))
		}
	}
}

// freeWrong gives back what is no live block, by the thread that had it or by another one.
func (m *shared) freeWrong(t *rapid.T) {
	wrong := []uintptr{0x1230, 1 << 45, 1<<45 + 1}
	if len(m.dead) > 0 {
		wrong = append(wrong, rapid.SampledFrom(m.dead).Draw(t, "dead"), m.dead[len(m.dead)-1])
	}
	address := rapid.SampledFrom(wrong).Draw(t, "address")
	if slices.ContainsFunc(m.live, func(b held) bool { return b.address == address }) {
		t.Skip("it is live again")
	}
	if st := statusOf(deallocateMeeting(m.handle, anyThread(t), address)); st != status.UnknownPointer {
		t.Fatalf("%#x: %v", address, st)
	}
}

func (m *shared) stats(t *rapid.T) {
	got, err := mempool.ReadStats(m.handle)
	low, high := uint64(0), uint64(0)
	for _, b := range m.live {
		low += uint64(b.bytes)
		high += uint64(b.bytes) + slack
	}
	most := uint64(0)
	for _, of := range m.mosts {
		most += of
	}
	if err != nil || got.Allocations != m.count.Allocations || got.Deallocations != m.count.Deallocations ||
		got.CurrentUsage < low || got.CurrentUsage > high || got.PeakUsage < m.most || got.PeakUsage > most {
		t.Fatalf("%+v, %v; %+v, live %d to %d, peak %d to %d", got, err, m.count, low, high, m.most, most)
	}
	if state(m.handle).Open != 0 {
		t.Fatal("caches are in use")
	}
}

func (m *shared) trim(t *rapid.T) {
	require.NoError(t, mempool.Trim(m.handle))
	for start, size := range m.device.Granted {
		if !slices.ContainsFunc(m.live, func(b held) bool { return b.address >= start && b.address < start+size }) {
			t.Fatalf("the chunk at %#x stays", start)
		}
	}
}

func (m *shared) reset(t *rapid.T) {
	require.NoError(t, mempool.Reset(m.handle, func() {}))
	for _, b := range m.live {
		m.dead = append(m.dead, b.address)
	}
	m.live, m.mine, m.count.Deallocations = nil, [threads]uint64{}, m.count.Allocations
}

func (m *shared) refuse(t *rapid.T) { m.device.Refuse = rapid.Bool().Draw(t, "refuse") }

func (m *shared) destroy(t *rapid.T) {
	if len(m.live) == 0 {
		t.Skip("it would end")
	}
	if st := statusOf(mempool.Destroy(m.handle)); st != status.Busy {
		t.Fatal(st)
	}
}

func (m *shared) check(t *rapid.T) {
	require.NoError(t, mempool.Check(m.handle))
}

func TestThreadsShareAPool(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newShared(r)
		r.Repeat(map[string]func(*rapid.T){
			"": m.check, "allocate": m.allocate, "allocate too": m.allocate, "free": m.freeByItsThread,
			"free too": m.freeByItsThread, "another frees": m.freeByAnother, "free wrong": m.freeWrong,
			"repeat": m.repeat, "repeat too": m.repeat, "stats": m.stats, "trim": m.trim, "reset": m.reset,
			"refuse": m.refuse, "destroy": m.destroy,
		})
		for len(m.live) > 0 {
			m.free(r, m.live[0].by, 0)
		}
		if err := mempool.Destroy(m.handle); err != nil {
			r.Fatal(err)
		}
		if len(m.device.Granted) != 0 || len(m.device.Faults) != 0 {
			r.Fatalf("the device misses %v; %v", m.device.Granted, m.device.Faults)
		}
	})
}

// opened makes a pool that is shared, and functions that take and give back by C alone.
func opened(t *testing.T, bytes uintptr) (h mempool.Handle, take func(by uint32, n uintptr) uintptr,
	give func(by uint32, a uintptr)) {
	h, err := mempool.Create(NewDevice(64), limit.Own, bytes)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := mempool.Destroy(h); err != nil {
			t.Error(err)
		}
	})
	take = func(by uint32, n uintptr) uintptr {
		address := core.TakeMeeting(state(h), uint64(h), by, n)
		if address == 0 {
			t.Fatalf("no %d bytes", n)
		}
		return address
	}
	give = func(by uint32, address uintptr) {
		require.NoError(t, deallocateMeeting(h, by, address))
	}
	give(1, take(1, 64))
	give(2, take(2, 64))
	if state(h).Open != 1<<1|1<<2 {
		t.Fatalf("caches %b are in use", state(h).Open)
	}
	return h, take, give
}

// TestPeakOfASharedPool: what a thread keeps does not count for the peak, unless it takes it again.
func TestPeakOfASharedPool(t *testing.T) {
	h, take, give := opened(t, 1<<20)
	for range 3 {
		for _, bytes := range []uintptr{100 << 10, 200 << 10, 300 << 10} {
			give(1, take(1, bytes))
		}
	}
	if s, err := mempool.ReadStats(h); err != nil || s.PeakUsage != 300<<10 || s.CurrentUsage != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	give(1, take(1, 200<<10))
	kept, other := take(1, 200<<10), take(2, 250<<10)
	give(2, other)
	give(1, kept)
	if s, err := mempool.ReadStats(h); err != nil || s.PeakUsage != 450<<10 {
		t.Fatalf("%+v, %v", s, err)
	}
}

// TestKeptBlocksServeLargeRequests: C finds what threads keep before it asks Go, as in a forked child.
func TestKeptBlocksServeLargeRequests(t *testing.T) {
	h, take, give := opened(t, 1<<20)
	var blocks []uintptr
	for range 16 {
		blocks = append(blocks, take(1, 64<<10-64))
	}
	for _, address := range blocks {
		give(1, address)
	}
	give(2, take(2, 1<<20))
	if state(h).Open != 0 {
		t.Fatal("the pool is shared still")
	}
}

// TestUselessCachesClose: a thread whose requests are all different has no cache for long, and gets one again later.
func TestUselessCachesClose(t *testing.T) {
	h, take, give := opened(t, 16<<20)
	for n := uintptr(1); n <= 100; n++ {
		give(1, take(1, n*1024))
	}
	if state(h).Open&(1<<1) != 0 {
		t.Fatal("a cache without use is open")
	}
	for range 100 {
		give(1, take(1, 4096))
	}
	if state(h).Open&(1<<1) == 0 {
		t.Fatal("it stays closed")
	}
}

// TestCheckerSeesDamagedCaches holds the checker to finding every kind of fault in a cache, one at a time.
func TestCheckerSeesDamagedCaches(t *testing.T) {
	h, take, give := opened(t, 1<<20)
	live := []uintptr{take(1, 64), take(1, 4096), take(2, 4096)}
	give(1, live[1])
	state := state(h)
	cache := layout.At[layout.MempoolCache](layout.Address(state) + layout.MempoolCachesAt + layout.MempoolCacheBytes)
	held := slices.IndexFunc(cache.Words[:], func(w uint64) bool { return w != 0 && w&layout.MempoolKept == 0 })
	kept := slices.IndexFunc(cache.Words[:], func(w uint64) bool { return w&layout.MempoolKept != 0 })
	for name, damage := range map[string]func(){
		"a lost entry":       func() { cache.Words[held], cache.Addresses[held] = 0, 0 },
		"half an entry":      func() { cache.Words[held] = 0 },
		"an address":         func() { cache.Addresses[held] += 64 },
		"a size":             func() { cache.Words[held] += 64 },
		"kept, not listed":   func() { cache.Words[held] |= layout.MempoolKept },
		"listed, not kept":   func() { cache.Words[kept] &^= layout.MempoolKept },
		"a list in a circle": func() { cache.Next[kept] = uint8(kept + 1) },
		"bytes":              func() { cache.Freed += 64 },
		"the least":          func() { cache.Least++ },
		"a handle":           func() { cache.Handle = 0 },
		"a bit":              func() { state.Open &^= 1 << 1 },
		"a log":              func() { state.High++ },
	} {
		was, wasState := *cache, *state
		damage()
		if mempool.Check(h) == nil {
			t.Errorf("%s: the checker sees nothing", name)
		}
		*cache, *state = was, wasState
		require.NoError(t, mempool.Check(h))
	}
	give(1, live[0])
	give(2, live[2])
}
