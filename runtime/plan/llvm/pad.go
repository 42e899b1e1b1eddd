package llvm

import (
	"fmt"

	"tlruntime/runtime/plan/view"
)

// segment is a run of elements on one axis of a padded tensor. They come from the
// argument, from element first on in steps, or are the constant.
type segment struct {
	at, n       int64
	first, step int64
	constant    bool
}

// segments tells where the elements of an axis come from: n are there, before and
// after are added, or cut off where they are negative.
func segments(n, before, after int64, mode string) []segment {
	var list []segment
	add := func(s segment) {
		if s.n > 0 {
			list = append(list, s)
		}
	}
	inside := segment{max(before, 0), n + min(before, 0) + min(after, 0), max(-before, 0), 1, false}
	switch mode {
	case "edge":
		add(segment{0, before, inside.first, 0, false})
		add(inside)
		add(segment{inside.at + inside.n, after, inside.first + inside.n - 1, 0, false})
	case "reflect":
		add(segment{0, before, inside.first + before, -1, false})
		add(inside)
		add(segment{inside.at + inside.n, after, inside.first + inside.n - 2, -1, false})
	default:
		add(segment{0, before, 0, 0, true})
		add(inside)
		add(segment{inside.at + inside.n, after, 0, 0, true})
	}
	return list
}

func (k *kernel) pad() error {
	pads, mode := k.Attrs.Ints("pads"), k.Attrs.String("mode")
	shape := k.in[0].Shape
	if len(pads) != 2*len(shape) || len(shape) != len(k.out[0].Shape) || k.overwrites(0) {
		return k.mismatch(fmt.Sprintf("pads %v", pads))
	}
	for i, n := range shape {
		before, after := pads[i], pads[len(shape)+i]
		if n+before+after != k.out[0].Shape[i] || n+min(before, 0)+min(after, 0) < 0 {
			return k.mismatch(fmt.Sprintf("pads %v", pads))
		}
		if mode == "reflect" && max(before, after) >= max(n+min(before, 0)+min(after, 0), 1) {
			return k.unsupported(k.out[0].dtype, "axis %d has %d elements and reflects more", i, n)
		}
		if mode == "edge" && n == 0 && before+after > 0 {
			return k.unsupported(k.out[0].dtype, "axis %d is empty and has no edge", i)
		}
	}
	return k.padFrom(0, pads, mode, k.out[0].View, k.in[0].View)
}

// padFrom fills to, which has the axes before axis cut to one segment each.
func (k *kernel) padFrom(axis int, pads []int64, mode string, to, from view.View) error {
	if axis == len(to.Shape) {
		return k.move(k.out[0].showing(to), k.in[0].showing(from))
	}
	n := k.in[0].Shape[axis]
	for _, s := range segments(n, pads[axis], pads[len(to.Shape)+axis], mode) {
		piece, _ := part(to, axis, s.at, s.n)
		if s.constant {
			if err := k.fill(k.out[0].showing(piece), k.Attrs.Float("value")); err != nil {
				return err
			}
			continue
		}
		source := view.View{Shape: append([]int64{}, from.Shape...), Strides: append([]int64{}, from.Strides...)}
		source.Offset = from.Offset + s.first*from.Strides[axis]
		source.Shape[axis], source.Strides[axis] = s.n, s.step*from.Strides[axis]
		if err := k.padFrom(axis+1, pads, mode, piece, source); err != nil {
			return err
		}
	}
	return nil
}

// fill writes a number everywhere.
func (k *kernel) fill(to operand, number float64) error {
	l := k.scalar(to.elem)
	return k.each([]operand{to}, func(ptrs []string) { l.store(l.number(number), ptrs[0]) })
}
