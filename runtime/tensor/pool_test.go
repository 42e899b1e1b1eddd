package tensor

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

func checkPool(t *testing.T) {
	t.Helper()
	_, err := Check()
	require.NoError(t, err)
}

// keepTensors gives tensors of a key to the pool.
func keepTensors(t *testing.T, c *object.Context, count int, elements int64) {
	t.Helper()
	held := make([]uintptr, count)
	for i := range held {
		held[i] = floating(t, c, F32, elements)
	}
	for _, p := range held {
		require.Equal(t, status.OK, PoolRelease(c, p, uintptr(elements), uint8(F32), CPU))
	}
	c.Drain()
}

func TestPoolKeepsWhatItWasGiven(t *testing.T) {
	c := newContext(t)
	before := ReadPool()
	require.Zero(t, PoolAcquire(c, 100, uint8(F32), CPU))
	require.Zero(t, c.Error.Status)
	p := floating(t, c, F32, 20, 5)
	gen := object.Heap().Find(p).Gen
	require.Equal(t, status.OK, PoolRelease(c, p, 100, uint8(F32), CPU))
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
	require.Equal(t, status.OK, DumpPool(c))
	require.Zero(t, LiveCount(c))
	inScope(t, c, func() {
		empty(t, c, F32, 100)
		require.EqualValues(t, 1, LiveCount(c))
		require.EqualValues(t, 1, PoolCount(c), "nothing but PoolAcquire takes what is kept")
	})
	require.EqualValues(t, 1, PoolCount(c), "and nothing but PoolRelease brings anything there")
	after := ReadPool()
	require.EqualValues(t, 1, after.Hits-before.Hits)
	require.EqualValues(t, 3, after.Misses-before.Misses)
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
	require.Equal(t, status.OK, PoolRelease(c, p, 100, uint8(F32), CPU))
	require.EqualValues(t, 1, PoolCount(c))
	require.Equal(t, p, PoolAcquire(c, 100, uint8(F32), CPU))
	require.Equal(t, last, r.Gen)
	require.Equal(t, status.OK, PoolRelease(c, p, 100, uint8(F32), CPU))
	c.Drain()
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
	require.EqualValues(t, status.InvalidArgument, c.Error.Status)
	require.Zero(t, PoolAcquire(c, 10, uint8(F32), 200))
	require.EqualValues(t, status.Device, c.Error.Status)
}

func TestThirtyTwoForEachKey(t *testing.T) {
	c := newContext(t)
	keepTensors(t, c, defaultLimit+8, 50)
	require.EqualValues(t, defaultLimit, PoolCount(c))
	checkPool(t)
	seen := map[uintptr]bool{}
	for range defaultLimit {
		p := PoolAcquire(c, 50, uint8(F32), CPU)
		require.False(t, seen[p])
		seen[p] = true
	}
	require.Zero(t, PoolAcquire(c, 50, uint8(F32), CPU))
	for p := range seen {
		require.Equal(t, status.OK, PoolRelease(c, p, 50, uint8(F32), CPU))
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
		h := header(p)
		require.Equal(t, status.OK, PoolRelease(c, p, uintptr(h.Numel), h.Dtype, h.Device))
		c.Drain()
		require.Zero(t, PoolCount(c))
	}
}

// A program with very many shapes does not keep the names of all of them.
func TestKeysWithoutTensorsGo(t *testing.T) {
	c := newContext(t)
	for n := range int64(1000) {
		keepTensors(t, c, 1, n+1)
		require.Equal(t, status.OK, Release(c, PoolAcquire(c, uintptr(n+1), uint8(F32), CPU)))
	}
	require.LessOrEqual(t, len(cacheOf(CPU).ring), leastCrowd)
	checkPool(t)
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
