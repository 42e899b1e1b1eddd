package llvm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

var bytesOnly = []graph.DType{graph.I8, graph.U8}

var integralKernels = map[string]writer{
	"MatMulInteger": {emit: (*kernel).matMulInteger, types: bytesOnly},
	"ConvInteger":   {emit: (*kernel).convInteger, types: bytesOnly},
}

// integral is a convolution, or a product of matrices, of bytes whose sums are i32. Two input
// channels are multiplied at a time: what they have for one output lies side by side in pairs
// of i16, which processors multiply and add in one instruction. The weights of a block of
// rows, less their zero points, are packed so into a piece of stack; inputs are widened in
// registers.
type integral struct {
	*convolution
	xz, wz   operand // zero points; not there: 0
	xzs, wzs int64   // strides: of the columns, and of the rows
	packed   string  // address of the packed weights
	taps     int64
	shift    []string // by column of a tile: the zero points of the inputs, "" for none
}

const (
	pairBytes    = 4
	maxRows      = 6
	maxPackedAll = 2 * maxPacked
)

// points returns zero points that go along one axis of what they belong to, and nothing where
// they are all 0.
func (k *kernel) points(i int) operand {
	if i >= len(k.in) || !k.in[i].present {
		return operand{}
	}
	z := k.in[i]
	if z.constant != nil && !slices.ContainsFunc(z.constant.Data, func(b byte) bool { return b != 0 }) {
		return operand{}
	}
	return z
}

func (k *kernel) checkBytes(zero bool, list ...operand) error {
	for _, o := range list {
		if o.present && !slices.Contains(bytesOnly, o.dtype) {
			return k.unsupported(o.dtype, "its arguments are of i8 or u8")
		}
	}
	if k.out[0].dtype != graph.I32 || !zero {
		return k.mismatch(k.Op)
	}
	return nil
}

// convInteger is a convolution whose zero points are one for x, and one for all filters or for
// each.
func (k *kernel) convInteger() error {
	c, windows, err := k.convolutionOf()
	if err != nil {
		return err
	}
	p := &integral{convolution: c, xz: k.points(2), wz: k.points(3)}
	fits := true
	if p.xz.present {
		fits = p.xz.View.Elements() == 1
	}
	if p.wz.present && p.wz.View.Elements() != 1 {
		fits = fits && len(p.wz.Shape) == 1 && p.wz.Shape[0] == c.w.Shape[0]
		if fits {
			p.wzs = p.wz.Strides[0]
		}
	}
	if err := k.checkBytes(fits, c.x, c.w, p.xz, p.wz); err != nil {
		return err
	}
	if c.y.View.Elements() == 0 {
		return nil
	}
	c.axes(windows)
	p.prepare()
	p.emit()
	return nil
}

// matMulInteger multiplies the last two axes for each element of the others: the rows of a are
// filters, the columns of b places.
func (k *kernel) matMulInteger() error {
	a, b, y := k.in[0], k.in[1], k.out[0]
	batch := len(y.Shape) - 2
	if len(a.Shape) < 2 || len(b.Shape) < 2 || batch < 0 || len(a.Shape)-2 > batch || len(b.Shape)-2 > batch {
		return k.mismatch(k.Op)
	}
	az, bz := k.points(2), k.points(3)
	views := []view.View{front(y.View), front(a.View), front(b.View)}
	fits := true
	for i, z := range []*operand{&az, &bz} {
		if !z.present {
			views = append(views, view.View{})
			continue
		}
		of := []operand{a, b}[i]
		v, ok := z.View.Expand(of.Shape)
		last := len(of.Shape) - 1 - i // the axis that is summed up
		if fits = fits && ok && (v.Strides[last] == 0 || of.Shape[last] == 1); !fits {
			break
		}
		z.View = v
		views = append(views, front(v))
	}
	if err := k.checkBytes(fits, a, b, az, bz); err != nil {
		return err
	}
	axes, ok := axesOf(y.Shape[:batch], views...)
	m, n, inner := y.Shape[batch], y.Shape[batch+1], a.Shape[len(a.Shape)-1]
	if !ok || !slices.Equal(back(a.View).Shape, []int64{m, inner}) ||
		!slices.Equal(back(b.View).Shape, []int64{inner, n}) {
		return k.mismatch(k.Op)
	}
	if y.View.Elements() == 0 {
		return nil
	}
	c := &convolution{kernel: k, groups: 1, x: b.showing(withAxis(back(b.View), 0)),
		w: a.showing(withAxis(back(a.View), 2)), y: y.showing(withAxis(back(y.View), 0)), channels: inner, rows: m}
	c.axes([]window{plain(n)})
	p := &integral{convolution: c, xz: bz, wz: az}
	if az.present {
		p.wzs = back(az.View).Strides[0]
	}
	if bz.present {
		p.xzs = back(bz.View).Strides[1]
	}
	p.prepare()
	bytes := elems[graph.U8]
	k.walk(joinedAxes(axes), []elem{y.elem, bytes, bytes, bytes, bytes}, []string{y.ptr, a.ptr, b.ptr, az.ptr, bz.ptr},
		func(ptrs []string) {
			of, one := *c, *p
			of.y.ptr, of.w.ptr, of.x.ptr, one.wz.ptr, one.xz.ptr = ptrs[0], ptrs[1], ptrs[2], ptrs[3], ptrs[4]
			one.convolution = &of
			one.emit()
		})
	return nil
}

