package mempool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// fake grants addresses where no memory is, one range after the other.
type fake struct {
	mu       sync.Mutex
	granule  uintptr
	next     uintptr
	granted  map[uintptr]uintptr
	stubborn bool // takes nothing back
	vast     bool // grants any size
}

func newFake() *fake { return &fake{granule: 64, next: 1 << 40, granted: map[uintptr]uintptr{}} }

func (f *fake) Name() string       { return "fake" }
func (f *fake) Alignment() uintptr { return f.granule }

func (f *fake) Allocate(n uintptr) (uintptr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 1<<36 && !f.vast {
		return 0, errors.New("fake is small")
	}
	at := f.next
	f.next += n + 4096
	f.granted[at] = n
	return at, nil
}

func (f *fake) Deallocate(block, n uintptr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stubborn {
		return errors.New("fake keeps it")
	}
	if f.granted[block] != n {
		panic(fmt.Sprintf("%d bytes at %#x were never granted", n, block))
	}
	delete(f.granted, block)
	return nil
}

func open(t testing.TB, d device.Allocator, bytes uintptr) Handle {
	t.Helper()
	h, err := Create(d, limit.Own, bytes)
	require.NoError(t, err)
	return h
}

func take(t testing.TB, h Handle, n uintptr) uintptr {
	t.Helper()
	address, err := Allocate(h, n)
	require.NoError(t, err)
	return address
}

func give(t testing.TB, h Handle, address uintptr) {
	t.Helper()
	require.NoError(t, Deallocate(h, address))
}

