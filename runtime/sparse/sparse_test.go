package sparse

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

const (
	f32 = int32(tensor.F32)
	f64 = int32(tensor.F64)
	i32 = int32(tensor.I32)
	i64 = int32(tensor.I64)
)

func repeated(n int, value int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = value
	}
	return all
}

// TestBlocksObeyTheirBounds holds every cut to the rules of planner.
func TestBlocksObeyTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKeeper(t.Cleanup)
		lengths := rapid.SliceOfN(rapid.Int64Range(0, 50), 0, 80).Draw(t, "lengths")
		o := drawOptions(t)
		p := planner{from: source{at: address(k, lengths)}, options: o, lines: uint64(len(lengths)), value: 4,
			index: 4}
		line := uint64(0)
		for p.advance() {
			sum := int64(0)
			for _, n := range lengths[line : line+p.cutLines] {
				sum += n
			}
			require.EqualValues(t, sum, p.cut)
			require.True(t, sum <= o.MaxElements || p.cutLines == 1, "%d elements in %d lines", sum, p.cutLines)
			line += p.cutLines
			require.Equal(t, line, p.next)
			if line == p.lines || sum+lengths[line] > o.MaxElements || max(sum, int64(p.cutLines)) >= o.MaxElements {
				continue
			}
			require.GreaterOrEqual(t, int64(p.cutLines), o.TargetRows)
			require.GreaterOrEqual(t, sum, o.MinElements)
		}
		require.EqualValues(t, len(lengths), line)
	})
}

// TestMemoryOverPayload holds matrices of every length of rows to 1.1 x.
func TestMemoryOverPayload(t *testing.T) {
	if memory.Instrumented {
		t.Skip("the matrices are larger than the memory of instrumented builds")
	}
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	for _, types := range [][2]int32{{f32, i32}, {f64, i32}, {f32, i64}, {f64, i64}} {
		for _, length := range []int64{1, 3, 10, 100, 700, 1000, 4000, 5001, 8000, 30000, 140000, 300000} {
			require.Equal(t, status.OK, c.EnterScope())
			lengths := repeated(int(4_000_000/length), length)
			p := Create(c, Shape{0, int64(len(lengths)), 1 << 20, types[0], types[1]}, address(k, lengths), Options{})
			require.NotZero(t, p, c.Message())
			info, st := Describe(c, p)
			require.Equal(t, status.OK, st)
			require.Less(t, float64(info.Bytes)/float64(info.Payload), 1.1, "rows of %d, %v", length, types)
			require.Equal(t, status.OK, c.ExitScope())
			k.kept = nil
		}
	}
}

func TestALongRowHasItsOwnBlock(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	require.Equal(t, status.OK, c.EnterScope())
	p := Create(c, Shape{0, 5, 300000, f32, i32}, address(k, []int64{1, 300000, 2, 0, 3}), Options{})
	require.NotZero(t, p, c.Message())
	_, blocks, _ := at(c, p)
	require.Len(t, blocks, 3)
	require.EqualValues(t, []uint64{0, 1, 2}, []uint64{blocks[0].FirstLine, blocks[1].FirstLine, blocks[2].FirstLine})
	require.Equal(t, status.OK, c.ExitScope())
}

// TestEmptyRowsMakeBlocksToo: many lines without elements do not become one block.
func TestEmptyRowsMakeBlocksToo(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	require.Equal(t, status.OK, c.EnterScope())
	p := Create(c, Shape{0, 600000, 0, f32, i32}, address(k, repeated(600000, 0)), Options{})
	info, st := Describe(c, p)
	require.Equal(t, status.OK, st)
	require.EqualValues(t, 3, info.Blocks)
	require.Equal(t, status.OK, Validate(c, p))
	require.Equal(t, status.OK, c.ExitScope())
}

// three is a matrix of three rows: 1 and 4, none, 0.
func three(k *keeper) (Shape, Arrays) {
	return Shape{0, 3, 5, f64, i32},
		Arrays{address(k, []float64{1, 2, 3}), address(k, []int32{1, 4, 0}), address(k, []int32{0, 2, 2, 3}), 3}
}

