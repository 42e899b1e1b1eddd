package llvm

import "strconv"

// maxSpread is up to which distance of lanes vectors are loaded and shuffled;
// lanes further apart are loaded one by one.
const maxSpread = 4

// spread reads lane i from position positions[i], counted from ptr in steps of
// stride elements. Positions ascend. Nothing below low, nor from high on, is
// touched: lanes there are fill, a scalar literal.
func (l lanes) spread(ptr string, stride int64, positions []int64, low, high int64, fill string) string {
	inside := func(i int) bool { return positions[i] >= low && positions[i] < high }
	first, last := -1, -1
	for i := range positions {
		if inside(i) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return l.repeat(fill)
	}
	near := l.n > 1 && positions[1]-positions[0] <= maxSpread
	if stride != 1 || !near || high-low < int64(l.n) {
		return l.gathered(func(i int) string {
			if !inside(i) {
				return fill
			}
			return l.wide(1).load(l.at(ptr, l.memory, strconv.FormatInt(positions[i]*stride, 10)))
		})
	}
	return l.shuffled(ptr, positions, first, last, high, fill)
}

// shuffled reads lanes first to last from vectors that end before high, and the
// others from fill.
func (l lanes) shuffled(ptr string, positions []int64, first, last int, high int64, fill string) string {
	result := l.repeat(fill)
	if first == 0 && last == l.n-1 {
		result = "poison"
	}
	for i := first; i <= last; {
		from := min(positions[i], high-int64(l.n))
		v := l.load(l.at(ptr, l.memory, strconv.FormatInt(from, 10)))
		mask, whole := make([]int, l.n), true
		for j := range mask {
			mask[j] = j
			if at := positions[j] - from; j >= i && j <= last && at < int64(l.n) {
				mask[j] = l.n + int(at)
				i = j + 1
			}
			whole = whole && mask[j] == l.n+j
		}
		if whole {
			return v
		}
		result = l.shuffle(result, v, mask)
	}
	return result
}
