package sparse

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// model is a sparse matrix as slices of lines; it shares no code with the package.
type model struct {
	format       int32
	minor        int64
	value, index int32
	lines        [][]entry
}

type entry struct {
	index int64
	value float64
}

// newContext returns a context; the test ends with nothing live.
func newContext(t require.TestingT, cleanup func(func())) *object.Context {
	c, st := object.NewContext()
	require.Equal(t, status.OK, st)
	cleanup(func() {
		tensor.Purge(c)
		c.Finish()
		all := object.ReadStats()
		require.Zero(t, all.LiveObjects)
		require.Zero(t, all.Kinds[layout.TypeTensor].Live())
	})
	return c
}

// keeper holds arrays whose addresses a test hands out. What only an address leads to is free for Go.
type keeper struct{ kept []any }

// newKeeper returns a keeper that holds its arrays to the end of a test.
func newKeeper(cleanup func(func())) *keeper {
	k := new(keeper)
	cleanup(func() { runtime.KeepAlive(k) })
	return k
}

// address puts values where an address of them stays good as long as the keeper holds them.
func address[T any](k *keeper, values []T) uintptr {
	kept := append(make([]T, 0, len(values)+1), values...)
	k.kept = append(k.kept, kept)
	return uintptr(unsafe.Pointer(unsafe.SliceData(kept)))
}

func converted[T int16 | int32 | int64 | float32 | float64, F int64 | float64](k *keeper, values []F) uintptr {
	to := make([]T, len(values))
	for i, v := range values {
		to[i] = T(v)
	}
	return address(k, to)
}

func (k *keeper) integers(dtype int32, values []int64) uintptr {
	if dtype == int32(tensor.I32) {
		return converted[int32](k, values)
	}
	return converted[int64](k, values)
}

func (k *keeper) floats(dtype int32, values []float64) uintptr {
	switch tensor.ElementType(dtype) {
	case tensor.F32:
		return converted[float32](k, values)
	case tensor.I16:
		return converted[int16](k, values)
	case tensor.C128:
		wide := make([]complex128, len(values))
		for i, v := range values {
			wide[i] = complex(v, -v)
		}
		return address(k, wide)
	}
	return converted[float64](k, values)
}

// read returns n numbers at an address, as the widest type of their kind.
func read(at uintptr, dtype int32, n int64) (integers []int64, floats []float64) {
	for i := range uintptr(n) {
		switch tensor.ElementType(dtype) {
		case tensor.I32:
			integers = append(integers, int64(*layout.At[int32](at + i*4)))
		case tensor.I64:
			integers = append(integers, *layout.At[int64](at + i*8))
		case tensor.F32:
			floats = append(floats, float64(*layout.At[float32](at + i*4)))
		case tensor.F64:
			floats = append(floats, *layout.At[float64](at + i*8))
		case tensor.I16:
			floats = append(floats, float64(*layout.At[int16](at + i*2)))
		case tensor.C128:
			value := *layout.At[complex128](at + i*16)
			if imag(value) != -real(value) {
				return nil, nil
			}
			floats = append(floats, real(value))
		}
	}
	return integers, floats
}

func drawModel(t *rapid.T) *model {
	m := &model{
		format: rapid.Int32Range(0, 1).Draw(t, "format"),
		minor:  rapid.Int64Range(0, 40).Draw(t, "minor"),
		value: rapid.SampledFrom([]int32{int32(tensor.F32), int32(tensor.F64), int32(tensor.I16),
			int32(tensor.C128)}).Draw(t, "value"),
		index: rapid.SampledFrom([]int32{int32(tensor.I32), int32(tensor.I64)}).Draw(t, "index"),
	}
	lines := rapid.IntRange(0, 30).Draw(t, "lines")
	for i := range lines {
		var line []entry
		if m.minor > 0 {
			for _, index := range rapid.SliceOfNDistinct(rapid.Int64Range(0, m.minor-1), 0, int(m.minor),
				rapid.ID[int64]).Draw(t, "line") {
				line = append(line, entry{index, float64(1000*i) + float64(index)})
			}
		}
		slices.SortFunc(line, func(a, b entry) int { return int(a.index - b.index) })
		m.lines = append(m.lines, line)
	}
	return m
}

func (m *model) shape() Shape {
	s := Shape{Format: m.format, Rows: int64(len(m.lines)), Columns: m.minor, Value: m.value, Index: m.index}
	if m.format == layout.SparseCSC {
		s.Rows, s.Columns = s.Columns, s.Rows
	}
	return s
}

// flat returns values, indices, offsets and lengths.
func (m *model) flat() (values []float64, indices, offsets, lengths []int64) {
	offsets = []int64{0}
	for _, line := range m.lines {
		for _, e := range line {
			values, indices = append(values, e.value), append(indices, e.index)
		}
		offsets, lengths = append(offsets, int64(len(values))), append(lengths, int64(len(line)))
	}
	return values, indices, offsets, lengths
}

func (m *model) arrays(k *keeper) Arrays {
	values, indices, offsets, _ := m.flat()
	return Arrays{k.floats(m.value, values), k.integers(m.index, indices), k.integers(m.index, offsets),
		int64(len(values))}
}

func drawOptions(t *rapid.T) Options {
	least := rapid.Int64Range(1, 60).Draw(t, "least")
	return Options{rapid.Int64Range(1, 12).Draw(t, "target"), least, least + rapid.Int64Range(0, 60).Draw(t, "more")}
}

