package tensor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// lend gives c the places of up to n tensors that the pool keeps of a key, and the tensors. In C a
// hit does that.
func lend(c *object.Context, k key, n uint64) *layout.TensorCell {
	s, cell := shardOf(k), &c.Cells()[cellHome(k)]
	for range n {
		s.lock()
		at := s.find(k)
		e := *entry(at.Stack, at.Count-1)
		if cell.Room == 0 {
			d := dtypeOf(k.kind)
			of := spec{dtype: d, numel: k.elements, nbytes: k.elements * d.Size()}
			*cell = layout.TensorCell{Numel: k.elements, Nbytes: of.nbytes, Asked: of.total(), Bytes: at.Bytes,
				Kind: uint64(d) | 1<<16 | layout.TensorContiguous<<32, Class: e.Gen & 0xFF}
			cell.Shape[0], cell.Strides[0] = int64(k.elements), 1
		}
		cell.Entries[cell.Count] = e
		cell.Count++
		cell.Room++
		at.Count--
		at.Lent++
		s.LentBytes += at.Bytes
		s.Puts--
		c.Places++
		c.KeptPuts++
		c.TensorsGone-- // it was counted, and is again with the cell
		c.KeptPutBytes += at.Bytes
		s.unlock()
	}
	return cell
}

func keepsThree(t *testing.T, c *object.Context) (key, *layout.TensorCell) {
	keepTensors(t, c, 5, 300)
	k := key{300, layout.TensorPoolKind(uint8(F32), CPU)}
	cell := lend(c, k, 3)
	checkPool(t)
	return k, cell
}

func TestKeptTensorsCountAndAreFound(t *testing.T) {
	c := newContext(t)
	k, cell := keepsThree(t, c)
	require.EqualValues(t, 5, PoolCount(c))
	require.Equal(t, PoolKeyStats{Elements: 300, Tensors: 5, Bytes: 5 * cell.Bytes}, ReadPoolKey(0))
	require.Equal(t, []Kept{{cell.Bytes, 5}}, KeptSlots())
	before := ReadPool()
	require.Equal(t, 5*cell.Bytes, before.Bytes)
	held := make([]uintptr, 5)
	for i := range held {
		held[i] = PoolAcquire(c, 300, uint8(F32), CPU)
		require.NotZero(t, held[i])
		require.EqualValues(t, 4-i, PoolCount(c))
		checkPool(t)
	}
	require.Zero(t, cell.Count)
	require.Equal(t, before.Hits+5, ReadPool().Hits)
	require.Equal(t, before.HitBytes+5*cell.Bytes, ReadPool().HitBytes)
	for i, p := range held {
		require.Equal(t, status.OK, Release(c, p))
		require.EqualValues(t, i+1, PoolCount(c))
		require.EqualValues(t, min(i+1, 3), cell.Count)
		checkPool(t)
	}
	require.Equal(t, before.Puts+5, ReadPool().Puts)
	require.EqualValues(t, 2, shardOf(k).find(k).Count)
}

func TestLimitsHoldForThePoolAndThreadsTogether(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	_, cell := keepsThree(t, c)
	keepTensors(t, c, 40, 300)
	require.EqualValues(t, defaultLimit, PoolCount(c))
	require.EqualValues(t, 3, cell.Count)
	checkPool(t)
	other, st := object.NewContext()
	require.Equal(t, status.OK, st)
	require.Equal(t, status.OK, SetPoolLimits(other, 10, byteLimit))
	require.EqualValues(t, 10, PoolCount(c), "the pool's own go at once, those of a thread later")
	require.True(t, c.IsRecalled())
	p := PoolAcquire(c, 300, uint8(F32), CPU)
	require.NotZero(t, p)
	require.Equal(t, status.OK, Release(c, p))
	require.EqualValues(t, 2, cell.Count, "nothing is kept here until this context has answered")
	c.Poll()
	require.Zero(t, c.Places)
	checkPool(t)
	require.Equal(t, status.OK, SetPoolLimits(other, 0, byteLimit))
	require.Zero(t, PoolCount(c))
	other.Finish()
}

func TestEndedThreadsKeepNothing(t *testing.T) {
	c := newContext(t)
	other, st := object.NewContext()
	require.Equal(t, status.OK, st)
	keepsThree(t, other)
	other.Park()
	c.Poll()
	checkPool(t)
	require.Zero(t, other.Places)
	require.EqualValues(t, 2, PoolCount(c))
}

func TestPurgeFreesWhatTheCallerKeeps(t *testing.T) {
	c := newContext(t)
	keepsThree(t, c)
	Purge(c)
	require.Zero(t, PoolCount(c))
	require.Zero(t, c.Places)
	checkPool(t)
	require.Zero(t, pool.granted.used.Load())
}

func TestPressureTakesWhatTheCallerKeeps(t *testing.T) {
	c := newContext(t)
	unlimited(t, c)
	keepsThree(t, c)
	object.Caller = func() *object.Context { return c }
	t.Cleanup(func() { object.Caller = func() *object.Context { return nil } })
	limit.Set(limit.CPU, 1, 0)
	require.Zero(t, PoolCount(c))
	require.Zero(t, c.Places)
	checkPool(t)
}

// Each of these is a way in which a cell can be wrong.
func TestTheCheckerFindsDamagedCells(t *testing.T) {
	c := newContext(t)
	k, cell := keepsThree(t, c)
	at := shardOf(k).find(k)
	r := object.Heap().Record(cell.Entries[1].Record)
	whole, other := *cell, &c.Cells()[cellHome(k)^layout.TensorCellSet]
	for what, damage := range map[string]func(){
		"more tensors than places": func() { cell.Count = 4 },
		"a tensor less":            func() { cell.Count-- },
		"too much room":            func() { cell.Room = layout.TensorCellRoom + 1 },
		"a place less":             func() { cell.Room--; cell.Count-- },
		"elements":                 func() { cell.Numel++ },
		"bytes of data":            func() { cell.Nbytes += 4 },
		"bytes of a slot":          func() { cell.Bytes += 64 },
		"bytes asked":              func() { cell.Asked -= 64 },
		"a type":                   func() { cell.Kind++ },
		"flags":                    func() { cell.Kind |= layout.TensorView << 32 },
		"a rank":                   func() { cell.Kind += layout.TensorCellRank << 16 },
		"a shape":                  func() { cell.Shape[0]++ },
		"strides":                  func() { cell.Strides[0] = 2 },
		"a class":                  func() { cell.Class++ },
		"a tensor that lives":      func() { r.Sh = layout.ShAlive },
		"an old generation":        func() { r.Gen += layout.GenOne },
		"a tensor twice":           func() { cell.Entries[0] = cell.Entries[1] },
		"another cell":             func() { *other, *cell = *cell, layout.TensorCell{} },
		"a key's places":           func() { at.Lent++ },
		"bytes of places":          func() { shardOf(k).LentBytes++ },
		"a context's places":       func() { c.Places++ },
		"puts":                     func() { c.KeptPuts++ },
		"hits":                     func() { c.KeptHits++ },
		"bytes that were put":      func() { c.KeptPutBytes++ },
	} {
		record, key, shard, context := *r, *at, shardOf(k).LentBytes, c.Context
		damage()
		_, err := Check()
		require.Error(t, err, what)
		*r, *at, *cell, *other = record, key, whole, layout.TensorCell{}
		shardOf(k).LentBytes, c.Context = shard, context
		checkPool(t)
	}
}
