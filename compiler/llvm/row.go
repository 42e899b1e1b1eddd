package llvm

import "slices"

// rows are what reductions loop over: for each element of the kept axes, all
// elements of the reduced ones. Sums and maxima are kept in vectors: along the
// innermost reduced axis where its elements lie side by side, else along the
// innermost kept axis where those do.
type rows struct {
	*kernel
	types         []elem
	kept, reduced []axis
	first         int // operand whose layout decides
	across        int // lanes along the innermost kept axis
	along         int // lanes along the innermost reduced axis
}

// row is one element of the kept axes, or as many as it has lanes.
type row struct {
	*rows
	ptrs  []string
	lanes int  // along the kept axis
	steps axis // that axis
}

// newRows splits the axes of shape into reduced and kept ones. Every operand has
// the strides of all axes, 0 where it has none.
func (k *kernel) newRows(axes []axis, isReduced func(i int) bool, operands []operand, first int) *rows {
	r := &rows{kernel: k, first: first, across: 1, along: 1}
	r.types, _, _ = all(operands)
	var kept, reduced []axis
	for i, a := range axes {
		if isReduced(i) {
			reduced = append(reduced, a)
		} else {
			kept = append(kept, a)
		}
	}
	r.kept, r.reduced = merged(kept, first), merged(reduced, first)
	width := k.width(r.types[first])
	if n := len(r.reduced); n > 0 && r.reduced[n-1].strides[first] == 1 {
		r.along = width
	} else if n := len(r.kept); n > 0 && r.kept[n-1].strides[first] == 1 {
		r.across = width
	}
	return r
}

// each emits body for every row.
func (r *rows) each(ptrs []string, body func(w *row)) {
	if r.across == 1 {
		r.walk(r.kept, r.types, ptrs, func(p []string) { body(&row{rows: r, ptrs: p, lanes: 1}) })
		return
	}
	last := len(r.kept) - 1
	inner := r.kept[last]
	r.walk(r.kept[:last], r.types, ptrs, func(p []string) {
		r.strips(inner.n, r.across, func(first string, n int) {
			body(&row{rows: r, ptrs: r.advanced(inner, r.types, p, first), lanes: n, steps: inner})
		})
	})
}

// keptStride is how far apart the lanes of an operand are along the kept axis.
func (w *row) keptStride(operand int) int64 {
	if w.steps.strides == nil {
		return 0
	}
	return w.steps.strides[operand]
}

// load reads the element, or the lanes, of an operand at ptr. Lanes along the
// reduced axis go in steps of its stride.
func (w *row) load(l lanes, operand int, ptr string, alongLanes bool) string {
	l = l.of(w.types[operand])
	if alongLanes {
		return l.loadStrided(ptr, w.reduced[len(w.reduced)-1].strides[operand])
	}
	return l.loadStrided(ptr, w.keptStride(operand))
}

func (w *row) store(l lanes, operand int, v, ptr string, alongLanes bool) {
	l = l.of(w.types[operand])
	if alongLanes {
		l.storeStrided(v, ptr, w.reduced[len(w.reduced)-1].strides[operand])
		return
	}
	l.storeStrided(v, ptr, w.keptStride(operand))
}

// element is one step of a row: lanes, and how to read and write them.
type element struct {
	lanes
	*row
	ptrs []string
	wide bool // its lanes go along the reduced axis
}

func (e element) get(operand int) string {
	return e.row.load(e.lanes, operand, e.ptrs[operand], e.wide)
}
func (e element) put(operand int, v string) {
	e.row.store(e.lanes, operand, v, e.ptrs[operand], e.wide)
}

// cell is the row itself as lanes of type e.
func (w *row) cell(e elem) lanes { return lanes{w.code(), e, w.lanes} }

func (w *row) code() *code { return &w.kernel.code }

// fold joins what step makes of each element of the row, starting with start, a
// literal that changes nothing. The result has the lanes of the row.
func (w *row) fold(e elem, start string, join func(l lanes, a, b string) string, step func(x element) string) string {
	cell := w.cell(e)
	if w.along == 1 {
		return w.inner(cell, w.reduced, w.ptrs, cell.repeat(start), join, step)
	}
	last := len(w.reduced) - 1
	wide := cell.wide(w.along)
	turns, rest := w.reduced[last].n/int64(w.along), w.reduced[last].n%int64(w.along)
	init := []value{{wide.typ(), wide.repeat(start)}, {cell.typ(), start}}
	done := w.nested(w.reduced[:last], w.ptrs, init, func(ptrs []string, so []string) []string {
		v := w.line(wide, turns, 0, ptrs, so[0], join, step)
		s := w.line(cell, rest, turns*int64(w.along), ptrs, so[1], join, step)
		return []string{v, s}
	})
	if turns == 0 {
		return done[1]
	}
	sum := wide.joined(done[0], join)
	if rest == 0 {
		return sum
	}
	return join(cell, sum, done[1])
}

// line folds over turns vectors of the innermost reduced axis from first on.
func (w *row) line(l lanes, turns, first int64, ptrs []string, so string, join func(l lanes, a, b string) string,
	step func(x element) string) string {
	inner := w.reduced[len(w.reduced)-1]
	return l.fold(turns, []value{{l.typ(), so}}, func(i string, so []string) []string {
		at := l.shifted(l.scaled(i, int64(l.n)), first)
		x := element{l, w, w.advanced(inner, w.types, ptrs, at), true}
		return []string{join(l, so[0], step(x))}
	})[0]
}

// inner folds over axes an element at a time.
func (w *row) inner(l lanes, axes []axis, ptrs []string, so string, join func(l lanes, a, b string) string,
	step func(x element) string) string {
	return w.nested(axes, ptrs, []value{{l.typ(), so}}, func(ptrs []string, so []string) []string {
		return []string{join(l, so[0], step(element{l, w, ptrs, false}))}
	})[0]
}

// nested folds over axes.
func (w *row) nested(axes []axis, ptrs []string, init []value,
	body func(ptrs []string, so []string) []string) []string {
	if len(axes) == 0 {
		return body(ptrs, refs(init))
	}
	return w.code().fold(axes[0].n, init, func(i string, so []string) []string {
		return w.nested(axes[1:], w.advanced(axes[0], w.types, ptrs, i), retyped(init, so), body)
	})
}

// each emits body for every element of the row.
func (w *row) each(e elem, body func(x element)) {
	cell := w.cell(e)
	axes := slices.Clone(w.reduced)
	if w.along == 1 {
		w.walk(axes, w.types, w.ptrs, func(ptrs []string) { body(element{cell, w, ptrs, false}) })
		return
	}
	last := len(axes) - 1
	w.walk(axes[:last], w.types, w.ptrs, func(ptrs []string) {
		w.strips(axes[last].n, w.along, func(first string, n int) {
			body(element{cell.wide(n), w, w.advanced(axes[last], w.types, ptrs, first), true})
		})
	})
}
