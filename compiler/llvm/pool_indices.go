package llvm

import (
	"slices"

	"tlruntime/compiler/graph"
)

// indexed is a maximum pool that tells which inputs it took. It goes an output at a
// time, as networks that are run seldom ask for it.
type indexed struct {
	*pool
	y     *operand // nil: only the numbers are asked for
	which operand
	steps []int64 // how much further the number of an input is, for each spatial axis
}

func (k *kernel) maxPoolIndices() error {
	q := indexed{which: k.out[1]}
	if k.out[0].present {
		q.y = &operand{}
		*q.y = k.out[0]
	} else {
		k.out[0] = k.in[0].showing(k.out[1].View) // for its shape and type
		k.out[0].present = false
	}
	var err error
	if q.pool, err = k.newPool(); err != nil {
		return err
	}
	if q.which.dtype != graph.I64 || !slices.Equal(q.which.Shape, k.out[0].Shape) {
		return k.unsupported(q.which.dtype, "result 1 is of shape %v; i64 of shape %v is computed", q.which.Shape,
			k.out[0].Shape)
	}
	if q.which.View.Elements() == 0 {
		return nil
	}
	q.steps = numbering(k.in[0].Shape[2:], k.Attrs.Int("storage_order") != 0)
	q.emitIndices()
	return nil
}

// numbering is the distance of neighbours on each axis when elements are numbered
// row by row or, with columns, with the first axis going fastest.
func numbering(shape []int64, columns bool) []int64 {
	steps, n := make([]int64, len(shape)), int64(1)
	for i := range shape {
		a := len(shape) - 1 - i
		if columns {
			a = i
		}
		steps[a] = n
		n *= shape[a]
	}
	return steps
}

func (q *indexed) emitIndices() {
	x := q.in[0]
	channel := graph.Elements(x.Shape[2:])
	q.loop(x.Shape[0], func(n string) {
		q.loop(x.Shape[1], func(c string) {
			place := []string{n, c}
			base := q.scaled(q.plus(q.scaled(n, x.Shape[1]), c), channel)
			from := q.placed(x, place)
			q.outputs(q.windows, nil, func(at []string) { q.output(base, from, append(slices.Clone(place), at...)) })
		})
	})
}

// placed is the address of an element of which the first indices are given.
func (q *indexed) placed(o operand, index []string) string {
	at := o.ptr
	for i, n := range index {
		at = q.at(at, o.memory, q.scaled(n, o.Strides[i]))
	}
	return at
}

// output writes one output, whose place is given, and its number.
func (q *indexed) output(base, from string, place []string) {
	l, number := q.scalar(q.in[0].elem), q.scalar(elems[graph.I64])
	init := []value{{l.typ(), l.lowest()}, {number.typ(), "-1"}}
	done := q.highest(0, place[2:], from, base, init)
	if q.y != nil {
		l.store(done[0], q.placed(*q.y, place))
	}
	number.store(done[1], q.placed(q.which, place))
}

// highest folds over the inputs under the window from axis on: the highest so far,
// and its number.
func (q *indexed) highest(axis int, at []string, from, number string, so []value) []string {
	l, x := q.scalar(q.in[0].elem), q.in[0]
	if axis == len(at) {
		v := l.load(from)
		keep := l.cmp("ge", so[0].ref, v)
		if l.float() {
			keep = q.let("or i1 %s, %s", keep, l.cmp("ne", so[0].ref, so[0].ref))
		}
		keep = q.let("and i1 %s, %s", keep, q.let("icmp sge i64 %s, 0", so[1].ref))
		return []string{l.pick(keep, so[0].ref, v), q.scalar(elems[graph.I64]).pick(keep, so[1].ref, number)}
	}
	return q.overAxis(q.windows[axis], at[axis], so, func(_, position string, carried []string) []string {
		next := q.at(from, l.memory, q.scaled(position, x.Strides[2+axis]))
		return q.highest(axis+1, at, next, q.plus(number, q.scaled(position, q.steps[axis])), retyped(so, carried))
	})
}
