package llvm

import (
	"math"
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

var matrixTypes = append(slices.Clone(floats), graph.I32, graph.I64, graph.U32, graph.U64)

var matrixKernels = map[string]writer{
	"MatMul": {emit: (*kernel).matMul, types: matrixTypes},
	"Gemm":   {emit: (*kernel).gemm, types: matrixTypes},
}

// product is a product of matrices, or of many: y[m][n] is the sum over k of
// a[m][k] * b[k][n], passed through last.
type product struct {
	*kernel
	a, b, y operand // of two axes
	m, n, k int64
	last    func(l lanes, used int64, sum, m, n string) string // nil: the sum itself; n is the first of the used lanes
}

// matMul multiplies the last two axes for each element of the others.
func (k *kernel) matMul() error {
	a, b, y := k.in[0].View, k.in[1].View, k.out[0].View
	if len(a.Shape) == 0 || len(b.Shape) == 0 {
		return k.mismatch(k.Op)
	}
	y = view.View{Shape: slices.Clone(y.Shape), Strides: slices.Clone(y.Strides)}
	if len(b.Shape) == 1 {
		b = withAxis(b, 1)
		y = withAxis(y, len(y.Shape))
	}
	if len(a.Shape) == 1 {
		a = withAxis(a, 0)
		y = withAxis(y, max(len(y.Shape)-1, 0))
	}
	batch := len(y.Shape) - 2
	if batch < 0 || len(a.Shape)-2 > batch || len(b.Shape)-2 > batch {
		return k.mismatch(k.Op)
	}
	axes, ok := axesOf(y.Shape[:batch], front(y), front(a), front(b))
	if !ok {
		return k.mismatch(k.Op)
	}
	p := &product{kernel: k, a: k.in[0].showing(back(a)), b: k.in[1].showing(back(b)), y: k.out[0].showing(back(y))}
	if err := p.check(); err != nil || k.out[0].View.Elements() == 0 {
		return err
	}
	types := []elem{p.y.elem, p.a.elem, p.b.elem}
	k.walk(joinedAxes(axes), types, []string{p.y.ptr, p.a.ptr, p.b.ptr}, func(ptrs []string) {
		one := *p
		one.y.ptr, one.a.ptr, one.b.ptr = ptrs[0], ptrs[1], ptrs[2]
		one.emit()
	})
	return nil
}

// withAxis is v with an axis of extent 1 before axis i.
func withAxis(v view.View, i int) view.View {
	return view.View{Shape: slices.Insert(slices.Clone(v.Shape), i, 1), Strides: slices.Insert(slices.Clone(v.Strides),
		i, 0)}
}

// front and back are the axes before the last two, and the last two.
func front(v view.View) view.View {
	n := len(v.Shape) - 2
	return view.View{Shape: v.Shape[:n], Strides: v.Strides[:n]}
}

func back(v view.View) view.View {
	n := len(v.Shape) - 2
	return view.View{Shape: v.Shape[n:], Strides: v.Strides[n:]}
}

func (k *kernel) gemm() error {
	a, b, y := k.in[0], k.in[1], k.out[0]
	if len(a.Shape) != 2 || len(b.Shape) != 2 || len(y.Shape) != 2 {
		return k.mismatch(k.Op)
	}
	if k.Attrs.Int("transA") != 0 {
		a.View, _ = a.View.Transpose([]int64{1, 0})
	}
	if k.Attrs.Int("transB") != 0 {
		b.View, _ = b.View.Transpose([]int64{1, 0})
	}
	p := &product{kernel: k, a: a, b: b, y: y}
	if err := p.check(); err != nil {
		return err
	}
	if err := p.scale(); err != nil || y.View.Elements() == 0 {
		return err
	}
	p.emit()
	return nil
}

// scale makes alpha*sum + beta*C what becomes of the sums.
func (p *product) scale() error {
	alpha, beta := p.Attrs.Float("alpha"), p.Attrs.Float("beta")
	if !p.y.float() && (alpha != math.Trunc(alpha) || beta != math.Trunc(beta)) {
		return p.unsupported(p.y.dtype, "alpha %v and beta %v have to be whole numbers", alpha, beta)
	}
	var c []int64
	if len(p.in) > 2 && p.in[2].present && beta != 0 {
		strides, ok := aligned(p.in[2].View, p.y.Shape)
		if !ok || p.in[2].elem != p.y.elem {
			return p.unsupported(p.in[2].dtype, "C of %v is not broadcast to %v", p.in[2].Shape, p.y.Shape)
		}
		c = strides
	}
	p.last = func(l lanes, used int64, sum, m, n string) string {
		if alpha != 1 {
			sum = l.mul(sum, l.number(alpha))
		}
		if c == nil {
			return sum
		}
		at := l.at(p.in[2].ptr, l.memory, l.plus(l.scaled(m, c[0]), l.scaled(n, c[1])))
		term := l.loadPart(at, c[1], used)
		if beta != 1 {
			term = l.mul(term, l.number(beta))
		}
		return l.add(sum, term)
	}
	return nil
}

func (p *product) check() error {
	p.m, p.k, p.n = p.a.Shape[0], p.a.Shape[1], p.b.Shape[1]
	if p.b.Shape[0] != p.k || p.y.Shape[0] != p.m || p.y.Shape[1] != p.n {
		return p.unsupported(p.a.dtype, "%v times %v does not give %v", p.a.Shape, p.b.Shape, p.y.Shape)
	}
	if p.a.elem != p.b.elem || p.a.elem != p.y.elem {
		return p.unsupported(p.b.dtype, "it multiplies %s with %s to %s", p.a.dtype, p.b.dtype, p.y.dtype)
	}
	return nil
}

// emit goes along whichever axis of b has its elements side by side: columns in
// vectors, or sums of products in vectors.
func (p *product) emit() {
	if p.k > 1 && p.b.Strides[0] == 1 && (p.b.Strides[1] != 1 || p.n == 1) {
		p.dots()
		return
	}
	w := plain(p.n)
	width := p.width(p.a.elem)
	block, perTile := blockOf(p.m, w, width)
	tiles := tilesOf(w, width, perTile)
	if p.m > p.n {
		p.blocks(p.m, block, func(m string, rows int) {
			p.tiles(w, tiles, func(t placedTile) { p.tile(m, rows, t) })
		})
		return
	}
	p.tiles(w, tiles, func(t placedTile) {
		p.blocks(p.m, block, func(m string, rows int) { p.tile(m, rows, t) })
	})
}

// tile computes rows rows from m on of the columns of a tile.
func (p *product) tile(m string, rows int, t placedTile) {
	l := p.scalar(p.a.elem)
	var sums []value
	for range rows {
		for _, column := range t.columns {
			v := l.wide(column.lanes)
			sums = append(sums, value{v.typ(), v.number(0)})
		}
	}
	a := p.at(p.a.ptr, l.memory, p.scaled(m, p.a.Strides[0]))
	done := p.fold(p.k, sums, func(i string, carried []string) []string {
		row := p.at(p.b.ptr, l.memory, p.scaled(i, p.b.Strides[0]))
		return p.overTaps(t, l.number(0), retyped(sums, carried),
			func(_ string, load loader, carried []string) []string {
				inputs := make([]string, len(t.columns))
				for c := range inputs {
					inputs[c] = load(l, c, row, p.b.Strides[1])
				}
				return p.multiplied(l, t, inputs, carried, rows, func(r int) string {
					return p.at(a, l.memory, p.plus(p.scaled(strconv.Itoa(r), p.a.Strides[0]),
						p.scaled(i, p.a.Strides[1])))
				})
			})
	})
	for r := range rows {
		for c, column := range t.columns {
			n := p.shifted(t.base, column.at)
			p.store(l.wide(column.lanes), column.used, done[r*len(t.columns)+c], p.shifted(m, int64(r)), n)
		}
	}
}

func (p *product) store(l lanes, used int64, sum, m, n string) {
	if p.last != nil {
		sum = p.last(l, used, sum, m, n)
	}
	at := p.at(p.y.ptr, l.memory, p.plus(p.scaled(m, p.y.Strides[0]), p.scaled(n, p.y.Strides[1])))
	l.storePart(sum, at, p.y.Strides[1], used)
}

// dots computes blocks of sums of products, each in the lanes of one vector.
func (p *product) dots() {
	rows, columns := 2, 4
	if p.m == 1 {
		rows, columns = 1, 8
	}
	p.blocks(p.n, columns, func(n string, columns int) {
		p.blocks(p.m, rows, func(m string, rows int) { p.dot(m, n, rows, columns) })
	})
}

func (p *product) dot(m, n string, rows, columns int) {
	one := p.scalar(p.a.elem)
	width := p.width(p.a.elem)
	sums := make([]string, rows*columns)
	for i := range sums {
		sums[i] = one.number(0)
	}
	for at := int64(0); at < p.k; width /= 2 {
		l := one.wide(width)
		turns := (p.k - at) / int64(width)
		for i, v := range p.run(l, turns, at, m, n, rows, columns) {
			if turns > 0 {
				sums[i] = one.add(sums[i], l.joined(v, lanes.add))
			}
		}
		at += turns * int64(width)
	}
	for r := range rows {
		for c := range columns {
			p.store(one, 1, sums[r*columns+c], p.shifted(m, int64(r)), p.shifted(n, int64(c)))
		}
	}
}

// run sums the products from k = first on, a vector at a time.
func (p *product) run(l lanes, turns, first int64, m, n string, rows, columns int) []string {
	init := make([]value, rows*columns)
	for i := range init {
		init[i] = value{l.typ(), l.number(0)}
	}
	return p.fold(turns, init, func(i string, sums []string) []string {
		k := p.shifted(p.scaled(i, int64(l.n)), first)
		factors := make([]string, columns)
		for c := range factors {
			at := p.plus(p.scaled(p.shifted(n, int64(c)), p.b.Strides[1]), k)
			factors[c] = l.load(p.at(p.b.ptr, l.memory, at))
		}
		next := make([]string, 0, len(sums))
		for r := range rows {
			at := p.plus(p.scaled(p.shifted(m, int64(r)), p.a.Strides[0]), p.scaled(k, p.a.Strides[1]))
			a := l.loadStrided(p.at(p.a.ptr, l.memory, at), p.a.Strides[1])
			for c := range factors {
				next = append(next, l.add(l.mul(a, factors[c]), sums[len(next)]))
			}
		}
		return next
	})
}
