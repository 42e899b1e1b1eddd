package tensor

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/config"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// unlimited ends what a test has set.
func unlimited(t *testing.T, c *object.Context) {
	Purge(c)
	t.Cleanup(func() {
		limit.Set(limit.CPU, 0, 0)
		limit.Set(limit.Total, 0, 0)
		ConfigurePool(defaultLimit, byteLimit)
		Purge(c)
	})
}

// large is a tensor of eight spans.
const large = 120 << 10

// requireSum holds the account to what heap and pools hold.
func requireSum(t *testing.T, chunks uint64) {
	t.Helper()
	require.Equal(t, object.Heap().Usage().Slabs+chunks, limit.Used(limit.CPU))
}

func TestPressureTakesColdTensorsFirstAndNoMoreThanNeeded(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	keepTensors(t, c, 4, large)
	keepTensors(t, c, 4, large+100)
	p := PoolAcquire(c, large, uint8(F32), CPU)
	require.Equal(t, status.OK, PoolRelease(c, p, large, uint8(F32), CPU)) // a hit
	before := limit.Used(limit.CPU)
	limit.Set(limit.CPU, 0, before)
	p = floating(t, c, F32, large+999)
	require.EqualValues(t, 7, PoolCount(c), "one of the eight had to go")
	require.EqualValues(t, 4, ReadPoolKey(0).Tensors)
	require.EqualValues(t, 3, ReadPoolKey(1).Tensors)
	q := PoolAcquire(c, large+100, uint8(F32), CPU)
	require.EqualValues(t, 6, PoolCount(c), "a hit costs nothing")
	checkPool(t)
	requireSum(t, 0)
	require.Equal(t, before, limit.Used(limit.CPU))
	require.Equal(t, status.OK, Release(c, p))
	require.Equal(t, status.OK, Release(c, q))
	c.Drain()
}

func TestNearALimitNothingNewIsKept(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	p := floating(t, c, F32, large)
	limit.Set(limit.CPU, 1, 0) // far below: setting it frees what other tests have left
	require.Equal(t, status.OK, PoolRelease(c, p, large, uint8(F32), CPU))
	c.Drain()
	require.Zero(t, PoolCount(c))
	checkPool(t)
	limit.Set(limit.CPU, 0, 0)
	keepTensors(t, c, 1, large)
	require.EqualValues(t, 1, PoolCount(c))
	p = floating(t, c, F32, large)
	limit.Set(limit.CPU, 0, limit.Used(limit.CPU))
	require.Equal(t, status.OK, PoolRelease(c, p, large, uint8(F32), CPU))
	c.Drain()
	require.LessOrEqual(t, PoolCount(c), int64(1), "above 7/8 of the hard limit, too")
	checkPool(t)
}

func TestOldShapesGiveWay(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	require.Equal(t, status.OK, SetPoolLimits(c, defaultLimit, 1<<20))
	for n := range int64(2000) {
		keepTensors(t, c, 1, 4000+n)
	}
	checkPool(t)
	require.LessOrEqual(t, ReadPool().Bytes, uint64(1<<20))
	keepTensors(t, c, 1, 100)
	require.Equal(t, status.OK, Release(c, PoolAcquire(c, 100, uint8(F32), CPU)))
	c.Drain()
}

func TestAFailureNamesTheLargestKeys(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	keepTensors(t, c, 3, 1000)
	limit.Set(limit.CPU, 0, limit.Used(limit.CPU)+1)
	require.Zero(t, Empty(c, int32(F32), CPU, 1, array(t, 1<<40)))
	require.EqualValues(t, status.OutOfMemory, c.Error.Status)
	require.EqualValues(t, 3, PoolCount(c), "what no cache can help empties none")
	require.Contains(t, c.Message(), "(1000, f32) x 3 = ")
	require.Contains(t, c.Message(), "4.0 TiB requested of cpu")
	require.EqualValues(t, 1, c.Shortage.IsOpen)
}

