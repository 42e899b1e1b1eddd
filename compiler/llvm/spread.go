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
	if stride != 1 || !near || first == last {
		return l.gathered(func(i int) string {
			if !inside(i) {
				return fill
			}
			return l.wide(1).load(l.at(ptr, l.memory, strconv.FormatInt(positions[i]*stride, 10)))
		})
	}
	return l.shuffled(ptr, positions, first, last, low, high, fill)
}

// shuffled reads lanes first to last from vectors between low and high, and the
// others from fill.
func (l lanes) shuffled(ptr string, positions []int64, first, last int, low, high int64, fill string) string {
	result := l.repeat(fill)
	if first == 0 && last == l.n-1 {
		result = "poison"
	}
	width := l.n
	for int64(width) > high-low {
		width /= 2
	}
	for i := first; i <= last; {
		from := min(positions[i], high-int64(width))
		v := l.lengthened(l.wide(width), l.wide(width).load(l.at(ptr, l.memory, strconv.FormatInt(from, 10))))
		mask, whole := make([]int, l.n), true
		for j := range mask {
			mask[j] = j
			if at := positions[j] - from; j >= i && j <= last && at < int64(width) {
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

// lengthened is v, which may have fewer lanes, with as many as l has.
func (l lanes) lengthened(short lanes, v string) string {
	if short.n == l.n {
		return v
	}
	if short.n == 1 {
		return l.let("insertelement %s poison, %s %s, i64 0", l.typ(), l.ir, v)
	}
	mask := make([]int, l.n)
	for i := range mask {
		mask[i] = min(i, short.n)
	}
	return short.shuffle(v, "poison", mask)
}

// loadPart reads the lanes that are used, stride elements apart; the others are 0.
func (l lanes) loadPart(ptr string, stride, used int64) string {
	if used == int64(l.n) || stride == 0 {
		return l.loadStrided(ptr, stride)
	}
	return l.spread(ptr, stride, steps(l.n, 1), 0, used, l.wide(1).number(0))
}

// storePart writes the lanes that are used, stride elements apart: as many as a
// shorter vector has, and the last ones of them once more.
func (l lanes) storePart(v, ptr string, stride, used int64) {
	if used == int64(l.n) {
		l.storeStrided(v, ptr, stride)
		return
	}
	if stride != 1 {
		for i := range used {
			l.wide(1).store(l.lane(v, int(i)), l.at(ptr, l.memory, strconv.FormatInt(i*stride, 10)))
		}
		return
	}
	half := l.wide(l.n / 2)
	for _, first := range []int64{0, used - int64(half.n)} {
		mask := make([]int, half.n)
		for i := range mask {
			mask[i] = int(first) + i
		}
		part := l.lane(v, int(first))
		if half.n > 1 {
			part = l.shuffle(v, "poison", mask)
		}
		half.store(part, l.at(ptr, l.memory, strconv.FormatInt(first, 10)))
	}
}
