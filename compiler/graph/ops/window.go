package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

// window are the attributes of convolutions and pools.
var window = []Attribute{
	ints("kernel_shape", "extent of the window on each spatial axis"),
	ints("strides", "of the window on each spatial axis"),
	ints("pads", "around each spatial axis: all begins, then all ends; auto_pad is resolved; not negative"),
	ints("dilations", "distance between the window's taps on each spatial axis"),
}

var convAttrs = append(slices.Clone(window), anInt("group", "channels c and m are split into so many groups"))

// windows are convolutions and pools.
var windows = []entry{
	{name: "Conv", in: "X T, W T, B T?", out: "Y T", t: floatTypes | graph.SetOf(graph.I32), accepts: windowAttrs + ", group int",
		result: "X (n, c, spatial...), W (m, c / group, kernel...), B (m) give (n, m, spatial...). Any number of " +
			"spatial axes.",
		attrs: convAttrs,
		infer: inferConv},
	{name: "MaxPool", in: "X T", out: "Y T, Indices i64?", t: floatTypes | graph.SetOf(graph.I8, graph.U8),
		accepts: windowAttrs + ", ceil_mode int, storage_order int",
		result: "X (n, c, spatial...) gives (n, c, spatial...). Padding counts as the lowest value; ceil_mode is in " +
			"the shape alone: a window may hang over the end by more than the pads. Indices has, for each element " +
			"of Y, the number of the first element of X in its window that is the highest, NaN being higher than " +
			"all; -1 where the window has none.",
		attrs: append(slices.Clone(window),
			anInt("storage_order",
				"0: elements of X are numbered row by row; 1: of the spatial axes the first one goes fastest")),
		infer: inferMaxPool},
	{name: "AveragePool", in: "X T", out: "Y T", t: floatTypes,
		accepts: windowAttrs + ", ceil_mode int, count_include_pad int",
		result: "As MaxPool. The sum is divided by the taps within X or, with count_include_pad, within X and its " +
			"pads; taps beyond the pads, which ceil_mode makes, never count.",
		attrs: append(slices.Clone(window), anInt("count_include_pad", "1: taps in the pads count")),
		infer: inferAveragePool},
	{name: "GlobalAveragePool", in: "X T", out: "Y T", t: floatTypes, result: "(n, c, spatial...) gives (n, c, 1...).",
		infer: inferGlobalPool},
	{name: "GlobalMaxPool", in: "X T", out: "Y T", t: floatTypes, result: "(n, c, spatial...) gives (n, c, 1...).",
		infer: inferGlobalPool},
	convTranspose,
}

// maxWindow bounds the attributes of windows, so that no product overflows.
const maxWindow = 1 << 31

