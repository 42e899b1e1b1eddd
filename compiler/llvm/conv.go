package llvm

import (
	"slices"
	"strconv"

	"tlruntime/compiler/graph"
)

var convKernels = map[string]writer{
	"Conv": {emit: (*kernel).conv, types: append(slices.Clone(floats), graph.I32)},
}

// convolution is a direct convolution: for a block of output channels and a tile of
// output columns, sums stay in registers while all input channels and taps go by.
// It needs no memory of its own.
type convolution struct {
	*kernel
	x, w, bias, y operand
	groups        int64
	channels      int64 // of the input, in a group
	rows          int64 // output channels in a group
	outer         []window
	inner         window
	xs, ys, ws    []int64 // strides of the outer axes and the inner one
	block         int     // output channels at a time
}

func (k *kernel) conv() error {
	c, windows, err := k.convolutionOf()
	if err != nil {
		return err
	}
	if len(k.in) > 2 {
		c.bias = k.in[2]
	}
	if c.w.elem != c.x.elem || c.y.elem != c.x.elem || c.bias.present && c.bias.elem != c.x.elem {
		return k.unsupported(c.w.dtype, "its arguments are of different types")
	}
	if c.y.View.Elements() == 0 {
		return nil
	}
	c.axes(windows)
	c.emit()
	return nil
}

// convolutionOf reads an instruction and holds its operands to each other.
func (k *kernel) convolutionOf() (*convolution, []window, error) {
	c := &convolution{kernel: k, x: k.in[0], w: k.in[1], y: k.out[0], groups: k.Attrs.Int("group")}
	axes := len(c.x.Shape) - 2
	windows, ok := k.windows(c.x.Shape, c.y.Shape)
	if !ok || len(c.w.Shape) != axes+2 || c.groups < 1 || c.w.Shape[0]%c.groups != 0 ||
		c.w.Shape[1]*c.groups != c.x.Shape[1] ||
		c.y.Shape[0] != c.x.Shape[0] || c.y.Shape[1] != c.w.Shape[0] {
		return nil, nil, k.unsupported(c.x.dtype, "a convolution of %v with %v in %d groups does not give %v", c.x.Shape,
			c.w.Shape, c.groups, c.y.Shape)
	}
	for i, w := range windows {
		if w.taps != c.w.Shape[2+i] {
			return nil, nil, k.unsupported(c.x.dtype, "kernel_shape %v is not that of the weights %v",
				k.Attrs.Ints("kernel_shape"), c.w.Shape)
		}
	}
	c.channels, c.rows = c.w.Shape[1], c.w.Shape[0]/c.groups
	return c, windows, nil
}

// windows reads the spatial axes of a convolution or a pool.
func (k *kernel) windows(in, out []int64) ([]window, bool) {
	n := len(in) - 2
	taps, strides, pads, dilations := k.Attrs.Ints("kernel_shape"), k.Attrs.Ints("strides"), k.Attrs.Ints("pads"),
		k.Attrs.Ints("dilations")
	if n < 1 || len(out) != len(in) || len(taps) != n || len(strides) != n || len(pads) != 2*n || len(dilations) != n {
		return nil, false
	}
	list := make([]window, n)
	for i := range list {
		list[i] = window{in[2+i], out[2+i], taps[i], strides[i], dilations[i], pads[i], pads[n+i]}
		if min(taps[i], strides[i], dilations[i]) < 1 || min(pads[i], pads[n+i]) < 0 {
			return nil, false
		}
	}
	return list, true
}

// axes splits the spatial axes into outer ones and the innermost, after leaving out
// those that are of one element and joining those that a window of one tap goes
// over as one.
func (c *convolution) axes(windows []window) {
	c.xs, c.ys = slices.Clone(c.x.Strides[2:]), slices.Clone(c.y.Strides[2:])
	c.ws = slices.Clone(c.w.Strides[2:])
	for i := len(windows) - 1; i >= 0 && len(windows) > 1; i-- {
		if windows[i] == plain(1) {
			windows = c.without(windows, i)
		}
	}
	for i := len(windows) - 2; i >= 0; i-- {
		a, b := windows[i], windows[i+1]
		if a != plain(a.in) || b != plain(b.in) || c.xs[i] != b.in*c.xs[i+1] || c.ys[i] != b.in*c.ys[i+1] {
			continue
		}
		windows[i+1] = plain(a.in * b.in)
		windows = c.without(windows, i)
	}
	last := len(windows) - 1
	c.outer, c.inner = windows[:last], windows[last]
}

