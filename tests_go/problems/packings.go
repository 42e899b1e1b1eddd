package problems

import (
	"math/rand/v2"

	"tlruntime/runtime/offsets"
)

// Side is the number of steps, and the capacity, of the problems that Packing makes.
const Side = 1 << 20

// Packing makes a problem of about so many buffers that fit into Side bytes: a square of steps and bytes, cut into
// rectangles of multiples of 512. With filled below 1, so much of them is left out. Some cuts are guillotine cuts,
// across a whole piece, others leave a rectangle in the middle of four, so that no guillotine makes them.
func Packing(seed uint64, buffers int, filled float64) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	pieces := []piece{{0, Side, 0, Side}}
	for len(pieces) < buffers {
		k := largest(r, pieces)
		parts := pieces[k].cut(r, func() int { return r.IntN(kinds) })
		pieces[k] = parts[0]
		pieces = append(pieces, parts[1:]...)
	}
	p := offsets.Problem{}
	for _, c := range pieces {
		if r.Float64() <= filled {
			p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: c.top - c.bottom, First: c.first, End: c.end})
		}
	}
	r.Shuffle(len(p.Buffers), func(i, j int) { p.Buffers[i], p.Buffers[j] = p.Buffers[j], p.Buffers[i] })
	return p
}

// Perfect makes a problem of exactly so many buffers that fill Side bytes at every one of Side steps, so that Side is
// its optimum and its lower bound, and the placement that it was cut from. Guillotine cuts alone go across a whole
// piece; otherwise most pieces come of cuts that leave a rectangle in the middle of four.
func Perfect(seed uint64, buffers int, guillotine bool) (offsets.Problem, *offsets.Solution) {
	r := rand.New(rand.NewPCG(seed, uint64(buffers)))
	pieces := []piece{{0, Side, 0, Side}}
	for len(pieces) < buffers {
		k := largest(r, pieces)
		parts := pieces[k].cut(r, func() int {
			if !guillotine && buffers-len(pieces) >= 4 && r.IntN(10) < 7 {
				return 0
			}
			return across + r.IntN(kinds-across)
		})
		pieces[k] = parts[0]
		pieces = append(pieces, parts[1:]...)
	}
	r.Shuffle(buffers, func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	p, s := offsets.Problem{}, &offsets.Solution{Space: make([]int, buffers), Optimal: true, Method: "cut",
		Frames: []offsets.SpaceResult{{Bytes: Side, LowerBound: Side}}}
	for _, c := range pieces {
		p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: c.top - c.bottom, First: c.first, End: c.end})
		s.Offsets = append(s.Offsets, c.bottom)
	}
	return p, s
}

// piece is a rectangle of steps and bytes.
type piece struct{ first, end, bottom, top int64 }

const (
	grain = 512
	// kinds of cuts; those from across on are guillotine cuts.
	kinds, across = 10, 2
)

func (c piece) area() float64 { return float64(c.end-c.first) * float64(c.top-c.bottom) }

// largest is the largest of some pieces that are drawn, which makes sizes uneven but leaves nothing whole.
func largest(r *rand.Rand, pieces []piece) int {
	best := r.IntN(len(pieces))
	for range 3 {
		if k := r.IntN(len(pieces)); pieces[k].area() > pieces[best].area() {
			best = k
		}
	}
	return best
}

// between draws a multiple of the grain strictly between two; 0 when there is none.
func between(r *rand.Rand, low, high int64) int64 {
	n := (high-low)/grain - 1
	if n < 1 {
		return 0
	}
	return low + grain*(1+r.Int64N(n))
}

// cut makes two parts of a piece, or five, or leaves it as it is.
func (c piece) cut(r *rand.Rand, kind func() int) []piece {
	x, y := between(r, c.first, c.end), between(r, c.bottom, c.top)
	switch kind := kind(); {
	case kind < across:
		return c.pinwheel(r)
	case kind < 7 && y > 0 || x == 0 && y > 0:
		return []piece{{c.first, c.end, c.bottom, y}, {c.first, c.end, y, c.top}}
	case x > 0:
		return []piece{{c.first, x, c.bottom, c.top}, {x, c.end, c.bottom, c.top}}
	}
	return []piece{c}
}

// pinwheel makes four parts around a fifth.
func (c piece) pinwheel(r *rand.Rand) []piece {
	x1, y1 := between(r, c.first, c.end), between(r, c.bottom, c.top)
	if x1 == 0 || y1 == 0 {
		return []piece{c}
	}
	x2, y2 := between(r, x1, c.end), between(r, y1, c.top)
	if x2 == 0 || y2 == 0 {
		return []piece{c}
	}
	return []piece{{c.first, x1, c.bottom, y2}, {c.first, x2, y2, c.top}, {x2, c.end, y1, c.top},
		{x1, c.end, c.bottom, y1}, {x1, x2, y1, y2}}
}
