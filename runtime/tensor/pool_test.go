package tensor

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func checkPool(t *testing.T) {
	t.Helper()
	_, err := Check()
	require.NoError(t, err)
}

func TestPoolKeepsWhatDied(t *testing.T) {
	c := newContext(t)
	require.Zero(t, PoolAcquire(c, 100, uint8(F32), CPU))
	require.Zero(t, c.Status)
	p := floating(t, c, F32, 20, 5)
	gen := object.Heap().Find(p).Gen
	require.Equal(t, status.OK, Release(c, p))
	require.EqualValues(t, 1, PoolCount(c))
	require.Equal(t, status.NotLive, Release(c, p))
	require.Greater(t, object.Heap().Find(p).Gen, gen)
	checkPool(t)
	require.Zero(t, PoolAcquire(c, 100, uint8(F64), CPU))
	require.Zero(t, PoolAcquire(c, 101, uint8(F32), CPU))
	require.Equal(t, p, PoolAcquire(c, 100, uint8(F32), CPU))
	require.EqualValues(t, 1, c.Refcount(p))
	require.EqualValues(t, 1, Rank(c, p))
	require.EqualValues(t, 100, Dim(c, p, 0))
	require.Zero(t, PoolCount(c))
	require.Equal(t, status.OK, PoolRelease(c, p, 100, uint8(F32), CPU))
	require.EqualValues(t, 1, PoolCount(c))
	require.Positive(t, PoolBytes(c))
	require.Equal(t, status.OK, DumpPool(c))
	require.Zero(t, LiveCount(c))
	inScope(t, c, func() {
		empty(t, c, F32, 7)
		require.EqualValues(t, 1, LiveCount(c))
	})
	for _, figure := range []func(*object.Context) int64{DeviceAllocatedBytes, DeviceFreeCount, DeviceFreeBytes} {
		require.Zero(t, figure(c))
	}
}

// A slot has as many lives as there are generations, and is retired with the last.
func TestPoolRetiresATensorInItsLastLife(t *testing.T) {
	c := newContext(t)
	p := floating(t, c, F32, 20, 5)
	r := object.Heap().Record(object.Heap().Find(p).Record)
	last := layout.GenLast | r.Gen&0xFF
	r.Gen = last - layout.GenOne
	require.Equal(t, status.OK, Release(c, p))
	require.EqualValues(t, 1, PoolCount(c))
	require.Equal(t, p, PoolAcquire(c, 100, uint8(F32), CPU))
	require.Equal(t, last, r.Gen)
	require.Equal(t, status.OK, Release(c, p))
	require.Zero(t, PoolCount(c))
	require.Equal(t, last, r.Gen)
	require.Equal(t, status.NotLive, Release(c, p))
	checkPool(t)
}

func TestPoolReleaseIsChecked(t *testing.T) {
	c := newContext(t)
	p := floating(t, c, F32, 10)
	require.Equal(t, status.InvalidArgument, PoolRelease(c, p, 11, uint8(F32), CPU))
	require.Equal(t, status.InvalidArgument, PoolRelease(c, p, 10, uint8(I32), CPU))
	require.Equal(t, status.InvalidArgument, PoolRelease(c, p, 10, uint8(F32), 3))
	require.Equal(t, status.OK, Acquire(c, p))
	require.Equal(t, status.Busy, PoolRelease(c, p, 10, uint8(F32), CPU))
	require.Contains(t, c.Message(), "2 references")
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, PoolRelease(c, p, 10, uint8(F32), CPU))
	require.Equal(t, status.NotLive, PoolRelease(c, p, 10, uint8(F32), CPU))
	require.EqualValues(t, 1, PoolCount(c))
	require.Zero(t, PoolAcquire(c, 10, 200, CPU))
	require.EqualValues(t, status.InvalidArgument, c.Status)
	require.Zero(t, PoolAcquire(c, 10, uint8(F32), 200))
	require.EqualValues(t, status.Device, c.Status)
}

func TestThirtyTwoForEachKey(t *testing.T) {
	c := newContext(t)
	held := make([]uintptr, defaultLimit+8)
	for i := range held {
		held[i] = floating(t, c, I32, 50)
	}
	for _, p := range held {
		require.Equal(t, status.OK, Release(c, p))
	}
	require.EqualValues(t, defaultLimit, PoolCount(c))
	checkPool(t)
	seen := map[uintptr]bool{}
	for range defaultLimit {
		p := PoolAcquire(c, 50, uint8(I32), CPU)
		require.False(t, seen[p])
		seen[p] = true
	}
	require.Zero(t, PoolAcquire(c, 50, uint8(I32), CPU))
	for p := range seen {
		require.Equal(t, status.OK, PoolRelease(c, p, 50, uint8(I32), CPU))
	}
}

