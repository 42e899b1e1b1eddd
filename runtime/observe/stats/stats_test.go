package stats

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/cpu"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/figures"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

func newContext(t *testing.T) *object.Context {
	t.Helper()
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	t.Cleanup(c.Finish)
	return c
}

func add(a, b figures.Count) figures.Count {
	return figures.Count{Allocations: a.Allocations + b.Allocations, Frees: a.Frees + b.Frees, Live: a.Live + b.Live,
		Bytes: a.Bytes + b.Bytes}
}

// requireSums checks what package stats promises at quiescence.
func requireSums(t require.TestingT, s *figures.Snapshot) {
	var kinds, classes, types figures.Count
	hits := s.TensorPool.Hits
	for _, k := range s.Kinds {
		require.Equal(t, k.Allocations-k.Frees, k.Live, k.Kind)
		kinds = add(kinds, k.Count)
	}
	require.Equal(t, s.Total, kinds)
	for _, k := range s.Classes {
		require.Equal(t, k.Allocations-k.Frees, k.Live, k.SlotBytes)
		if k.SlotBytes != 0 {
			require.Equal(t, k.Live*k.SlotBytes, k.Bytes)
		}
		classes = add(classes, k.Count)
	}
	require.Equal(t, s.Total, add(classes, figures.Count{Allocations: hits, Frees: hits}))
	for _, k := range s.Types {
		require.Equal(t, k.Allocations-k.Frees, k.Live, k.Name)
		types = add(types, k.Count)
	}
	require.Equal(t, "typed", s.Kinds[1].Kind)
	require.Equal(t, s.Kinds[1].Count, types)
	requireDevices(t, s)
}

func requireDevices(t require.TestingT, s *figures.Snapshot) {
	var sum figures.Device
	for i, d := range s.Devices {
		require.Equal(t, d.InUse+d.Cached, d.Reserved, d.Device)
		require.Equal(t, d.Allocated-d.Freed, d.InUse, d.Device)
		require.Equal(t, d.Allocations-d.Frees, d.Live, d.Device)
		require.Equal(t, d.Obtained-d.Returned, d.Reserved, d.Device)
		require.LessOrEqual(t, d.InUse, d.PeakInUse, d.Device)
		require.LessOrEqual(t, d.LargestFree, d.Cached, d.Device)
		require.LessOrEqual(t, d.PeakInUse, max(d.Peak, d.InUse), d.Device)
		if i > 0 {
			sum.Reserved += d.Reserved
			sum.InUse += d.InUse
			sum.Live += d.Live
			sum.Allocated += d.Allocated
		}
	}
	total := s.Devices[0]
	require.Equal(t, [4]uint64{total.Reserved, total.InUse, total.Live, total.Allocated},
		[4]uint64{sum.Reserved, sum.InUse, sum.Live, sum.Allocated})
	require.Equal(t, s.Total.Bytes+s.PoolBlocks.Bytes, total.InUse)
	require.Equal(t, s.Total.Live+s.PoolBlocks.Live, total.Live)
}

// everyKind makes some of everything and returns what ends it.
func everyKind(t *testing.T, c *object.Context) (end func()) {
	typ, st := c.Define(object.Type{Name: "a \"type\"\n\xff", Size: 40, Offsets: []uintptr{8}})
	require.Equal(t, status.OK, st)
	h, err := mempool.Create(device.Allocator(cpu.New(func() bool { return false })), limit.CPU, 1<<20)
	require.NoError(t, err)
	block, err := mempool.Allocate(h, 5000)
	require.NoError(t, err)
	shape := new([2]int64)
	var pin runtime.Pinner // what a function holds may lie in a stack, which moves
	pin.Pin(shape)
	defer pin.Unpin()
	c.EnterScope()
	for i := range uintptr(40) {
		c.New(1 + i*333)
		c.ObjectNew(typ)
		c.VecNew(i)
		*shape = [2]int64{int64(i), 7}
		tensor.NewZeroed(c, int32(tensor.F32), 0, 2, layout.Address(&shape[0]))
	}
	c.New(1 << 20)
	pooled := tensor.PoolAcquire(c, 70, uint8(tensor.F32), 0)
	if pooled == 0 {
		*shape = [2]int64{10, 7}
		pooled = tensor.Empty(c, int32(tensor.F32), 0, 2, layout.Address(&shape[0]))
		require.Equal(t, status.OK, tensor.Promote(c, pooled))
	}
	return func() {
		require.Equal(t, status.OK, tensor.PoolRelease(c, pooled, 70, uint8(tensor.F32), 0))
		c.ExitScope()
		require.NoError(t, mempool.Deallocate(h, block))
		require.NoError(t, mempool.Destroy(h))
	}
}