// TestArraysAreChecked gives every kind of fault and looks for the words that name it.
func TestArraysAreChecked(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	offsets := func(o ...int32) func(*Shape, *Arrays) {
		return func(_ *Shape, a *Arrays) { a.Offsets = address(k, o) }
	}
	indices := func(o ...int32) func(*Shape, *Arrays) {
		return func(_ *Shape, a *Arrays) { a.Indices = address(k, o) }
	}
	for says, spoil := range map[string]func(*Shape, *Arrays){
		"format 2":                             func(s *Shape, _ *Arrays) { s.Format = 2 },
		"cannot have -1 rows":                  func(s *Shape, _ *Arrays) { s.Rows = -1 },
		"and 7 is none of its numbers":         func(s *Shape, _ *Arrays) { s.Value = 7 },
		"not dtype 0":                          func(s *Shape, _ *Arrays) { s.Index = f32 },
		"-1 nonzeros":                          func(_ *Shape, a *Arrays) { a.Nonzeros = -1 },
		"offsets is NULL":                      func(_ *Shape, a *Arrays) { a.Offsets = 0 },
		"values or indices":                    func(_ *Shape, a *Arrays) { a.Values = 16 },
		"go from 0 to 3; they have to go":      func(_ *Shape, a *Arrays) { a.Nonzeros = 2 },
		"go from 1 to 3":                       offsets(1, 2, 2, 3),
		"offsets of row 1 decrease by 1":       offsets(0, 2, 1, 3),
		"row 0 has the length 6, which is":     offsets(0, 6, 1, 3),
		"row 0 has the index -2 at position 0": indices(-2, 4, 0),
		"row 0 has the index 5 at position 1":  indices(1, 5, 0),
		"row 0 has the index 1 twice":          indices(1, 1, 0),
		"row 0 has the index 3 after 4 at":     indices(4, 3, 0),
		"row 2 has the index 9 at position 0":  indices(1, 4, 9),
		"column 0 has the index 1 after 4": func(s *Shape, a *Arrays) {
			s.Format, s.Rows, s.Columns, a.Indices = 1, 5, 3, address(k, []int32{4, 1, 0})
		},
		"at least 9 and at most 3 elements":     nil,
		"block option -1 is not between 0 and ": nil,
	} {
		s, a := three(k)
		o := map[string]Options{"at least 9 and at most 3 elements": {0, 9, 3},
			"block option -1 is not between 0 and ": {-1, 0, 0}}[says]
		if spoil != nil {
			spoil(&s, &a)
			require.Zero(t, Wrap(c, s, a, Borrowed{}), says)
			require.Contains(t, c.Message(), says)
		}
		require.Zero(t, FromArrays(c, s, a, o), says)
		require.EqualValues(t, status.InvalidArgument, c.Error.Status)
		require.Contains(t, c.Message(), says)
	}
	c.Drain()
}

func TestLimits(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	for _, s := range []Shape{{0, 3, 1 << 31, f32, i32}, {1, 1 << 31, 3, f32, i32}, {0, 1 << 44, 3, f32, i64}} {
		require.Zero(t, Create(c, s, address(k, []int64{0, 0, 0}), Options{}))
		require.EqualValues(t, status.Limit, c.Error.Status)
	}
	require.Zero(t, Create(c, Shape{0, 3, most, f32, i32}, address(k, repeated(3, 1<<30)), Options{}))
	require.EqualValues(t, status.Limit, c.Error.Status)
	require.Contains(t, c.Message(), "3221225472 nonzeros are more than the offsets can count")
	require.Zero(t, Create(c, Shape{0, 3, 9, f32, i32}, address(k, []int64{0, -4, 0}), Options{}))
	require.Contains(t, c.Message(), "row 1 has the length -4")
	require.Zero(t, Create(c, Shape{1, 9, 3, f32, i32}, address(k, []int64{0, 10, 0}), Options{}))
	require.Contains(t, c.Message(), "column 1 has the length 10, which is not between 0 and 9")
	require.Zero(t, Create(c, Shape{0, 3, 9, f32, i32}, 8, Options{}))
	require.Contains(t, c.Message(), "lengths is NULL")
}