func TestPoolLimitsMoveWhatIsKept(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	keepTensors(t, c, 40, 64)
	require.EqualValues(t, defaultLimit, PoolCount(c))
	require.Equal(t, status.OK, SetPoolLimits(c, 100, byteLimit))
	keepTensors(t, c, 120, 64)
	keepTensors(t, c, 50, 65)
	require.EqualValues(t, 150, PoolCount(c))
	require.Equal(t, PoolKeyStats{Elements: 64, Tensors: 100, Bytes: ReadPoolKey(0).Bytes}, ReadPoolKey(0))
	require.EqualValues(t, 50, ReadPoolKey(1).Tensors)
	require.Zero(t, ReadPoolKey(2).Tensors)
	checkPool(t)
	require.Equal(t, status.OK, SetPoolLimits(c, 10, byteLimit))
	require.EqualValues(t, 20, PoolCount(c))
	checkPool(t)
	require.Equal(t, status.OK, SetPoolLimits(c, 10, ReadPool().Bytes/2))
	require.LessOrEqual(t, PoolCount(c), int64(10))
	require.Positive(t, PoolCount(c))
	checkPool(t)
	require.Equal(t, status.OK, SetPoolLimits(c, 0, byteLimit))
	require.Zero(t, PoolCount(c))
	keepTensors(t, c, 5, 64)
	require.Zero(t, PoolCount(c))
	require.Equal(t, status.InvalidArgument, SetPoolLimits(c, config.MaxPerKey+1, byteLimit))
}

// Limits of both kinds change while threads make and drop tensors.
func TestLimitsChangeUnderLoad(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	passed := make(chan uintptr, 64)
	var work sync.WaitGroup
	for w := range uint64(3) {
		work.Go(func() {
			me, st := object.NewContext()
			require.Equal(t, status.OK, st)
			random := rand.New(rand.NewPCG(w, 9))
			for range 2000 {
				churn(t, me, random, passed)
			}
			me.Drain()
			me.Finish()
		})
	}
	for n := range uint64(200) {
		ConfigurePool(n*37%150, n%5*(64<<10))
		limit.Set(limit.CPU, limit.Used(limit.CPU)*(n%3), 0)
	}
	work.Wait()
	ConfigurePool(defaultLimit, byteLimit)
	checkPool(t)
	requireSum(t, 0)
	close(passed)
	for p := range passed {
		require.Equal(t, status.OK, Release(c, p))
	}
	c.Drain()
}

// The charges are the spans in use and the chunks held, whatever happens.
func TestChargesAreWhatIsHeld(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	fake := devicetest.NewFake("fake:0", 1<<30)
	h, err := mempool.Create(fake, limit.CPU, 64<<10)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(3, 4))
	var objects, taken []uintptr
	for step := range 3000 {
		switch random.IntN(6) {
		case 0, 1:
			if p := c.Alloc(uintptr(random.IntN(400 << 10))); p != 0 {
				objects = append(objects, p)
			}
		case 2:
			if p, err := mempool.Allocate(h, uintptr(1+random.IntN(100<<10))); err == nil {
				taken = append(taken, p)
			}
		case 3:
			for _, p := range taken[len(taken)/2:] {
				require.NoError(t, mempool.Deallocate(h, p))
			}
			taken = taken[:len(taken)/2]
		case 4:
			for _, p := range objects[len(objects)/2:] {
				require.Equal(t, status.OK, c.Release(p))
			}
			objects = objects[:len(objects)/2]
		case 5:
			hard := uint64(0)
			if step%2 == 0 {
				hard = limit.Used(limit.CPU) + uint64(random.IntN(1<<20))
			}
			limit.Set(limit.CPU, hard/2, hard)
		}
		s, err := mempool.ReadStats(h)
		require.NoError(t, err)
		requireSum(t, s.Reserved)
		f := limit.Read(limit.CPU)
		require.Equal(t, f.Reserved, f.InUse+f.Cached)
	}
	for _, p := range objects {
		require.Equal(t, status.OK, c.Release(p))
	}
	require.NoError(t, mempool.Reset(h, func() {}))
	require.NoError(t, mempool.Destroy(h))
	requireSum(t, 0)
	require.Zero(t, limit.Read(limit.CPU).InUse)
}