func TestSumsHoldAtRest(t *testing.T) {
	c := newContext(t)
	before := Read(All)
	requireSums(t, before)
	end := everyKind(t, c)
	during := Read(All)
	requireSums(t, during)
	require.Equal(t, before.Kinds[1].Live+40, during.Kinds[1].Live)
	require.Equal(t, before.Kinds[4].Live+41, during.Kinds[4].Live)
	require.Equal(t, before.PoolBlocks.Live+1, during.PoolBlocks.Live)
	end()
	after := Read(All)
	requireSums(t, after)
	require.Equal(t, before.Total.Live, after.Total.Live)
	require.Equal(t, before.Total.Bytes, after.Total.Bytes)
	require.Equal(t, before.PoolBlocks.Allocations+1, after.PoolBlocks.Allocations, "those of pools that ended count")
	require.GreaterOrEqual(t, after.Devices[0].PeakInUse, during.Devices[0].InUse)
	end = everyKind(t, c) // one tensor from the pool
	requireSums(t, Read(All))
	require.Greater(t, Read(All).TensorPool.Hits, before.TensorPool.Hits)
	end()
	tensor.Purge(c)
	requireSums(t, Read(All))
	require.NoError(t, object.CheckStats())
}

func TestPeaksAreReset(t *testing.T) {
	c := newContext(t)
	p := c.Alloc(8 << 20)
	high := Read(All).Devices[0]
	require.Equal(t, status.OK, c.Release(p))
	c.Purge()
	require.GreaterOrEqual(t, Read(All).Devices[0].PeakInUse, high.InUse)
	ResetPeaks()
	low := Read(All).Devices[0]
	require.Less(t, low.PeakInUse, high.InUse)
	require.Equal(t, low.Reserved, low.Peak)
}

// TestASnapshotAddsUpWhileThreadsWork holds every line that is promised for any moment.
func TestASnapshotAddsUpWhileThreadsWork(t *testing.T) {
	most := math.MaxInt
	if memory.Instrumented { // a pool that ended gives nothing back there
		most = 25
	}
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range 3 {
		c, st := object.NewContext()
		require.Equal(t, status.OK, st)
		workers.Add(1)
		go func() {
			defer workers.Done()
			for range most {
				if stop.Load() {
					break
				}
				everyKind(t, c)()
			}
			c.Finish()
		}()
	}
	for range 100 {
		s := Read(All)
		var kinds figures.Count
		for _, k := range s.Kinds {
			require.Equal(t, k.Allocations-k.Frees, k.Live, k.Kind)
			require.LessOrEqual(t, k.Live, k.Allocations, k.Kind)
			kinds = add(kinds, k.Count)
		}
		require.Equal(t, s.Total, kinds)
		for _, d := range s.Devices {
			require.Equal(t, d.InUse+d.Cached, d.Reserved, d.Device)
			require.Equal(t, d.Allocated-d.Freed, d.InUse, d.Device)
		}
	}
	stop.Store(true)
	workers.Wait()
	requireSums(t, Read(All))
}

func TestJSONIsWhatTheLibraryWouldWrite(t *testing.T) {
	c := newContext(t)
	defer everyKind(t, c)()
	s := Read(All)
	var again figures.Snapshot
	require.NoError(t, json.Unmarshal(s.JSON(), &again))
	s.Types = replaceInvalid(s.Types)
	require.Equal(t, s, &again)
	want, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	got := strings.NewReplacer(`\u000a`, `\n`).Replace(string(s.JSON()))
	require.Equal(t, string(want)+"\n", got)
}

func replaceInvalid(types []figures.Type) []figures.Type {
	for i := range types {
		types[i].Name = strings.ToValidUTF8(types[i].Name, "\uFFFD")
	}
	return types
}

func TestTheTableHasAlignedColumns(t *testing.T) {
	c := newContext(t)
	defer everyKind(t, c)()
	table := Read(All).Table()
	for _, part := range []string{"objects", "  typed", "vec tables", "blocks of pools", "large", "cpu", "tensor pool",
		"MiB"} {
		require.Contains(t, table, part)
	}
	for _, part := range strings.Split(table, "\n\n")[1:] {
		lines := strings.Split(strings.TrimRight(part, "\n"), "\n")
		for _, line := range lines {
			require.Equal(t, utf8.RuneCountInString(lines[0]), utf8.RuneCountInString(line), line)
		}
	}
}