func (c *convolution) without(windows []window, i int) []window {
	c.xs, c.ys, c.ws = slices.Delete(c.xs, i, i+1), slices.Delete(c.ys, i, i+1), slices.Delete(c.ws, i, i+1)
	return slices.Delete(windows, i, i+1)
}

// blockOf chooses how many channels and columns a block has: about as many sums as
// registers hold while a weight and the inputs are there too.
func blockOf(rows int64, w window, width int) (block, perTile int) {
	columns := len(cover(0, w.out, width))
	switch {
	case rows == 1:
		return 1, 4
	case columns == 1 || w.stride > 1:
		return int(min(rows, 8)), 1
	case columns == 3:
		return int(min(rows, 4)), 3
	}
	return int(min(rows, 4)), 2
}

// emit loops over samples and groups, and inside over channels and places: the
// larger of weights and inputs in the outer loop, so that it is read once.
func (c *convolution) emit() {
	width := c.width(c.x.elem)
	block, perTile := blockOf(c.rows, c.inner, width)
	c.block = block
	tiles := tilesOf(c.inner, width, perTile)
	weights, inputs := c.rows*c.w.View.Elements()/c.w.Shape[0],
		c.channels*c.x.View.Elements()/max(c.x.Shape[0]*c.x.Shape[1], 1)
	pack := c.packing(tiles)
	c.loop(c.x.Shape[0], func(n string) {
		c.loop(c.groups, func(g string) {
			if weights > inputs && pack == nil {
				c.blocks(c.rows, c.block, func(m string, rows int) {
					c.places(tiles, func(at []string, t placedTile) {
						c.tile(c.seen(n, g, at, t), n, g, m, rows, at, t)
					})
				})
				return
			}
			c.places(tiles, func(at []string, t placedTile) {
				from := c.seen(n, g, at, t)
				if pack != nil {
					from = pack.fill(from)
				}
				c.blocks(c.rows, c.block, func(m string, rows int) { c.tile(from, n, g, m, rows, at, t) })
			})
		})
	})
}

// blocks loops over n rows, block at a time, and over those that are left.
func (c *code) blocks(n int64, block int, body func(first string, rows int)) {
	whole := n / int64(block)
	c.loop(whole, func(i string) { body(c.scaled(i, int64(block)), block) })
	if rest := int(n % int64(block)); rest > 0 {
		body(strconv.FormatInt(whole*int64(block), 10), rest)
	}
}

// places loops over the outputs of the outer axes and the tiles of the inner one.
func (c *convolution) places(tiles []tile, body func(at []string, t placedTile)) {
	c.outputs(c.outer, nil, func(at []string) {
		c.tiles(c.inner, tiles, func(t placedTile) { body(at, t) })
	})
}

// outputs loops over the outputs of some axes.
func (c *code) outputs(axes []window, at []string, body func(at []string)) {
	if len(axes) == len(at) {
		body(at)
		return
	}
	c.loop(axes[len(at)].out, func(i string) { c.outputs(axes, append(slices.Clone(at), i), body) })
}

// source is where a tile finds its inputs.
type source struct {
	x       string // address of the first channel of the group
	channel int64  // stride of channels
	strides []int64
	outer   []window
	at      []string // place on the outer axes
	tile    placedTile
}

// seen is the argument itself as a source.
func (c *convolution) seen(n, g string, at []string, t placedTile) source {
	first := c.plus(c.scaled(n, c.x.Strides[0]), c.scaled(c.scaled(g, c.channels), c.x.Strides[1]))
	return source{c.code.at(c.x.ptr, c.x.memory, first), c.x.Strides[1], c.xs, c.outer, at, t}
}