// TestLentArraysThatChange: what was checked once is not believed where the
// package itself would write by it.
func TestLentArraysThatChange(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	require.Equal(t, status.OK, c.EnterScope())
	s, a := three(k)
	p := Wrap(c, s, a, Borrowed{ReadOnly: true})
	require.NotZero(t, p, c.Message())
	offsets := layout.Slice[int32](a.Offsets, 4)
	offsets[3] = 1 << 20
	_, st := ToContiguous(c, p)
	require.Equal(t, status.InvalidArgument, st)
	require.Contains(t, c.Message(), "were changed")
	require.Equal(t, status.InvalidArgument, Validate(c, p))
	offsets[3] = 1
	_, st = RowOf(c, p, 2)
	require.Equal(t, status.InvalidArgument, st)
	offsets[3] = 3
	layout.Slice[int32](a.Indices, 3)[1] = 0
	require.Equal(t, status.InvalidArgument, Validate(c, p))
	require.Contains(t, c.Message(), "row 0 has the index 0 after 1 at position 1")
	b, st := BlockTensors(c, p, 0)
	require.Equal(t, status.OK, st)
	h, _ := tensor.Describe(c, b.Values)
	require.NotZero(t, h.Flags&layout.TensorReadOnly)
	require.Equal(t, status.OK, c.ExitScope())
}

// TestHandlesAreClassified: what is no matrix, or was overwritten, is refused.
func TestHandlesAreClassified(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	require.Equal(t, status.OK, c.EnterScope())
	s, a := three(k)
	p := FromArrays(c, s, a, Options{})
	for bad, want := range map[uintptr]status.Status{
		0x10: status.UnknownPointer, p + 64: status.InteriorPointer, c.New(300): status.Unsupported,
		tensor.Vector(c, tensor.F32, 4): status.Unsupported,
	} {
		require.Zero(t, Slice(c, bad, 0, 1))
		require.EqualValues(t, want, c.Error.Status)
		require.Equal(t, want, Validate(c, bad))
	}
	require.Zero(t, Slice(c, 0, 0, 1))
	require.EqualValues(t, status.OK, c.Error.Status)
	h := layout.At[layout.SparseHeader](p)
	for _, field := range []*uint64{&h.Mark, &h.Blocks} {
		kept := *field
		*field = 1 << 40
		require.Equal(t, status.Unsupported, Validate(c, p))
		*field = kept
	}
	require.Equal(t, status.OK, Validate(c, p))
	require.Equal(t, p, c.DeepClone(p))
	require.EqualValues(t, 2, c.Refcount(p))
	require.Equal(t, status.OK, c.ExitScope())
}

// TestSlicesAcrossThreads: threads slice a matrix and drop what they made while its
// maker lets it go.
func TestSlicesAcrossThreads(t *testing.T) {
	c := newContext(t, t.Cleanup)
	k := newKeeper(t.Cleanup)
	m := &model{minor: 9, value: f64, index: i64}
	for i := range 50 {
		m.lines = append(m.lines, []entry{{int64(i % 9), float64(i)}})
	}
	require.Equal(t, status.OK, c.EnterScope())
	p := FromArrays(c, m.shape(), m.arrays(k), Options{4, 4, 8})
	require.NotZero(t, p, c.Message())
	var all sync.WaitGroup
	for thread := range int64(4) {
		require.Equal(t, status.OK, c.Acquire(p))
		all.Go(func() {
			me, st := object.NewContext()
			if st != status.OK {
				t.Error(st)
				return
			}
			defer me.Finish()
			for i := range int64(50) {
				me.EnterScope()
				part := *m
				part.lines = m.lines[thread*3 : 10+i%40]
				part.matches(t, me, Slice(me, p, thread*3, 10+i%40))
				me.ExitScope()
				me.Drain()
			}
			me.Release(p)
			me.Drain()
		})
	}
	require.Equal(t, status.OK, c.ExitScope())
	all.Wait()
	require.EqualValues(t, -1, c.Refcount(p))
}
