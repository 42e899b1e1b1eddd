package llvm

import (
	"fmt"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
)

// cumSum reads an element before it writes there, so that the result may lie on the
// argument.
func (k *kernel) cumSum() error {
	if err := k.sameShape(); err != nil || k.in[0].View.Elements() == 0 {
		return err
	}
	x, y, along := k.in[0], k.out[0], k.Attrs.Int("axis")
	if !areAxes([]int64{along}, x.Shape) {
		return k.mismatch(fmt.Sprintf("axis %d", along))
	}
	list, _ := axesOf(x.Shape, y.View, x.View)
	line, others := list[along], slices.Delete(slices.Clone(list), int(along), int(along)+1)
	types, l := []elem{y.elem, x.elem}, k.scalar(x.elem)
	ptrs := []string{y.ptr, x.ptr}
	if k.Attrs.Int("reverse") != 0 {
		ptrs = k.advanced(line, types, ptrs, strconv.FormatInt(line.n-1, 10))
		line = axis{line.n, []int64{-line.strides[0], -line.strides[1]}}
	}
	exclusive := k.Attrs.Int("exclusive") != 0
	k.walk(merged(others, 0), types, ptrs, func(p []string) {
		k.fold(line.n, []value{{l.typ(), l.number(0)}}, func(i string, so []string) []string {
			at := k.advanced(line, types, p, i)
			sum := l.add(so[0], l.load(at[1]))
			if exclusive {
				l.store(so[0], at[0])
			} else {
				l.store(sum, at[0])
			}
			return []string{sum}
		})
	})
	return nil
}

// ranking keeps the best elements of a row in order, in the results themselves.
type ranking struct {
	*kernel
	x, y, which operand // y or which may be left out
	along       int64
	n, keep     int64
	order       string
	ptrs        []string // of a row of y, of which and of x
}

func (k *kernel) topK() error {
	r := &ranking{kernel: k, x: k.in[0], y: k.out[0], along: k.Attrs.Int("axis"), keep: k.Attrs.Int("k"), order: "lt"}
	if len(k.out) > 1 {
		r.which = k.out[1]
	}
	if k.Attrs.Int("largest") != 0 {
		r.order = "gt"
	}
	if !areAxes([]int64{r.along}, r.x.Shape) || r.keep < 0 || r.keep > r.x.Shape[r.along] {
		return k.mismatch(fmt.Sprintf("k %d of axis %d", r.keep, r.along))
	}
	shape := slices.Clone(r.x.Shape)
	r.n, shape[r.along] = shape[r.along], r.keep
	if r.y.present && (r.y.elem != r.x.elem || !slices.Equal(r.y.Shape, shape)) ||
		r.which.present && (r.which.dtype != graph.I64 || !slices.Equal(r.which.Shape, shape)) {
		return k.mismatch(fmt.Sprintf("k %d of axis %d", r.keep, r.along))
	}
	if graph.Elements(shape) > 0 {
		r.rows()
	}
	return nil
}

func (o operand) stride(axis int64) int64 {
	if !o.present {
		return 0
	}
	return o.Strides[axis]
}

func (r *ranking) rows() {
	var others []axis
	for i, n := range r.x.Shape {
		if a := int64(i); a != r.along {
			others = append(others, axis{n, []int64{r.y.stride(a), r.which.stride(a), r.x.stride(a)}})
		}
	}
	types := []elem{r.y.elem, r.which.elem, r.x.elem}
	r.walk(merged(others, 2), types, []string{r.y.ptr, r.which.ptr, r.x.ptr}, func(p []string) {
		r.ptrs = p
		r.loop(r.keep, func(i string) { r.insert(r.element(i), i, i, true) })
		r.loop(r.n-r.keep, func(i string) {
			i = r.shifted(i, r.keep)
			v := r.element(i)
			better := r.scalar(r.x.elem).beats(r.order, v, r.kept(strconv.FormatInt(r.keep-1, 10)))
			r.insert(v, i, r.let("select i1 %s, i64 %d, i64 0", better, r.keep), false)
		})
	})
}

// element loads element i of the row.
func (r *ranking) element(i string) string {
	l := r.scalar(r.x.elem)
	return l.load(r.at(r.ptrs[2], l.memory, r.times(i, strconv.FormatInt(r.x.stride(r.along), 10))))
}

// kept loads the element that stands at a place of the results.
func (r *ranking) kept(place string) string {
	if !r.y.present {
		return r.element(r.indexAt(place))
	}
	l := r.scalar(r.x.elem)
	return l.load(r.at(r.ptrs[0], l.memory, r.scaled(place, r.y.stride(r.along))))
}

// indexAt loads the index that stands at a place of the results.
func (r *ranking) indexAt(place string) string {
	l := r.scalar(elems[graph.I64])
	return l.load(r.at(r.ptrs[1], l.memory, r.scaled(place, r.which.stride(r.along))))
}

func (r *ranking) put(place, v, i string) {
	if r.y.present {
		r.scalar(r.x.elem).store(v, r.at(r.ptrs[0], r.x.memory, r.scaled(place, r.y.stride(r.along))))
	}
	if r.which.present {
		l := r.scalar(elems[graph.I64])
		l.store(i, r.at(r.ptrs[1], l.memory, r.scaled(place, r.which.stride(r.along))))
	}
}

// insert puts element v with index i before the first of the places up to high that it
// beats, and moves the others on: the last one to place high if it grows, else away.
func (r *ranking) insert(v, i, high string, grows bool) {
	l, number := r.scalar(r.x.elem), r.scalar(elems[graph.I64])
	init := []value{{l.typ(), v}, {number.typ(), i}, {"i1", "false"}}
	last := r.between("0", high, init, func(place string, so []string) []string {
		old, oldIndex := r.kept(place), so[1]
		if r.which.present {
			oldIndex = r.indexAt(place)
		}
		moves := r.let("or i1 %s, %s", so[2], l.beats(r.order, so[0], old))
		r.put(place, l.pick(moves, so[0], old), number.pick(moves, so[1], oldIndex))
		return []string{l.pick(moves, old, so[0]), number.pick(moves, oldIndex, so[1]), moves}
	})
	if grows {
		r.put(high, last[0], last[1])
	}
}
