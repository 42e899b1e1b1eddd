package llvm

import (
	"fmt"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// moves are the kernels of operators that only carry elements to another place.
func moves(emit func(*kernel) error) writer { return writer{emit: emit, types: computed} }

var moveKernels = map[string]writer{
	plan.OpCopy:    moves((*kernel).sameElements),
	plan.OpMoveOut: moves((*kernel).sameElements),
	plan.OpMoveIn:  moves((*kernel).sameElements),
	"Identity":     moves((*kernel).sameElements),
	"Reshape":      moves((*kernel).sameElements),
	"Expand":       moves((*kernel).expand),
	"Transpose":    moves((*kernel).transpose),
	"Slice":        moves((*kernel).slice),
	"Concat":       moves((*kernel).concat),
	"Split":        moves((*kernel).split),
	"Pad":          moves((*kernel).pad),
	"Gather":       {emit: (*kernel).gather, types: computed},
}

// showing is the operand through another view of its buffer.
func (o operand) showing(v view.View) operand {
	o.View = v
	return o
}

// move copies the elements of from, which is broadcast to the shape of to. What
// lies there already stays.
func (k *kernel) move(to, from operand) error {
	if to.elem != from.elem {
		return k.unsupported(to.dtype, "its argument is of %s and its result of %s", from.dtype, to.dtype)
	}
	if to.source == from.source && to.View.Same(from.View) {
		return nil
	}
	to.elem, from.elem = to.elem.opaque(), from.elem.opaque()
	l := k.scalar(to.elem)
	return k.each([]operand{to, from}, func(ptrs []string) { l.store(l.load(ptrs[1]), ptrs[0]) })
}

// mismatch tells that views do not go together.
func (k *kernel) mismatch(what string) error {
	return k.unsupported(k.out[0].dtype, "%s does not take %v to %v", what, k.in[0].Shape, k.out[0].Shape)
}

// sameElements copies elements in the order of both shapes.
func (k *kernel) sameElements() error {
	to, from := k.out[0], k.in[0]
	if to.View.Elements() != from.View.Elements() {
		return k.mismatch(k.Op)
	}
	if v, ok := from.View.Reshape(to.Shape); ok {
		return k.move(to, from.showing(v))
	}
	if v, ok := to.View.Reshape(from.Shape); ok {
		return k.move(to.showing(v), from)
	}
	return k.renumber(to, from)
}

// renumber copies between shapes that no strides bring together: the index of each
// element is computed from its number.
func (k *kernel) renumber(to, from operand) error {
	if to.elem != from.elem {
		return k.unsupported(to.dtype, "its argument is of %s and its result of %s", from.dtype, to.dtype)
	}
	l := k.scalar(to.elem.opaque())
	k.loop(to.View.Elements(), func(i string) {
		v := l.load(k.at(from.ptr, l.memory, k.numbered(from.View, i)))
		l.store(v, k.at(to.ptr, l.memory, k.numbered(to.View, i)))
	})
	return nil
}

// numbered returns where element number i of a view is.
func (k *kernel) numbered(v view.View, i string) string {
	at := strconv.FormatInt(v.Offset, 10)
	for a := len(v.Shape) - 1; a >= 0; a-- {
		if a == 0 {
			return k.plus(at, k.scaled(i, v.Strides[0]))
		}
		index := k.let("urem i64 %s, %d", i, v.Shape[a])
		at = k.plus(at, k.scaled(index, v.Strides[a]))
		i = k.let("udiv i64 %s, %d", i, v.Shape[a])
	}
	return at
}

func (k *kernel) expand() error {
	v, ok := k.in[0].View.Expand(k.out[0].Shape)
	if !ok {
		return k.mismatch(k.Op)
	}
	return k.move(k.out[0], k.in[0].showing(v))
}

func (k *kernel) transpose() error {
	v, ok := k.in[0].View.Transpose(k.Attrs.Ints("perm"))
	if !ok || !slices.Equal(v.Shape, k.out[0].Shape) {
		return k.mismatch(fmt.Sprintf("perm %v", k.Attrs.Ints("perm")))
	}
	return k.move(k.out[0], k.in[0].showing(v))
}

func (k *kernel) slice() error {
	starts, ends, steps := k.Attrs.Ints("starts"), k.Attrs.Ints("ends"), k.Attrs.Ints("steps")
	v, ok := k.in[0].View.Slice(starts, ends, steps)
	if !ok || !slices.Equal(v.Shape, k.out[0].Shape) {
		return k.mismatch(fmt.Sprintf("starts %v, ends %v, steps %v", starts, ends, steps))
	}
	return k.move(k.out[0], k.in[0].showing(v))
}

// part is the piece of v that holds n elements of an axis from first on.
func part(v view.View, axis int, first, n int64) (view.View, bool) {
	if axis < 0 || axis >= len(v.Shape) || first < 0 || n < 0 || first+n > v.Shape[axis] {
		return view.View{}, false
	}
	p := view.View{Shape: slices.Clone(v.Shape), Strides: v.Strides, Offset: v.Offset + first*v.Strides[axis]}
	p.Shape[axis] = n
	return p, true
}

// concat copies the arguments that do not lie in the result already.
func (k *kernel) concat() error {
	axis, at := int(k.Attrs.Int("axis")), int64(0)
	for _, from := range k.in {
		if axis < 0 || axis >= len(from.Shape) {
			return k.mismatch(fmt.Sprintf("axis %d", axis))
		}
		to, ok := part(k.out[0].View, axis, at, from.Shape[axis])
		if !ok || !slices.Equal(to.Shape, from.Shape) {
			return k.mismatch(fmt.Sprintf("axis %d", axis))
		}
		if err := k.move(k.out[0].showing(to), from); err != nil {
			return err
		}
		at += from.Shape[axis]
	}
	return nil
}

func (k *kernel) split() error {
	axis, at := int(k.Attrs.Int("axis")), int64(0)
	for i, n := range k.Attrs.Ints("split") {
		if i >= len(k.out) {
			return k.mismatch(fmt.Sprintf("split %v", k.Attrs.Ints("split")))
		}
		from, ok := part(k.in[0].View, axis, at, n)
		at += n
		if !k.out[i].present {
			continue
		}
		if !ok || !slices.Equal(from.Shape, k.out[i].Shape) {
			return k.mismatch(fmt.Sprintf("split %v of axis %d", k.Attrs.Ints("split"), axis))
		}
		if err := k.move(k.out[i], k.in[0].showing(from)); err != nil {
			return err
		}
	}
	return nil
}

// gather looks at all indices first: one that is out of range is an invalid
// argument, and nothing is written.
func (k *kernel) gather() error {
	data, indices, to := k.in[0], k.in[1], k.out[0]
	axis := int(k.Attrs.Int("axis"))
	if indices.dtype != graph.I32 && indices.dtype != graph.I64 {
		return k.unsupported(indices.dtype, "indices are of i32 or i64")
	}
	if axis < 0 || axis >= len(data.Shape) ||
		!slices.Equal(to.Shape, slices.Concat(data.Shape[:axis], indices.Shape, data.Shape[axis+1:])) {
		return k.mismatch(fmt.Sprintf("axis %d of indices %v", axis, indices.Shape))
	}
	if data.elem != to.elem {
		return k.unsupported(to.dtype, "its argument is of %s and its result of %s", data.dtype, to.dtype)
	}
	if to.View.Elements() == 0 {
		return nil
	}
	k.checkIndices(indices, data.Shape[axis])
	k.gatherRows(data, indices, to, axis)
	return nil
}

func (k *kernel) checkIndices(indices operand, n int64) {
	k.fallible = true
	axes, _ := axesOf(indices.Shape, indices.View)
	bad := k.all(merged(axes, 0), indices, []value{{"i1", "false"}}, func(ptr, so string) string {
		_, outside := k.index(indices, ptr, n)
		return k.let("or i1 %s, %s", so, outside)
	})
	wrong, fine := k.Name("b"), k.Name("b")
	k.Do("br i1 %s, label %%%s, label %%%s", bad, wrong, fine)
	k.begin(wrong)
	k.Do("ret i32 %d", statusInvalid)
	k.begin(fine)
}

// all folds over the elements of one operand.
func (k *kernel) all(axes []axis, o operand, init []value, step func(ptr, so string) string) string {
	if len(axes) == 0 {
		return step(o.ptr, init[0].ref)
	}
	return k.fold(axes[0].n, init, func(i string, carried []string) []string {
		inner := o
		inner.ptr = k.advanced(axes[0], []elem{o.elem}, []string{o.ptr}, i)[0]
		return []string{k.all(axes[1:], inner, []value{{init[0].typ, carried[0]}}, step)}
	})[0]
}

// index loads an index into n elements and returns it, counted from the first
// element, and whether it is out of range.
func (k *kernel) index(indices operand, ptr string, n int64) (index, outside string) {
	from, to := k.scalar(indices.elem), k.scalar(elems[graph.I64])
	index = convert(from, to, from.load(ptr))
	fromEnd := to.add(index, fmt.Sprint(n))
	index = to.pick(to.cmp("lt", index, "0"), fromEnd, index)
	return index, k.let("icmp uge i64 %s, %d", index, n)
}

// gatherRows copies: axes before, axes of the indices, axes behind. Each axis has
// the strides of the result, the data and the indices.
func (k *kernel) gatherRows(data, indices, to operand, along int) {
	nests := make([][]axis, 3)
	last := along + len(indices.Shape)
	for i, n := range to.Shape {
		switch {
		case i < along:
			nests[0] = append(nests[0], axis{n, []int64{to.Strides[i], data.Strides[i], 0}})
		case i < last:
			nests[1] = append(nests[1], axis{n, []int64{to.Strides[i], 0, indices.Strides[i-along]}})
		default:
			nests[2] = append(nests[2], axis{n, []int64{to.Strides[i], data.Strides[i-last+along+1], 0}})
		}
	}
	e := data.elem.opaque()
	types := []elem{e, e, indices.elem}
	l := k.scalar(e)
	k.walk(joinedAxes(nests[0]), types, []string{to.ptr, data.ptr, indices.ptr}, func(p []string) {
		k.walk(joinedAxes(nests[1]), types, p, func(p []string) {
			index, _ := k.index(indices, p[2], data.Shape[along])
			p[1] = k.at(p[1], e.memory, k.scaled(index, data.Strides[along]))
			k.walk(joinedAxes(nests[2]), types, p, func(p []string) { l.store(l.load(p[1]), p[0]) })
		})
	})
}
