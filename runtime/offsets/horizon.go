package offsets

import "math/bits"

// horizon is a height by section, in stretches of one height. Where those are long, it is quicker to read and to raise
// than a list of heights. A height is right in the first section of a stretch; that of a stretch which join made is
// right once the caller has set it, and what height holds in other sections means nothing.
type horizon struct {
	starts []uint64 // bits: a stretch begins in the section
	height []int64  // of the stretch that begins there
}

func newHorizon(sections int) horizon {
	return horizon{starts: make([]uint64, sections/64+1), height: make([]int64, sections)}
}

// flatten makes it one stretch.
func (h *horizon) flatten(height int64) {
	clear(h.starts)
	h.starts[0], h.height[0] = 1, height
}

func (h *horizon) copy(from *horizon) {
	copy(h.starts, from.starts)
	copy(h.height, from.height)
}

// over is the largest height in x.
func (h *horizon) over(x span) int64 {
	most := h.height[h.before(x.first)]
	for t := h.after(x.first); t < x.end; t = h.after(t) {
		most = max(most, h.height[t])
	}
	return most
}

// join makes x one stretch, and returns the largest height that was there, and how many stretches were looked at. The
// height of the stretch is that of one that was there, until it is set.
func (h *horizon) join(x span) (most, looks int64) {
	last := h.height[h.before(x.first)]
	most = last
	for t := h.after(x.first); t < x.end; t = h.after(t) {
		last = h.height[t]
		most = max(most, last)
		h.starts[t>>6] &^= 1 << (t & 63)
		looks++
	}
	if bit := uint64(1) << (x.end & 63); int(x.end) < len(h.height) && h.starts[x.end>>6]&bit == 0 {
		h.starts[x.end>>6] |= bit
		h.height[x.end] = last
	}
	h.starts[x.first>>6] |= 1 << (x.first & 63)
	return most, looks + 1
}

// before is the last start up to a section.
func (h *horizon) before(t int32) int32 {
	k := t >> 6
	word := h.starts[k] & (2<<(t&63) - 1)
	for word == 0 {
		k--
		word = h.starts[k]
	}
	return k<<6 + int32(bits.Len64(word)) - 1
}

// after is the first start after a section, or a section after all.
func (h *horizon) after(t int32) int32 {
	k := t >> 6
	word := h.starts[k] &^ (2<<(t&63) - 1)
	for word == 0 {
		if k++; int(k) == len(h.starts) {
			return forever
		}
		word = h.starts[k]
	}
	return k<<6 + int32(bits.TrailingZeros64(word))
}