// prepare chooses how many rows go together, and takes the stack for their weights.
func (p *integral) prepare() {
	p.taps = p.inner.taps
	for _, w := range p.outer {
		p.taps *= w.taps
	}
	p.block = int(min(p.rows, maxRows))
	perRow := (p.channels + 1) / 2 * p.taps * pairBytes
	for p.block > 1 && int64(p.block)*perRow > maxPackedAll {
		p.block = (p.block + 1) / 2
	}
	typ := fmt.Sprintf("[%d x i8]", int64(p.block)*perRow)
	p.packed = p.let("alloca %s, align 64", typ)
	if p.code.module.typed() {
		p.packed = p.let("bitcast %s* %s to i8*", typ, p.packed)
	}
}

// emit loops over blocks of rows, and inside over places: each block's weights are packed once.
func (p *integral) emit() {
	perTile := 2
	switch {
	case p.inner.stride > 1:
		perTile = 1
	case p.block == 1:
		perTile = 4
	}
	tiles := tilesOf(p.inner, p.width(p.y.elem), perTile)
	p.loop(p.groups, func(g string) {
		p.blocks(p.rows, p.block, func(m string, rows int) {
			channel := p.plus(p.scaled(g, p.rows), m)
			strides := p.pack(channel, rows)
			p.loop(p.x.Shape[0], func(n string) {
				p.places(tiles, func(at []string, t placedTile) {
					p.tile(p.seen(n, g, at, t), strides, n, channel, rows, at, t)
				})
			})
		})
	})
}

// strides returns the distances, in bytes, of packed weights: of the taps of each axis, and of
// pairs of channels.
func (p *integral) strides() (taps []int64, pair int64) {
	axes := append(slices.Clone(p.outer), p.inner)
	taps = make([]int64, len(axes))
	pair = int64(p.block) * pairBytes
	for i := len(axes) - 1; i >= 0; i-- {
		taps[i] = pair
		pair *= axes[i].taps
	}
	return taps, pair
}

// pack brings rows rows from channel on into pairs. It returns the strides of their taps.
func (p *integral) pack(channel string, rows int) []int64 {
	taps, pair := p.strides()
	l := p.scalar(p.w.elem)
	for r := range rows {
		row := p.shifted(channel, int64(r))
		zero := ""
		if p.wz.present {
			z := p.scalar(p.wz.elem)
			zero = p.wide16(z, z.load(p.at(p.wz.ptr, "i8", p.scaled(row, p.wzs))))
		}
		from := p.at(p.w.ptr, "i8", p.scaled(row, p.w.Strides[0]))
		to := p.at(p.packed, "i8", strconv.Itoa(r*pairBytes))
		put := func(from, to string, second bool) {
			half := p.scalar(elems[graph.I16])
			for i := range 2 {
				v := "0"
				if i == 0 || second {
					v = p.wide16(l, l.load(p.at(from, "i8", strconv.FormatInt(int64(i)*p.w.Strides[1], 10))))
					if zero != "" {
						v = half.sub(v, zero)
					}
				}
				half.store(v, p.at(to, "i8", strconv.Itoa(2*i)))
			}
		}
		var axes []axis
		for i, w := range append(slices.Clone(p.outer), p.inner) {
			axes = append(axes, axis{w.taps, []int64{p.ws[i], taps[i]}})
		}
		types := []elem{elems[graph.U8], elems[graph.U8]}
		pairs := append([]axis{{p.channels / 2, []int64{2 * p.w.Strides[1], pair}}}, axes...)
		p.walk(pairs, types, []string{from, to}, func(ptrs []string) { put(ptrs[0], ptrs[1], true) })
		if p.channels%2 == 1 {
			last := []string{p.at(from, "i8", strconv.FormatInt((p.channels-1)*p.w.Strides[1], 10)),
				p.at(to, "i8", strconv.FormatInt(p.channels/2*pair, 10))}
			p.walk(axes, types, last, func(ptrs []string) { put(ptrs[0], ptrs[1], false) })
		}
	}
	return taps
}

// wide16 makes i16 of bytes.
func (p *integral) wide16(l lanes, v string) string {
	how := "sext"
	if l.class == unsigned {
		how = "zext"
	}
	return p.let("%s %s %s to %s", how, l.typ(), v, vector(l.n, "i16"))
}