// tile computes rows output channels from m on of group g at one place.
func (c *convolution) tile(from source, n, g, m string, rows int, at []string, t placedTile) {
	l := c.scalar(c.x.elem)
	channel := c.plus(c.scaled(g, c.rows), m)
	sums := c.start(l, channel, rows, t)
	w := c.at(c.w.ptr, l.memory, c.scaled(channel, c.w.Strides[0]))
	done := c.fold(c.channels, sums, func(i string, carried []string) []string {
		xi := c.at(from.x, l.memory, c.scaled(i, from.channel))
		wi := c.at(w, l.memory, c.scaled(i, c.w.Strides[1]))
		return c.overOuter(0, from, xi, wi, retyped(sums, carried), func(x, w string, sums []value) []string {
			return c.taps(l, from, x, w, rows, sums)
		})
	})
	c.finish(l, n, channel, rows, at, t, done)
}

func retyped(types []value, refs []string) []value {
	list := make([]value, len(refs))
	for i, r := range refs {
		list[i] = value{types[i].typ, r}
	}
	return list
}

// start returns the sums before anything is added: the bias.
func (c *convolution) start(l lanes, channel string, rows int, t placedTile) []value {
	var sums []value
	for r := range rows {
		first := l.number(0)
		if c.bias.present {
			first = l.load(c.at(c.bias.ptr, l.memory, c.scaled(c.shifted(channel, int64(r)), c.bias.Strides[0])))
		}
		for _, column := range t.columns {
			v := l.wide(column.lanes)
			sums = append(sums, value{v.typ(), v.splat(first)})
		}
	}
	return sums
}

// overOuter folds over the taps of the outer axes.
func (c *convolution) overOuter(axis int, from source, x, w string, sums []value,
	body func(x, w string, sums []value) []string) []string {
	if axis == len(c.outer) {
		return body(x, w, sums)
	}
	return c.overAxis(from.outer[axis], from.at[axis], sums, func(tap, position string, carried []string) []string {
		xt := c.code.at(x, c.x.memory, c.scaled(position, from.strides[axis]))
		wt := c.code.at(w, c.x.memory, c.scaled(tap, c.ws[axis]))
		return c.overOuter(axis+1, from, xt, wt, retyped(sums, carried), body)
	})
}

// taps adds the products under all taps of the inner axis.
func (c *convolution) taps(l lanes, from source, x, w string, rows int, sums []value) []string {
	t := from.tile
	return c.overTaps(t, l.number(0), sums, func(tap string, load loader, carried []string) []string {
		inputs := make([]string, len(t.columns))
		for i := range inputs {
			inputs[i] = load(l, i, x, from.strides[len(c.outer)])
		}
		return c.multiplied(l, t, inputs, carried, rows, func(r int) string {
			return c.at(w, l.memory, c.plus(c.scaled(strconv.Itoa(r), c.w.Strides[0]),
				c.scaled(tap, c.ws[len(c.outer)])))
		})
	})
}

// multiplied adds to each sum the factor of its row times the input of its column.
func (k *kernel) multiplied(l lanes, t placedTile, inputs, sums []string, rows int,
	factor func(r int) string) []string {
	next := make([]string, 0, len(sums))
	for r := range rows {
		f := l.load(factor(r))
		for i, column := range t.columns {
			v := l.wide(column.lanes)
			next = append(next, v.add(v.mul(v.splat(f), inputs[i]), sums[len(next)]))
		}
	}
	return next
}

// finish stores the sums.
func (c *convolution) finish(l lanes, n, channel string, rows int, at []string, t placedTile, sums []string) {
	row := c.scaled(n, c.y.Strides[0])
	for i, a := range at {
		row = c.plus(row, c.scaled(a, c.ys[i]))
	}
	stride := c.ys[len(c.outer)]
	for r := range rows {
		y := c.at(c.y.ptr, l.memory, c.plus(row, c.scaled(c.shifted(channel, int64(r)), c.y.Strides[1])))
		for i, column := range t.columns {
			at := c.at(y, l.memory, c.scaled(c.shifted(t.base, column.at), stride))
			l.wide(column.lanes).storePart(sums[r*len(t.columns)+i], at, stride, column.used)
		}
	}
}
