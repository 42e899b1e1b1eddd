package ops

import (
	"bytes"
	"hash/maphash"
	"slices"
	"unsafe"

	"tlruntime/compiler/graph"
)

// contents finds a constant of the same type, shape and content among those that a draft has. Most constants of a model
// differ within the bytes of a sample, so only the others are read as a whole.
type contents struct {
	seed   maphash.Seed
	sample map[uint64]int // the last constant with this sample
	whole  map[uint64]int // by content: those whose sample was there twice
}

func newContents() contents {
	return contents{maphash.MakeSeed(), map[uint64]int{}, map[uint64]int{}}
}

// A sample is the content's first and last bytes, and some between them.
const (
	sampleEnd    = 256
	samplePieces = 32
	samplePiece  = 8
)

// find returns the value that is t already, -1 when there is none: t counts as value next then.
func (c *contents) find(values []graph.TypedValue, t *graph.Tensor, next int) int {
	key := c.sampleOf(t)
	before, met := c.sample[key]
	if !met {
		c.sample[key] = next
		return -1
	}
	if shared(values[before].Constant, t) {
		return before
	}
	c.whole[c.hash(values[before].Constant)] = before
	sum := c.hash(t)
	if at, there := c.whole[sum]; there && alike(values[at].Constant, t) {
		return at
	}
	c.sample[key], c.whole[sum] = next, next
	return -1
}

func (c *contents) sampleOf(t *graph.Tensor) uint64 {
	if len(t.Data) <= 2*sampleEnd+samplePieces*samplePiece {
		return c.hash(t)
	}
	h := c.begin(t)
	h.Write(t.Data[:sampleEnd])
	h.Write(t.Data[len(t.Data)-sampleEnd:])
	for i := range samplePieces {
		at := len(t.Data) / samplePieces * i
		h.Write(t.Data[at : at+samplePiece])
	}
	return h.Sum64()
}

func (c *contents) hash(t *graph.Tensor) uint64 {
	h := c.begin(t)
	h.Write(t.Data)
	return h.Sum64()
}

func (c *contents) begin(t *graph.Tensor) *maphash.Hash {
	var h maphash.Hash
	h.SetSeed(c.seed)
	h.WriteByte(byte(t.DType))
	for _, d := range t.Shape {
		maphash.WriteComparable(&h, d)
	}
	return &h
}

// shared reports whether two tensors are one.
func shared(a, b *graph.Tensor) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && len(a.Data) == len(b.Data) &&
		unsafe.SliceData(a.Data) == unsafe.SliceData(b.Data)
}

func alike(a, b *graph.Tensor) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
}