// windowed reads kernel_shape, strides, pads and dilations of a convolution or a
// pool into the normal form and returns the spatial extents of the result. kernel
// is the window's shape where the arguments tell it, else nil.
func (k *call) windowed(kernel []int64, ceil bool) ([]int64, error) {
	x := k.shape(0)
	if len(x) < 3 {
		return nil, k.fault("give it the shape (n, c, spatial...)", "X has the shape %s", graph.ShapeText(x))
	}
	spatial := x[2:]
	if err := k.windowAttrs(len(spatial), kernel); err != nil {
		return nil, err
	}
	mode := k.stringOr("auto_pad", "NOTSET")
	if !slices.Contains([]string{"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, mode) {
		return nil, k.fault("use NOTSET, VALID, SAME_UPPER or SAME_LOWER", "its attribute \"auto_pad\" is %q", mode)
	}
	shape := make([]int64, len(spatial))
	for i := range spatial {
		d, err := k.slide(i, mode, ceil)
		if err != nil {
			return nil, err
		}
		shape[i] = d
	}
	return shape, nil
}

// windowAttrs sets the four attributes as they are given, or their defaults.
func (k *call) windowAttrs(rank int, kernel []int64) error {
	ones := slices.Repeat([]int64{1}, rank)
	for _, p := range []struct {
		name      string
		otherwise []int64
		low       int64
	}{{"kernel_shape", kernel, 1}, {"strides", ones, 1}, {"dilations", ones, 1}, {"pads", make([]int64, 2*rank), 0}} {
		list := slices.Clone(p.otherwise)
		if _, ok := k.given[p.name]; ok {
			list = k.given.Ints(p.name)
		}
		want := rank
		if p.name == "pads" {
			want = 2 * rank
		}
		if len(list) != want {
			return k.fault("one for each spatial axis, for pads two", "its attribute %q has %d numbers, X %s needs %d",
				p.name, len(list), graph.ShapeText(k.shape(0)), want)
		}
		for _, v := range list {
			if v < p.low || v > maxWindow {
				return k.fault("use numbers from the range",
					"its attribute %q has the number %d, outside of %d to 2^31", p.name, v, p.low)
			}
		}
		k.attrs[p.name] = list
	}
	if kernel != nil && !slices.Equal(kernel, k.attrs.Ints("kernel_shape")) {
		return k.fault("leave out kernel_shape", "its attribute \"kernel_shape\" is %s, W has %s",
			graph.ShapeText(k.attrs.Ints("kernel_shape")), graph.ShapeText(kernel))
	}
	return nil
}

// slide returns how often the window stops on spatial axis i, and resolves the
// axis's pads.
func (k *call) slide(i int, mode string, ceil bool) (int64, error) {
	in := k.shape(0)[2+i]
	stride := k.attrs.Ints("strides")[i]
	reach := k.attrs.Ints("dilations")[i]*(k.attrs.Ints("kernel_shape")[i]-1) + 1
	pads := k.attrs.Ints("pads")
	begin, end := &pads[i], &pads[len(pads)/2+i]
	switch mode {
	case "VALID":
		*begin, *end, ceil = 0, 0, false
	case "SAME_UPPER", "SAME_LOWER":
		out := (in + stride - 1) / stride
		total := max((out-1)*stride+reach-in, 0)
		*begin, *end = total/2, total-total/2
		if mode == "SAME_LOWER" {
			*begin, *end = *end, *begin
		}
	}
	room := in + *begin + *end - reach
	if in == 0 || room < 0 {
		return 0, k.fault("use a smaller window or more pads",
			"a window that reaches over %d does not fit in spatial axis %d, which has %d and pads %d and %d",
			reach, i, in, *begin, *end)
	}
	out := room/stride + 1
	if ceil && room%stride != 0 && out*stride < in+*begin {
		out++
	}
	return out, nil
}

func inferConv(k *call) error {
	if err := k.convolved(); err != nil {
		return err
	}
	if w := k.shape(1); k.has(2) && !slices.Equal(k.shape(2), w[:1]) {
		return k.fault("B needs one element for each channel of the result", "B has the shape %s, W %s",
			graph.ShapeText(k.shape(2)), graph.ShapeText(w))
	}
	return nil
}

// convolved finds the result and the attributes of a convolution of the first two arguments.
func (k *call) convolved() error {
	x, w := k.shape(0), k.shape(1)
	if len(w) != len(x) || len(x) < 3 {
		return k.fault("X needs (n, c, spatial...), W (m, c / group, kernel...)", "X has the shape %s, W %s",
			graph.ShapeText(x), graph.ShapeText(w))
	}
	group := k.intOr("group", 1)
	if group < 1 || x[1]%group != 0 || w[0]%group != 0 {
		return k.fault("group has to divide both", "its attribute \"group\" is %d, X has %d channels and W gives %d",
			group, x[1], w[0])
	}
	if w[1] != x[1]/group {
		return k.fault("W needs the channels of X divided by group", "W has %d channels, X has %d and group is %d",
			w[1], x[1], group)
	}
	spatial, err := k.windowed(w[2:], false)
	if err != nil {
		return err
	}
	k.attrs["group"] = group
	return k.give(append([]int64{x[0], w[0]}, spatial...))
}

// pooled returns the shape of a pool's result.
func (k *call) pooled() ([]int64, error) {
	ceil, err := k.flag("ceil_mode", 0)
	if err != nil {
		return nil, err
	}
	if err := k.require("kernel_shape"); err != nil {
		return nil, err
	}
	spatial, err := k.windowed(nil, ceil == 1)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(k.shape(0)[:2]), spatial...), k.checkPoolPads(len(spatial))
}

func inferAveragePool(k *call) error {
	shape, err := k.pooled()
	if err != nil {
		return err
	}
	count, err := k.flag("count_include_pad", 0)
	if err != nil {
		return err
	}
	k.attrs["count_include_pad"] = count
	return k.give(shape)
}

func inferMaxPool(k *call) error {
	shape, err := k.pooled()
	if err != nil {
		return err
	}
	order, err := k.flag("storage_order", 0)
	if err != nil {
		return err
	}
	k.attrs["storage_order"] = order
	k.results = []result{{k.outType(), shape, nil}, {graph.I64, shape, nil}}
	return nil
}

// checkPoolPads refuses pads that hold a whole window: it would have no element.
func (k *call) checkPoolPads(rank int) error {
	kernel, dilations, pads := k.attrs.Ints("kernel_shape"), k.attrs.Ints("dilations"), k.attrs.Ints("pads")
	for i := range rank {
		reach := dilations[i]*(kernel[i]-1) + 1
		if pads[i] >= reach || pads[rank+i] >= reach {
			return k.fault("use pads smaller than the window",
				"the pads of spatial axis %d are %d and %d, its window reaches over %d",
				i, pads[i], pads[rank+i], reach)
		}
	}
	return nil
}

func inferGlobalPool(k *call) error {
	x := k.shape(0)
	if len(x) < 3 {
		return k.fault("give it the shape (n, c, spatial...)", "X has the shape %s", graph.ShapeText(x))
	}
	if slices.Contains(x[2:], 0) {
		return k.fault("give it elements to pool", "X has the shape %s", graph.ShapeText(x))
	}
	return k.give(append(slices.Clone(x[:2]), slices.Repeat([]int64{1}, len(x)-2)...))
}
