package tensor

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/device/devicetest"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// far is a device of 64 MiB that the CPU cannot reach; its number is 1.
var far = devicetest.NewFake("far:0", 64<<20)

var devicesOfTests = sync.OnceValue(func() *device.Set {
	set := device.NewSet([]device.Device{cpu.New(func() bool { return false })})
	if _, err := set.Register(far); err != nil {
		panic(err)
	}
	return set
})

// withFar is newContext with the device; the test ends with all its memory returned.
func withFar(t *testing.T) *object.Context {
	Devices.Set = devicesOfTests
	Devices.Default = func() (int32, error) { return 1, nil }
	c := newContext(t)
	t.Cleanup(func() {
		checkPool(t)
		Purge(c)
		Devices.Set, Devices.Default = nil, nil
		require.Empty(t, far.Faults())
		_, bytes := far.Outstanding()
		require.Zero(t, bytes)
		require.Zero(t, DeviceAllocatedBytes(c))
	})
	return c
}

// work makes tensors on the device, copies them about, and holds the contents to what
// they must be; false when a call failed.
func work(t *testing.T, c *object.Context) bool {
	here := New(c, array[float32](t, 1, 2, 3, 4, 5, 6), 2, array[int64](t, 2, 3))
	there := To(c, here, 1)
	if there == 0 {
		return false
	}
	turned := Clone(c, View(c, there, layout.ViewTranspose, 0, 1))
	zeros := NewZeroed(c, int32(F32), DefaultDevice, 2, array[int64](t, 3, 2))
	if turned == 0 || zeros == 0 || Copy(c, zeros, turned) != status.OK {
		return false
	}
	back := To(c, zeros, CPU)
	if back == 0 {
		return false
	}
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, elements[float32](c, back))
	return true
}

// Every call of the device fails once, at each place: nothing is left, and the next
// attempt succeeds.
func TestDeviceFailsAtEveryCall(t *testing.T) {
	c := withFar(t)
	for _, call := range []devicetest.Call{devicetest.Allocate, devicetest.FromHost, devicetest.ToHost,
		devicetest.Within, devicetest.Fill} {
		for k := 1; ; k++ {
			Purge(c)
			far.FailAt(call, k)
			good := false
			inScope(t, c, func() { good = work(t, c) })
			checkPool(t)
			far.FailAt(call, 0)
			inScope(t, c, func() { require.True(t, work(t, c), c.Message()) })
			c.Drain()
			require.Equal(t, DeviceFreeCount(c), int64(ReadPool().Tensors-cacheOf(CPU).kept()),
				"what is not kept was given back")
			if good {
				break
			}
		}
	}
}

func TestDeviceTensorsAreKept(t *testing.T) {
	c := withFar(t)
	p := Empty(c, int32(F32), 1, 1, array[int64](t, 500))
	require.NotZero(t, p)
	require.Equal(t, status.OK, Promote(c, p))
	data := Data(c, p)
	require.Equal(t, status.OK, Release(c, p))
	require.EqualValues(t, 1, DeviceFreeCount(c))
	require.Equal(t, status.NotLive, PoolRelease(c, p, 500, uint8(F32), 1))
	require.Equal(t, p, PoolAcquire(c, 500, uint8(F32), 1))
	require.Equal(t, data, Data(c, p))
	require.Positive(t, DeviceHitRate(c))
	require.Equal(t, status.OK, PoolRelease(c, p, 500, uint8(F32), 1))
	PurgeDevice(c, 1)
	require.Zero(t, DeviceFreeCount(c))
	_, bytes := far.Outstanding()
	require.Zero(t, bytes)
}

// For the race detector: threads make, keep, copy and evict tensors of one device.
func TestDeviceTensorsOfThreads(t *testing.T) {
	withFar(t)
	var threads sync.WaitGroup
	for range 4 {
		threads.Go(func() {
			c, st := object.NewContext()
			if st != status.OK {
				t.Error(st)
				return
			}
			for i := range 100 {
				if c.EnterScope() != status.OK || !work(t, c) || c.ExitScope() != status.OK {
					t.Error(c.Message())
				}
				if i%20 == 0 {
					PurgeDevice(c, 1)
				}
			}
			c.Finish()
		})
	}
	threads.Wait()
}

// A pool gives out more than was asked for where that is no multiple of its alignment; what
// is kept is not in use, to the byte.
func TestKeptTensorsOfADeviceAreNotInUse(t *testing.T) {
	c := withFar(t)
	before := limit.Read(1).InUse
	inScope(t, c, func() {
		require.NotZero(t, Empty(c, int32(U8), 1, 1, array[int64](t, 4801)))
		require.Greater(t, limit.Read(1).InUse, before)
	})
	require.EqualValues(t, 1, ReadDevices().Kept)
	require.Equal(t, before, limit.Read(1).InUse)
}

// What is kept on a device is a part of the tensor pool when memory is short there, when
// its limits move, and when keys are listed.
func TestKeptTensorsOfADeviceGiveWay(t *testing.T) {
	c := withFar(t)
	t.Cleanup(func() {
		limit.Set(1, 0, 0)
		ConfigurePool(defaultLimit, byteLimit)
	})
	const mega = 1 << 20 / 4
	keep := func(count int, elements int64) {
		inScope(t, c, func() {
			for range count {
				require.NotZero(t, Empty(c, int32(F32), 1, 1, array(t, elements)))
			}
		})
	}
	keptNow := func() uint64 { return ReadDevices().Kept }
	keep(10, 4*mega)
	require.EqualValues(t, 10, keptNow())
	require.Equal(t, PoolKeyStats{Elements: 4 * mega, Tensors: 10, Bytes: 40 << 20, Dtype: uint32(F32), Device: 1},
		ReadPoolKey(0))
	inScope(t, c, func() { // 64 MiB are all there is, and 40 are kept
		require.NotZero(t, Empty(c, int32(F32), 1, 1, array[int64](t, 48*mega)))
	})
	require.Less(t, keptNow(), uint64(10))
	Purge(c)
	keep(10, mega)
	require.Equal(t, status.OK, SetPoolLimits(c, 4, byteLimit))
	require.EqualValues(t, 4, keptNow())
	require.Equal(t, status.OK, SetPoolLimits(c, 4, 2<<20))
	require.EqualValues(t, 2, keptNow())
	limit.Set(1, 1, 0)
	require.Zero(t, keptNow(), "the limit is far below what is held")
	keep(3, mega)
	require.Zero(t, keptNow(), "near a limit nothing new is kept")
}