func wantStatus(t *testing.T, err error, want status.Status) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Status != want {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func stats(t testing.TB, h Handle) Stats {
	t.Helper()
	s, err := ReadStats(h)
	require.NoError(t, err)
	return s
}

// A device that does not take chunks back is told; the chunks are gone all the same.
//
// covers: tl_memory_pool_trim TL_E_DEVICE
// covers: tl_memory_pool_set_limit TL_E_DEVICE
// covers: tl_memory_pool_destroy TL_E_DEVICE
func TestDeviceKeepsChunks(t *testing.T) {
	d := newFake()
	d.stubborn = true
	h := open(t, d, 4096)
	wantStatus(t, Trim(h), status.Device)
	if s := stats(t, h); s.Reserved != 0 || s.FreeBlocks != 0 {
		t.Fatalf("%+v", s)
	}
	give(t, h, take(t, h, 10000))
	wantStatus(t, SetLimit(h, 64), status.Device)
	require.NoError(t, SetLimit(h, 0))
	give(t, h, take(t, h, 10000))
	wantStatus(t, Destroy(h), status.Device)
	wantStatus(t, Destroy(h), status.InvalidArgument)
}

// An error that is no device's own is a lack of memory; its text stays.
func TestDeviceErrorText(t *testing.T) {
	h := open(t, newFake(), 4096)
	_, err := Allocate(h, 1<<40)
	wantStatus(t, err, status.OutOfMemory)
	if !strings.Contains(err.Error(), "fake is small") {
		t.Fatal(err)
	}
	_ = Destroy(h)
}

func TestAlignments(t *testing.T) {
	for _, granule := range []uintptr{0, 3, 96, 1 << 33, 1<<63 + 1} {
		d := newFake()
		d.granule = granule
		_, err := Create(d, limit.Own, 4096)
		wantStatus(t, err, status.InvalidArgument)
	}
}

// Bins keep the order of sizes: a larger block is never in an earlier bin, and the last
// size still has one.
func TestBinsAreMonotone(t *testing.T) {
	last := uint32(0)
	for _, n := range []uint64{1, 2, 511, 512, 513, 1023, 1024, 1025, 1026, 2047, 2048, 1 << 20, 1<<20 + 2048, 1 << 47,
		layout.MempoolBytes} {
		bin := binOf(n)
		if bin < last || bin >= layout.MempoolLeaves*64 {
			t.Fatalf("size %d is in bin %d, a smaller one in %d", n, bin, last)
		}
		last = bin
	}
	for n := uint64(1); n < 2*layout.MempoolSubbins; n++ {
		if binOf(n) != uint32(n) {
			t.Fatalf("size %d is in bin %d", n, binOf(n))
		}
	}
}

// Chunks of every size stand in the bins that the checker expects.
func TestChunksOfEverySizeHaveTheirBin(t *testing.T) {
	d := newFake()
	d.granule, d.vast = 1, true
	for up := range 47 {
		for _, n := range []uintptr{1<<up - 1, 1 << up, 1<<up + 1, 1<<up + 1<<up/3} {
			h := open(t, d, max(n, 1))
			if err := Check(h); err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if s := stats(t, h); s.LargestFreeBlock != uint64(max(n, 1)) {
				t.Fatalf("%d bytes: %+v", n, s)
			}
			require.NoError(t, Destroy(h))
		}
	}
}

// The best fit may be in the bin of the request or in the next one, the largest block anywhere in the last bin: above
// 1024 granules a bin has blocks of several sizes.
func TestBinsOfSeveralSizes(t *testing.T) {
	h := open(t, newFake(), 2<<20)
	size := func(granules uintptr) uintptr { return 64 * (2048 + granules) } // bins of 4 granules
	blocks := map[uintptr]uintptr{}
	for _, n := range []uintptr{8, 0, 11, 9, 4, 10, 3} {
		blocks[n] = take(t, h, size(n))
		take(t, h, 64) // keeps them apart
	}
	take(t, h, uintptr(stats(t, h).LargestFreeBlock))
	for _, at := range blocks {
		give(t, h, at)
	}
	for _, c := range []struct{ request, block uintptr }{{1, 3}, {2, 4}, {0, 0}, {5, 8}} {
		if at := take(t, h, size(c.request)); at != blocks[c.block] {
			t.Fatalf("2048 + %d granules at %#x, the best fit of 2048 + %d is at %#x", c.request, at, c.block, blocks[c.block])
		}
	}
	for _, n := range []uintptr{11, 10, 9} {
		if s := stats(t, h); s.LargestFreeBlock != uint64(size(n)) {
			t.Fatalf("the largest block has %d bytes, not %d", s.LargestFreeBlock, size(n))
		}
		take(t, h, size(n))
	}
	_ = Reset(h, func() {})
	_ = Destroy(h)
}

func TestTablesGrowAndAreReturned(t *testing.T) {
	d := newFake()
	before := memory.Purposes()[purpose]
	h := open(t, d, 1<<20)
	var blocks []uintptr
	for range 5000 {
		blocks = append(blocks, take(t, h, 64))
	}
	require.NoError(t, Check(h))
	if s := stats(t, h); s.DeviceAllocations != 1 {
		t.Fatalf("%d chunks for want of records", s.DeviceAllocations)
	}
	large := memory.Purposes()[purpose]
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for _, b := range blocks {
		give(t, h, b)
	}
	require.NoError(t, Reset(h, func() {}))
	if small := memory.Purposes()[purpose]; small >= large {
		t.Fatalf("%d bytes of tables for 5000 blocks, %d after reset", large, small)
	}
	give(t, h, take(t, h, 64))
	require.NoError(t, Check(h))
	require.NoError(t, Destroy(h))
	after := memory.Purposes()[purpose]
	if before == 0 { // the table of pools stays
		before = layout.MempoolSlots * layout.MempoolStride
	}
	if after > before+layout.SpanBytes || len(d.granted) != 0 {
		t.Fatalf("%d bytes of tables before, %d after; %d chunks", before, after, len(d.granted))
	}
}

// A pool keeps its tables where there is no memory for smaller ones.
func TestResetWithoutMemory(t *testing.T) {
	h := open(t, newFake(), 1<<20)
	for range 5000 {
		take(t, h, 64)
	}
	memory.FailAfter(0)
	err := Reset(h, func() {})
	memory.FailAfter(-1)
	require.NoError(t, err)
	give(t, h, take(t, h, 64))
	require.NoError(t, Check(h))
	require.NoError(t, Destroy(h))
}

// The log's positions are modulo 2^32.
func TestLogWraps(t *testing.T) {
	h := open(t, newFake(), 1<<20)
	s := stateAt(uint32(h % layout.MempoolSlots))
	s.Low, s.Live, s.High = ^uint32(2), ^uint32(2), ^uint32(2)
	var first []uintptr
	for round := range 3 {
		var blocks []uintptr
		for i := range uintptr(70) {
			blocks = append(blocks, take(t, h, 64+64*(i%3)))
		}
		if round == 0 {
			first = blocks
		} else if !slices.Equal(first, blocks) {
			t.Fatalf("round %d has another layout", round)
		}
		require.NoError(t, Check(h))
		for i := len(blocks) - 1; i >= 0; i-- {
			give(t, h, blocks[i])
		}
		require.NoError(t, Check(h))
	}
	require.NoError(t, Destroy(h))
}

func TestFourThreads(t *testing.T) {
	d := newFake()
	h := open(t, d, 1<<20)
	var wait sync.WaitGroup
	for seed := range uint64(4) {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(seed, seed))
			var live []uintptr
			for range 2000 {
				if len(live) > 20 || len(live) > 0 && random.IntN(2) == 0 {
					i := random.IntN(len(live))
					give(t, h, live[i])
					live = append(live[:i], live[i+1:]...)
				} else {
					live = append(live, take(t, h, uintptr(1+random.UintN(1<<random.UintN(18)))))
				}
			}
			for _, address := range live {
				give(t, h, address)
			}
		})
	}
	wait.Go(func() {
		for range 50 {
			_ = Trim(h)
			stats(t, h)
		}
	})
	wait.Wait()
	require.NoError(t, Check(h))
	require.NoError(t, Destroy(h))
}

// BenchmarkPair is a fresh block that comes and goes beside n live ones, by the slow path.
func BenchmarkPair(b *testing.B) {
	for _, n := range []int{1e3, 1e5} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h := open(b, newFake(), 1<<30)
			for range n {
				take(b, h, 4096)
			}
			for b.Loop() {
				give(b, h, take(b, h, 4096))
			}
			_ = Reset(h, func() {})
			_ = Destroy(h)
		})
	}
}
