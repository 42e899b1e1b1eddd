package timeline

import (
	"cmp"
	"math/bits"
	"slices"
)

// kindOf names what a block is on the page.
func (b *Block) kindOf() string {
	switch {
	case b.Kind == "object" && b.Type == "tensor":
		return "tensor"
	case b.Kind == "":
		return "object"
	}
	return b.Kind
}

// slotOf is the colour of a kind.
var slotOf = map[string]int{"tensor": 0, "object": 1, "pool block": 2, "registered": 3}

// curve is how many bytes are live from each time on.
type curve struct {
	Steps []float64 `json:"steps"`
	Bytes []int64   `json:"bytes"`
}

// mostPoints bounds a curve; each of so many stretches of time keeps its highest value.
const mostPoints = 8000

// change is bytes that come, or go if it is negative.
type change struct {
	at    float64
	bytes int64
}

// live sums the blocks up, and returns the peak and its time.
func (t *Trace) live() (c curve, peak int64, when float64) {
	changes := make([]change, 0, 2*len(t.Blocks))
	for _, b := range t.Blocks {
		changes = append(changes, change{b.First, int64(b.Bytes)})
		if b.Freed {
			changes = append(changes, change{b.End, -int64(b.Bytes)})
		}
	}
	c, peak, when = t.sum(changes)
	c.add(t.End, 0, 0)
	return c, peak, when
}

// sum is the curve of changes, its peak and when that is.
func (t *Trace) sum(changes []change) (c curve, peak int64, when float64) {
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	c, sum := curve{Steps: []float64{0}, Bytes: []int64{0}}, int64(0)
	for _, x := range changes {
		sum += x.bytes
		if sum > peak {
			peak, when = sum, x.at
		}
		c.add(x.at, sum, t.End/mostPoints)
	}
	return c, peak, when
}

// add sets the value from a time on. Within a stretch the highest value stays, so that
// no peak is lost, up to its end, from which on the last one holds.
func (c *curve) add(at float64, bytes int64, stretch float64) {
	n := len(c.Steps) - 1
	if n > 0 && (at == c.Steps[n] || at-c.Steps[n-1] < stretch && at-c.Steps[n] < stretch) {
		if c.Bytes[n-1] < c.Bytes[n] {
			c.Bytes[n-1] = c.Bytes[n]
		}
		c.Bytes[n] = bytes
		return
	}
	c.Steps, c.Bytes = append(c.Steps, at), append(c.Bytes, bytes)
}

// bin counts allocations of at least Low bytes and of less than twice as many.
type bin struct {
	Low   uint64
	Count int
	Bytes uint64
}

// sizes returns the histogram by powers of two, without empty ends.
func (t *Trace) sizes() []bin {
	var counts [65]bin
	low, high := 64, 0
	for _, b := range t.Blocks {
		n := bits.Len64(b.Bytes)
		counts[n].Count++
		counts[n].Bytes += b.Bytes
		low, high = min(low, n), max(high, n)
	}
	var all []bin
	for n := low; n <= high; n++ {
		if n > 0 {
			counts[n].Low = 1 << (n - 1)
		}
		all = append(all, counts[n])
	}
	return all
}

// mostRects and mostChunks bound the rectangles of a page: those with the most bytes, times
// microseconds, stay.
const (
	mostRects  = 40000
	mostChunks = 2000
)

func (b *Block) area() float64 { return float64(b.Bytes) * (b.End - b.First + 1) }

func (c *Chunk) area() float64 { return float64(c.Bytes) * (c.End - c.First + 1) }

// largest returns the blocks that are drawn, by the time at which they begin.
func (t *Trace) largest() []*Block {
	all := largest(t.Blocks, mostRects, (*Block).area)
	slices.SortStableFunc(all, func(a, b *Block) int { return cmp.Compare(a.First, b.First) })
	return all
}

// largest returns at most so many of a list: those with the largest areas.
func largest[T any](list []T, most int, area func(T) float64) []T {
	all := slices.Clone(list)
	if len(all) > most {
		slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(area(b), area(a)) })
		all = all[:most]
	}
	return all
}