// A header that was overwritten must not bring a slot under a key it is too small for.
func TestOverwrittenHeadersAreNotPooled(t *testing.T) {
	c := newContext(t)
	for _, spoil := range []func(*layout.TensorHeader){
		func(h *layout.TensorHeader) { h.Numel = 1 << 20 },
		func(h *layout.TensorHeader) { h.Numel = 1 << 63 },
		func(h *layout.TensorHeader) { h.Dtype = 7 },
		func(h *layout.TensorHeader) { h.Dtype = 200 },
		func(h *layout.TensorHeader) { h.Device = 1 },
		func(h *layout.TensorHeader) { h.Flags |= 1 << 20 },
	} {
		p := floating(t, c, F32, 50)
		spoil(header(p))
		require.Equal(t, status.OK, Release(c, p))
		c.Drain()
		require.Zero(t, PoolCount(c))
	}
}

func TestSteadyStateHits(t *testing.T) {
	c := newContext(t)
	before, rate := ReadPool(), DeviceHitRate(c)
	for range 100 {
		inScope(t, c, func() {
			for range 8 {
				empty(t, c, F32, 64, 64)
			}
		})
	}
	after := ReadPool()
	require.EqualValues(t, 99*8, after.Hits-before.Hits)
	require.EqualValues(t, 8, after.Misses-before.Misses)
	require.Equal(t, rate, DeviceHitRate(c), "no other device was asked")
}

// More keys than there are cells: those whose tensors are all out make room.
func TestKeysWithoutTensorsMakeRoom(t *testing.T) {
	c := newContext(t)
	step := int64(1)
	if memory.Instrumented {
		step = 7 // the tables are smaller too
	}
	for n := int64(1); n <= 40000; n += step {
		p := floating(t, c, U8, n)
		require.Equal(t, status.OK, Release(c, p))
		require.Equal(t, p, PoolAcquire(c, uintptr(n), uint8(U8), CPU), n)
		header(p).Flags |= 1 << 20 // not to be pooled again
		require.Equal(t, status.OK, Release(c, p))
		c.Drain()
	}
	checkPool(t)
}

// limitBytes gives the pool another limit for a test.
func limitBytes(t *testing.T, c *object.Context, n uint64) {
	Purge(c)
	pool.limit.Store(n)
	t.Cleanup(func() { Purge(c); pool.limit.Store(byteLimit) })
}

func TestOldShapesGiveWay(t *testing.T) {
	c := newContext(t)
	limitBytes(t, c, 1<<20)
	for n := range int64(2000) {
		require.Equal(t, status.OK, Release(c, floating(t, c, F32, 4000+n)))
		c.Drain()
	}
	checkPool(t)
	require.LessOrEqual(t, ReadPool().Bytes, uint64(1<<20))
	for range 64 { // the clock hand comes round
		require.Equal(t, status.OK, Release(c, floating(t, c, F32, 100)))
		c.Drain()
	}
	before := ReadPool().Hits
	require.Equal(t, status.OK, Release(c, floating(t, c, F32, 100)))
	require.Equal(t, before+1, ReadPool().Hits)
}

func TestTooLargeForThePool(t *testing.T) {
	c := newContext(t)
	limitBytes(t, c, 1<<20)
	p := floating(t, c, U8, 2<<20)
	require.Equal(t, status.OK, Release(c, p))
	c.Drain()
	require.Zero(t, PoolCount(c))
	p = floating(t, c, U8, 512<<10)
	require.Equal(t, status.OK, Release(c, p))
	require.EqualValues(t, 1, PoolCount(c))
	require.Equal(t, p, floating(t, c, U8, 8, 64<<10))
	require.Equal(t, status.OK, Free(c, p))
}

// Tensors made by one goroutine die on another.
func TestConcurrentPool(t *testing.T) {
	newContext(t)
	const workers, steps = 4, 3000
	passed := make(chan uintptr, 64)
	var work sync.WaitGroup
	for w := range uint64(workers) {
		work.Go(func() {
			c, st := object.NewContext()
			require.Equal(t, status.OK, st)
			random := rand.New(rand.NewPCG(w, 7))
			for range steps {
				churn(t, c, random, passed)
			}
			c.Drain()
			c.Finish()
		})
	}
	work.Wait()
	checkPool(t)
	close(passed)
	c, _ := object.NewContext()
	for p := range passed {
		require.Equal(t, status.OK, Release(c, p))
	}
	c.Drain()
	Purge(c)
	c.Finish()
}

func churn(t *testing.T, c *object.Context, random *rand.Rand, passed chan uintptr) {
	n := int64(1+random.IntN(6)) * 16
	p := PoolAcquire(c, uintptr(n), uint8(F32), CPU)
	if p == 0 {
		p = floating(t, c, F32, n)
	}
	elements[float32](c, p)[n-1]++
	switch random.IntN(3) {
	case 0:
		require.Equal(t, status.OK, PoolRelease(c, p, uintptr(n), uint8(F32), CPU))
		return
	case 1:
		require.Equal(t, status.OK, Acquire(c, p))
		require.Equal(t, status.OK, Release(c, p))
	}
	select {
	case passed <- p:
	default:
		require.Equal(t, status.OK, Release(c, p))
	}
	select {
	case q := <-passed:
		require.Equal(t, status.OK, Release(c, q))
	default:
	}
}
