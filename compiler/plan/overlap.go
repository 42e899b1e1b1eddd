package plan

import "tlruntime/compiler/view"

// disjoint reports whether two views of one buffer are known to have no element in
// common. Either their extents do not meet, or both walk the buffer in rows of one
// length and keep to different columns, as slices along an inner axis do. It may
// miss views that are disjoint in another way.
func disjoint(a, b view.View) bool {
	aLow, aHigh := a.Extent()
	bLow, bHigh := b.Extent()
	if aLow > aHigh || bLow > bHigh || aHigh < bLow || bHigh < aLow {
		return true
	}
	for _, v := range []view.View{a, b} {
		for i, stride := range v.Strides {
			if v.Shape[i] > 1 && apart(a, b, max(stride, -stride)) {
				return true
			}
		}
	}
	return false
}

// apart reports whether a and b keep to different columns of rows of this length.
func apart(a, b view.View, row int64) bool {
	if row < 2 {
		return false
	}
	aLow, aHigh, ok := columns(a, row)
	if !ok {
		return false
	}
	bLow, bHigh, ok := columns(b, row)
	return ok && (aHigh < bLow || bHigh < aLow)
}

// columns returns the first and the last column that v touches in rows of this
// length; false when it goes from one row over into the next.
func columns(v view.View, row int64) (low, high int64, ok bool) {
	low = v.Offset % row
	high = low
	for i, d := range v.Shape {
		rest := v.Strides[i] % row
		low += min((d-1)*rest, 0)
		high += max((d-1)*rest, 0)
	}
	return low, high, low >= 0 && high < row
}
