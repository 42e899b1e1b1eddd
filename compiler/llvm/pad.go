package llvm

import (
	"fmt"
	"slices"

	"tlruntime/compiler/view"
)

// segment is a run of elements on one axis of a padded tensor. They come from the
// argument, from element first on in steps, or are the constant.
type segment struct {
	at, n       int64
	first, step int64
	constant    bool
	turns       int64 // how often the run stands there, one behind the other; 0 is once
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
	inside := segment{max(before, 0), n + min(before, 0) + min(after, 0), max(-before, 0), 1, false, 0}
	switch mode {
	case "edge":
		add(segment{0, before, inside.first, 0, false, 0})
		add(inside)
		add(segment{inside.at + inside.n, after, inside.first + inside.n - 1, 0, false, 0})
	case "reflect":
		add(segment{0, before, inside.first + before, -1, false, 0})
		add(inside)
		add(segment{inside.at + inside.n, after, inside.first + inside.n - 2, -1, false, 0})
	case "wrap":
		list = wrapped(inside, max(before, 0), max(after, 0))
	default:
		add(segment{0, before, 0, 0, true, 0})
		add(inside)
		add(segment{inside.at + inside.n, after, 0, 0, true, 0})
	}
	return list
}

// wrapped repeats what is inside before and after it: as much of its end as there
// is before whole turns, the turns, and as much of its beginning as there is behind.
func wrapped(inside segment, before, after int64) []segment {
	if inside.n <= 0 {
		return nil
	}
	head, tail := before%inside.n, after%inside.n
	turns := inside
	turns.at, turns.turns = head, before/inside.n+1+after/inside.n
	return []segment{
		{at: 0, n: head, first: inside.first + inside.n - head, step: 1},
		turns,
		{at: head + turns.turns*inside.n, n: tail, first: inside.first, step: 1},
	}
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
		if (mode == "edge" || mode == "wrap") && n+min(before, 0)+min(after, 0) == 0 && max(before, after) > 0 {
			return k.unsupported(k.out[0].dtype, "axis %d is empty and has nothing to repeat", i)
		}
	}
	return k.padFrom(0, pads, mode, k.out[0].View, k.in[0].View)
}

// padFrom fills to, which has the axes before axis cut to one segment each. Turns of
// a segment are axes behind those of the result.
func (k *kernel) padFrom(axis int, pads []int64, mode string, to, from view.View) error {
	rank := len(k.in[0].Shape)
	if axis == rank {
		return k.move(k.out[0].showing(to), k.in[0].showing(from))
	}
	for _, s := range segments(k.in[0].Shape[axis], pads[axis], pads[rank+axis], mode) {
		piece, _ := part(to, axis, s.at, s.n*max(s.turns, 1))
		if s.constant {
			if err := k.fill(k.out[0].showing(piece), k.Attrs.Float("value")); err != nil {
				return err
			}
			continue
		}
		source := view.View{Shape: slices.Clone(from.Shape), Strides: slices.Clone(from.Strides)}
		source.Offset = from.Offset + s.first*from.Strides[axis]
		source.Shape[axis], source.Strides[axis] = s.n, s.step*from.Strides[axis]
		if s.turns > 1 {
			piece = turning(piece, axis, s.n, s.turns, s.n*piece.Strides[axis])
			source = turning(source, axis, s.n, s.turns, 0)
		}
		if err := k.padFrom(axis+1, pads, mode, piece, source); err != nil {
			return err
		}
	}
	return nil
}

// turning cuts an axis to n elements and adds an axis that repeats it.
func turning(v view.View, axis int, n, turns, stride int64) view.View {
	v.Shape, v.Strides = append(slices.Clone(v.Shape), turns), append(slices.Clone(v.Strides), stride)
	v.Shape[axis] = n
	return v
}

// fill writes a number everywhere.
func (k *kernel) fill(to operand, number float64) error {
	l := k.scalar(to.elem)
	return k.each([]operand{to}, func(ptrs []string) { l.store(l.number(number), ptrs[0]) })
}
