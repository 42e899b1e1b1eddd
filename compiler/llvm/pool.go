package llvm

var poolKernels = map[string]writer{
	"MaxPool":     {emit: (*kernel).maxPool, types: numbers},
	"AveragePool": {emit: (*kernel).averagePool, types: floats},
}

// pool computes each output from the inputs of one channel under its window.
type pool struct {
	*kernel
	windows []window
	fill    string // what is read beside the inputs
	join    func(l lanes, so, next string) string
	last    func(l lanes, v string, at []string, t placedTile, i int) string
}

func (k *kernel) newPool() (*pool, error) {
	windows, ok := k.windows(k.in[0].Shape, k.out[0].Shape)
	x, y := k.in[0], k.out[0]
	if !ok || x.Shape[0] != y.Shape[0] || x.Shape[1] != y.Shape[1] || x.elem != y.elem {
		return nil, k.mismatch(k.Op)
	}
	return &pool{kernel: k, windows: windows}, nil
}

func (k *kernel) maxPool() error {
	if len(k.out) > 1 && k.out[1].present {
		return k.maxPoolIndices()
	}
	p, err := k.newPool()
	if err != nil {
		return err
	}
	p.fill, p.join = k.in[0].lowest(), lanes.max
	p.last = func(_ lanes, v string, _ []string, _ placedTile, _ int) string { return v }
	p.emit()
	return nil
}

func (k *kernel) averagePool() error {
	p, err := k.newPool()
	if err != nil {
		return err
	}
	p.fill, p.join, p.last = k.scalar(k.in[0].elem).number(0), lanes.add, p.average
	p.emit()
	return nil
}

func (p *pool) emit() {
	x, y := p.in[0], p.out[0]
	if y.View.Elements() == 0 {
		return
	}
	last := len(p.windows) - 1
	tiles := tilesOf(p.windows[last], p.width(x.elem), 4)
	channels := []axis{{x.Shape[0], []int64{x.Strides[0], y.Strides[0]}},
		{x.Shape[1], []int64{x.Strides[1], y.Strides[1]}}}
	p.walk(joinedAxes(channels), []elem{x.elem, y.elem}, []string{x.ptr, y.ptr}, func(ptrs []string) {
		p.outputs(p.windows[:last], nil, func(at []string) {
			p.tiles(p.windows[last], tiles, func(t placedTile) { p.tile(ptrs[0], ptrs[1], at, t) })
		})
	})
}

func (p *pool) tile(x, y string, at []string, t placedTile) {
	l := p.scalar(p.in[0].elem)
	init := make([]value, len(t.columns))
	for i, column := range t.columns {
		v := l.wide(column.lanes)
		init[i] = value{v.typ(), v.repeat(p.fill)}
	}
	done := p.over(0, at, x, init, t)
	axis := len(p.windows) - 1
	stride := p.out[0].Strides[2+axis]
	for i, a := range at {
		y = p.at(y, l.memory, p.scaled(a, p.out[0].Strides[2+i]))
	}
	for i, column := range t.columns {
		v := l.wide(column.lanes)
		to := p.at(y, l.memory, p.scaled(p.shifted(t.base, column.at), stride))
		v.storePart(p.last(v, done[i], at, t, i), to, stride, column.used)
	}
}

// over folds over the taps of axis and those behind it.
func (p *pool) over(axis int, at []string, x string, init []value, t placedTile) []string {
	l, stride := p.scalar(p.in[0].elem), p.in[0].Strides[2+axis]
	if axis == len(at) {
		return p.overTaps(t, p.fill, init, func(_ string, load loader, carried []string) []string {
			next := make([]string, len(carried))
			for i, column := range t.columns {
				next[i] = p.join(l.wide(column.lanes), carried[i], load(l, i, x, stride))
			}
			return next
		})
	}
	return p.overAxis(p.windows[axis], at[axis], init, func(_, position string, carried []string) []string {
		return p.over(axis+1, at, p.code.at(x, l.memory, p.scaled(position, stride)), retyped(init, carried), t)
	})
}

// average divides a sum by the number of taps that count.
func (p *pool) average(l lanes, sum string, at []string, t placedTile, i int) string {
	pads := p.Attrs.Int("count_include_pad") != 0
	outer := "1"
	for a, o := range at {
		low, high := p.bounds(p.windows[a].counting(pads), o)
		outer = p.times(outer, p.plus(high, p.scaled(low, -1)))
	}
	inner := t.w.counting(pads)
	switch {
	case t.edge:
		low, high := p.bounds(inner, t.base)
		outer = p.times(outer, p.plus(high, p.scaled(low, -1)))
		return l.arith("div", sum, p.floated(l, outer))
	case t.inside:
		return l.arith("div", sum, l.splat(p.floated(l.wide(1), p.scaled(outer, inner.taps))))
	}
	counts := l.listed(func(j int) string {
		return l.digits(float64(inner.count(t.first + t.columns[i].at + int64(j))))
	})
	return l.arith("div", sum, l.mul(counts, l.splat(p.floated(l.wide(1), outer))))
}

// times returns a * b, folded where one is known.
func (c *code) times(a, b string) string {
	if n, known := literal(a); known {
		return c.scaled(b, n)
	}
	if n, known := literal(b); known {
		return c.scaled(a, n)
	}
	return c.let("mul nsw i64 %s, %s", a, b)
}

// floated is a number as a float.
func (c *code) floated(l lanes, n string) string {
	if known, ok := literal(n); ok {
		return l.number(float64(known))
	}
	return c.let("sitofp i64 %s to %s", n, l.ir)
}