// make makes the matrix of a model in one of the three ways.
func (m *model) make(t *rapid.T, c *object.Context, k *keeper) uintptr {
	values, indices, offsets, lengths := m.flat()
	switch rapid.SampledFrom([]string{"create", "copy", "wrap"}).Draw(t, "way") {
	case "copy":
		return FromArrays(c, m.shape(), m.arrays(k), drawOptions(t))
	case "wrap":
		return Wrap(c, m.shape(), m.arrays(k), Borrowed{})
	}
	p := Create(c, m.shape(), address(k, lengths), drawOptions(t))
	require.NotZero(t, p, c.Message())
	for i, n := range lengths {
		row, st := RowOf(c, p, int64(i))
		require.Equal(t, status.OK, st)
		require.Equal(t, n, row.Length)
		from := offsets[i]
		tensor.CopyBytes(row.Values, k.floats(m.value, values[from:from+n]), uintptr(n)*uintptr(sizeOf(uint8(m.value))))
		tensor.CopyBytes(row.Indices, k.integers(m.index, indices[from:from+n]),
			uintptr(n)*uintptr(sizeOf(uint8(m.index))))
	}
	return p
}

// matches compares a matrix with its model in every way that there is.
func (m *model) matches(t require.TestingT, c *object.Context, p uintptr) {
	values, indices, offsets, lengths := m.flat()
	info, st := Describe(c, p)
	require.Equal(t, status.OK, st)
	require.Equal(t, m.shape(), info.Shape)
	require.EqualValues(t, len(values), info.Nonzeros)
	require.Equal(t, status.OK, Validate(c, p), c.Message())
	for i, n := range lengths {
		row, st := RowOf(c, p, int64(i))
		require.Equal(t, status.OK, st)
		require.Equal(t, n, row.Length)
		_, floats := read(row.Values, m.value, n)
		integers, _ := read(row.Indices, m.index, n)
		require.True(t, slices.Equal(values[offsets[i]:offsets[i+1]], floats))
		require.True(t, slices.Equal(indices[offsets[i]:offsets[i+1]], integers))
	}
	m.blocksMatch(t, c, p, int64(info.Blocks))
	contiguous, st := ToContiguous(c, p)
	require.Equal(t, status.OK, st, c.Message())
	requireVector(t, c, contiguous.Values, m.value, nil, values)
	requireVector(t, c, contiguous.Indices, m.index, indices, nil)
	requireVector(t, c, contiguous.Offsets, m.index, offsets, nil)
}

func requireVector(t require.TestingT, c *object.Context, p uintptr, dtype int32, wantIntegers []int64,
	wantFloats []float64) {
	integers, floats := read(tensor.Data(c, p), dtype, tensor.Numel(c, p))
	require.Equal(t, dtype, tensor.Dtype(c, p))
	require.True(t, slices.Equal(wantIntegers, integers), "%v, not %v", integers, wantIntegers)
	require.True(t, slices.Equal(wantFloats, floats), "%v, not %v", floats, wantFloats)
}

func (m *model) blocksMatch(t require.TestingT, c *object.Context, p uintptr, blocks int64) {
	line := int64(0)
	for i := range blocks {
		b, st := BlockOf(c, p, i)
		require.Equal(t, status.OK, st)
		require.Equal(t, line, b.First)
		part := model{value: m.value, index: m.index, lines: m.lines[line : line+b.Lines]}
		values, indices, offsets, _ := part.flat()
		views, st := BlockTensors(c, p, i)
		require.Equal(t, status.OK, st, c.Message())
		requireVector(t, c, views.Values, m.value, nil, values)
		requireVector(t, c, views.Indices, m.index, indices, nil)
		shown, _ := read(b.Offsets, m.index, b.Lines+1)
		for k := range shown {
			require.Equal(t, offsets[k], shown[k]-shown[0])
		}
		requireVector(t, c, views.Offsets, m.index, shown, nil)
		line += b.Lines
	}
	require.EqualValues(t, len(m.lines), line)
}

// step replaces a matrix by a slice or the transpose of it and drops it.
func (m *model) step(t *rapid.T, c *object.Context, p uintptr) (uintptr, *model) {
	next, q := *m, uintptr(0)
	if rapid.Bool().Draw(t, "transpose") {
		next.format = 1 - m.format
		q = Transpose(c, p)
	} else {
		n := int64(len(m.lines))
		start, stop := rapid.Int64Range(-n-2, n+2).Draw(t, "start"), rapid.Int64Range(-n-2, n+2).Draw(t, "stop")
		low, high := pythonBound(start, n), pythonBound(stop, n)
		next.lines = m.lines[low:max(low, high)]
		q = Slice(c, p, start, stop)
	}
	require.NotZero(t, q, c.Message())
	require.Equal(t, status.OK, c.Unregister(p))
	require.Equal(t, status.OK, c.Release(p))
	c.Drain()
	left := -1
	if layout.At[layout.SparseHeader](q).Parent == p {
		left = 1 // the transpose reads its table
	}
	require.EqualValues(t, left, c.Refcount(p))
	return q, &next
}

func pythonBound(at, n int64) int64 {
	if at < 0 {
		return max(at+n, 0)
	}
	return min(at, n)
}

// TestMatricesAgreeWithTheirModel makes matrices in every way and looks at them
// through chains of views whose parents go at once.
func TestMatricesAgreeWithTheirModel(t *testing.T) {
	c := newContext(t, t.Cleanup)
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper(t.Cleanup)
		before := object.ReadStats().LiveObjects
		require.Equal(t, status.OK, c.EnterScope())
		m := drawModel(t)
		p := m.make(t, c, k)
		require.NotZero(t, p, c.Message())
		m.matches(t, c, p)
		for range rapid.IntRange(0, 4).Draw(t, "views") {
			p, m = m.step(t, c, p)
			m.matches(t, c, p)
		}
		require.Equal(t, status.OK, c.ExitScope())
		c.Drain()
		tensor.Purge(c)
		require.Equal(t, before, object.ReadStats().LiveObjects)
	})
}
