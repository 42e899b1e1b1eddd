package picture

import (
	"cmp"
	"fmt"
	"slices"
)

// Hues and tones of the palette. Buffers take the middle tone of a hue, and other tones
// only where the hues do not suffice.
const (
	tones = 3
	slots = 8
)

// look is a colour of the palette.
type look struct{ Slot, Tone int }

// looks lists the colours in the order in which they are taken.
var looks = func() (all []look) {
	for _, tone := range []int{1, 0, 2} {
		for slot := range slots {
			all = append(all, look{slot, tone})
		}
	}
	return all
}()

func (l look) class() string { return fmt.Sprintf("k%d t%d", l.Slot, l.Tone) }

// colours gives each buffer a colour that none of its neighbours has. Where they lie has
// no crossing lines, so that few neighbours suffice to be the last to choose: buffers are
// taken away one by one, always the one with the fewest neighbours left, and choose in
// the opposite order. Of the colours that are free each takes the one used least.
func (c *Chart) colours(groups []int, count int) []look {
	next := c.neighbours(groups, count)
	chosen := make([]int, count)
	for i := range chosen {
		chosen[i] = -1
	}
	used := make([]int, len(looks))
	for _, g := range slices.Backward(fewestFirst(next)) {
		beside := make([]int, len(looks))
		for _, n := range next[g] {
			if chosen[n] >= 0 {
				beside[chosen[n]]++
			}
		}
		order := func(colour int) int {
			return cmp.Or(beside[colour]*len(looks)*(count+1), colour/slots*(count+1)) + used[colour]
		}
		best := 0
		for colour := range looks {
			if order(colour) < order(best) {
				best = colour
			}
		}
		chosen[g] = best
		used[best]++
	}
	result := make([]look, count)
	for g, colour := range chosen {
		result[g] = looks[colour]
	}
	return result
}

// fewestFirst orders buffers so that each has the fewest neighbours among those that
// follow.
func fewestFirst(next [][]int) (order []int) {
	left := make([]int, len(next))
	buckets := [][]int{}
	put := func(g int) {
		for len(buckets) <= left[g] {
			buckets = append(buckets, nil)
		}
		buckets[left[g]] = append(buckets[left[g]], g)
	}
	for g := range next {
		left[g] = len(next[g])
		put(g)
	}
	gone := make([]bool, len(next))
	for at := 0; at < len(buckets); {
		n := len(buckets[at]) - 1
		if n < 0 {
			at++
			continue
		}
		g := buckets[at][n]
		buckets[at] = buckets[at][:n]
		if gone[g] || left[g] != at {
			continue // it has moved to another bucket
		}
		gone[g] = true
		order = append(order, g)
		for _, other := range next[g] {
			if !gone[other] {
				left[other]--
				put(other)
			}
		}
		at = max(at-1, 0)
	}
	return order
}

// margin is the part of an axis within which rectangles seem to touch.
const margin = 400

// neighbours finds which buffers touch in the picture, or nearly. A buffer in parts has
// the neighbours of all its parts.
func (c *Chart) neighbours(groups []int, count int) [][]int {
	next := make([][]int, count)
	order := make([]int, len(c.Buffers))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Buffers[a].First, c.Buffers[b].First) })
	first, end := c.span()
	steps, bytes := (end-first)/margin, max(c.FrameBytes/margin, 64)
	var alive []int
	for _, i := range order {
		r := &c.Buffers[i]
		alive = slices.DeleteFunc(alive, func(j int) bool { return c.Buffers[j].End+steps < r.First })
		for _, j := range alive {
			o := &c.Buffers[j]
			if groups[i] != groups[j] && r.Offset <= o.Offset+o.Bytes+bytes && o.Offset <= r.Offset+r.Bytes+bytes {
				next[groups[i]] = append(next[groups[i]], groups[j])
				next[groups[j]] = append(next[groups[j]], groups[i])
			}
		}
		alive = append(alive, i)
	}
	for g := range next {
		slices.Sort(next[g])
		next[g] = slices.Compact(next[g])
	}
	return next
}

// texture is drawn over the rectangles of a kind: colours tell buffers apart, textures
// kinds.
type texture struct {
	Number int
	Path   string // in a square of 8 by 8
}

// textures are those of kinds; the first is none.
var textures = []texture{
	{1, "M-2 2l4-4M0 8l8-8M6 10l4-4"}, {2, "M-2 6l4 4M0 0l8 8M6-2l4 4"}, {3, "M2 2h.01M6 6h.01"}, {4, "M0 4h8"},
	{5, "M4 0v8"},
}

// weaves is how many textures there are, with none.
const weaves = 6