// tile computes rows output channels from channel on at one place.
func (p *integral) tile(from source, taps []int64, n, channel string, rows int, at []string, t placedTile) {
	sum := p.scalar(p.y.elem)
	_, pair := p.strides()
	one := *p
	of := *p.convolution
	one.convolution, of.ws = &of, taps
	one.shift = one.shifts(t)
	sums := one.start(sum, channel, rows, t)
	turn := func(x, w string, second bool, carried []string) []string {
		return one.overOuter(0, from, x, w, retyped(sums, carried), func(x, w string, sums []value) []string {
			return one.pairs(from, x, w, rows, second, sums)
		})
	}
	done := p.fold(p.channels/2, sums, func(i string, carried []string) []string {
		return turn(p.at(from.x, "i8", p.scaled(i, 2*from.channel)), p.at(p.packed, "i8", p.scaled(i, pair)), true, carried)
	})
	if p.channels%2 == 1 {
		i := p.channels / 2
		done = turn(p.at(from.x, "i8", strconv.FormatInt(2*i*from.channel, 10)),
			p.at(p.packed, "i8", strconv.FormatInt(i*pair, 10)), false, done)
	}
	p.finish(sum, n, channel, rows, at, t, done)
}

// shifts loads the zero points of the inputs: for each column of the tile as many pairs of i16
// as it has lanes.
func (p *integral) shifts(t placedTile) []string {
	list := make([]string, len(t.columns))
	for i, column := range t.columns {
		if !p.xz.present {
			continue
		}
		l := p.scalar(p.xz.elem).wide(column.lanes)
		v := l.loadPart(p.at(p.xz.ptr, "i8", p.scaled(p.shifted(t.base, column.at), p.xzs)), p.xzs, column.used)
		list[i] = p.wide16(l.wide(2*l.n), p.paired(l, v, v))
	}
	return list
}

// paired puts the lanes of two registers in turns.
func (p *integral) paired(l lanes, a, b string) string {
	if l.n == 1 {
		return l.wide(2).gathered(func(i int) string { return []string{a, b}[i] })
	}
	mask := make([]int, 2*l.n)
	for i := range mask {
		mask[i] = i/2 + i%2*l.n
	}
	return l.shuffle(a, b, mask)
}

// pairs adds the products under all taps of the inner axis, of two channels or of one.
func (p *integral) pairs(from source, x, w string, rows int, second bool, sums []value) []string {
	t, l := from.tile, p.scalar(p.x.elem)
	return p.overTaps(t, "0", sums, func(tap string, load loader, carried []string) []string {
		inputs := make([]string, len(t.columns))
		for i, column := range t.columns {
			a := load(l, i, x, from.strides[len(p.outer)])
			b := a // its weights are 0
			if second {
				b = load(l, i, p.at(x, "i8", strconv.FormatInt(from.channel, 10)), from.strides[len(p.outer)])
			}
			both := l.wide(2 * column.lanes)
			inputs[i] = p.unpadded(t, i, tap, both.n, p.wide16(both, p.paired(l.wide(column.lanes), a, b)))
		}
		next := make([]string, 0, len(carried))
		for r := range rows {
			at := p.at(w, "i8", p.plus(p.scaled(tap, p.ws[len(p.outer)]), strconv.Itoa(r*pairBytes)))
			weights := p.let("load i32, %s, align 4", p.as(at, "i32"))
			for i, column := range t.columns {
				next = append(next, p.multiplyAdd(column.lanes, weights, inputs[i], carried[len(next)]))
			}
		}
		return next
	})
}

// unpadded subtracts the zero points, and leaves 0 where a pad is.
func (p *integral) unpadded(t placedTile, i int, tap string, n int, v string) string {
	if p.shift[i] == "" {
		return v
	}
	typ := vector(n, "i16")
	v = p.let("sub %s %s, %s", typ, v, p.shift[i])
	number, known := literal(tap)
	if !known || t.inside || t.w.taps > maxStaticTaps {
		return v
	}
	mask, any := make([]string, n), false
	for j, position := range t.positions(i, number) {
		one := "i16 -1"
		if position < 0 || position >= t.w.in {
			one, any = "i16 0", true
		}
		mask[2*j], mask[2*j+1] = one, one
	}
	if !any {
		return v
	}
	return p.let("and %s %s, <%s>", typ, v, strings.Join(mask, ", "))
}

// multiplyAdd multiplies n pairs of inputs by one pair of weights and adds what each gives to
// its sum.
func (p *integral) multiplyAdd(n int, weights, inputs, sum string) string {
	l := p.scalar(p.y.elem)
	spread := p.let("bitcast %s %s to <%d x i16>", vector(n, "i32"), l.wide(n).splat(weights), 2*n)
	wide := l.wide(2 * n)
	extend := func(v string) string { return p.let("sext <%d x i16> %s to %s", 2*n, v, wide.typ()) }
	products := wide.mul(extend(inputs), extend(spread))
	var halves [2]string
	for i := range halves {
		mask := make([]int, n)
		for j := range mask {
			mask[j] = 2*j + i
		}
		if n == 1 {
			halves[i] = wide.lane(products, i)
		} else {
			halves[i] = wide.shuffle(products, "poison", mask)
		}
	}
	both := l.wide(n).add(halves[0], halves[1])
	// What is frozen is not taken apart, so that LLVM finds the two products.
	return l.wide(n).add(p.let("freeze %s %s", l.wide(n).typ(), both), sum)
}
