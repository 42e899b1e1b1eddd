package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

var convTranspose = entry{
	name: "ConvTranspose", in: "X T, W T, B T?", out: "Y T", t: floatTypes,
	accepts: windowAttrs + ", group int, output_padding ints, output_shape ints",
	becomes: "Conv, of which each result is a block of those of Y: an element for each place that the strides leave " +
		"out. Transpose brings them together, Slice and Pad to their extents. With dilations, zeros go between the " +
		"elements of X and the Conv has its strides 1.",
	infer: inferConvTranspose,
}

// scattering is a ConvTranspose on its way. Element i of X adds W's tap t to element
// i*stride + t*dilation - pad of Y.
type scattering struct {
	*rewrite
	n                          int // spatial axes
	kernel, strides, dilations []int64
	pads, beyond               []int64 // beyond: output_padding
	group, rows, channels      int64   // rows: channels of Y in a group; channels: of X in a group
}

func inferConvTranspose(k *call) error {
	x, w := k.shape(0), k.shape(1)
	group := k.intOr("group", 1)
	if len(w) != len(x) || len(x) < 3 || group < 1 || w[0] != x[1] || w[0]%group != 0 {
		return k.fault("X needs (n, c, spatial...), W (c, m / group, kernel...), and group has to divide c",
			"X has the shape %s, W %s, group is %d", graph.ShapeText(x), graph.ShapeText(w), group)
	}
	if group > maxWindow || k.has(2) && !slices.Equal(k.shape(2), []int64{w[1] * group}) {
		return k.fault("B needs one element for each channel of the result", "B has the shape %s, W %s, group is %d",
			graph.ShapeText(k.shape(2)), graph.ShapeText(w), group)
	}
	if slices.Contains(x, 0) || slices.Contains(w, 0) {
		return k.fault("give it elements", "X has the shape %s, W %s", graph.ShapeText(x), graph.ShapeText(w))
	}
	if err := k.windowAttrs(len(x)-2, w[2:]); err != nil {
		return err
	}
	s := &scattering{rewrite: k.rewrite(), n: len(x) - 2, kernel: w[2:], strides: k.attrs.Ints("strides"),
		dilations: k.attrs.Ints("dilations"), pads: k.attrs.Ints("pads"), group: group, rows: w[1],
		channels: x[1] / group}
	if err := s.borders(); err != nil {
		return err
	}
	return s.is(s.convolved())
}

// borders reads output_padding and output_shape, and resolves the pads.
func (s *scattering) borders() error {
	x := s.shape(0)
	s.beyond = make([]int64, s.n)
	given, wanted := s.given.Ints("output_padding"), s.given.Ints("output_shape")
	if len(given) > 0 {
		s.beyond = given[:min(len(given), s.n)]
	}
	if len(wanted) == s.n+2 { // in early operator sets with n and c
		wanted = wanted[2:]
	}
	if len(s.beyond) != s.n || len(wanted) != 0 && len(wanted) != s.n {
		return s.fault("give a number for each spatial axis", "it has %d output_padding and %d output_shape",
			len(given),
			len(wanted))
	}
	mode := s.stringOr("auto_pad", "NOTSET")
	if !slices.Contains([]string{"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, mode) {
		return s.fault("use NOTSET, VALID, SAME_UPPER or SAME_LOWER", "its attribute \"auto_pad\" is %q", mode)
	}
	for i := range s.n {
		reach := (s.kernel[i]-1)*s.dilations[i] + 1
		if s.beyond[i] < 0 || s.beyond[i] > maxWindow || x[2+i] > maxWindow {
			return s.fault("use 0 to 2^31", "its attribute \"output_padding\" is %v", s.beyond)
		}
		whole := (x[2+i]-1)*s.strides[i] + reach + s.beyond[i]
		begin, end := &s.pads[i], &s.pads[s.n+i]
		switch {
		case mode == "VALID":
			*begin, *end = 0, 0
		case len(wanted) > 0:
			s.split(whole-wanted[i], mode, begin, end)
		case mode == "SAME_UPPER" || mode == "SAME_LOWER":
			s.split(whole-x[2+i]*s.strides[i], mode, begin, end)
		}
		if out := whole - *begin - *end; out < 1 || out > graph.MaxBytes {
			return s.fault("use smaller pads", "spatial axis %d of the result has the extent %d", i, out)
		}
	}
	return nil
}

// split shares what is cut off between both ends. Less than nothing is added at the end.
func (s *scattering) split(total int64, mode string, begin, end *int64) {
	*begin = max(total, 0) / 2
	if mode != "SAME_UPPER" {
		*begin = max(total, 0) - *begin
	}
	*end = total - *begin
}

// convolved chooses between blocks and zeros between elements.
func (s *scattering) convolved() int {
	block := slices.Clone(s.strides)
	x, zeros := s.value(0), false
	for i := range s.n {
		if s.dilations[i] > 1 && s.strides[i] > 1 {
			zeros = true
		}
	}
	if zeros {
		x = s.apart(x)
		for i := range block {
			block[i] = 1
		}
	}
	return s.cropped(s.blocks(x, block), block)
}

// apart puts zeros between the elements of x: strides - 1 behind each.
func (s *scattering) apart(x int) int {
	shape := slices.Clone(s.of(x).Shape)
	lined, pads := slices.Clone(shape[:2]), make([]int64, 2*(2+2*s.n))
	for i := range s.n {
		lined = append(lined, shape[2+i], 1)
		pads[len(pads)/2+3+2*i] = s.strides[i] - 1
		shape[2+i] *= s.strides[i]
	}
	return s.shaped(s.node("Pad", graph.Attrs{"pads": pads}, s.shaped(x, lined...)), shape...)
}

// blocks convolves x, so that each element of the result has its block of Y in channels of
// its own. Taps in one place of a block are a filter, turned round. Y begins with what
// pads will cut off.
func (s *scattering) blocks(x int, block []int64) int {
	w := s.value(1)
	shape, wide := slices.Clone(s.of(w).Shape), make([]int64, 2*(s.n+2))
	for i, b := range block {
		wide[s.n+4+i] = (b - shape[2+i]%b) % b
		shape[2+i] += wide[s.n+4+i]
	}
	if slices.Max(wide) > 0 {
		w = s.node("Pad", graph.Attrs{"pads": wide}, w)
	}
	apart := []int64{s.group, s.channels, s.rows}
	perm, filters := []int64{0, 2}, s.group*s.rows
	pads, kernel := make([]int64, 2*s.n), make([]int64, s.n)
	var axes, starts, ends, steps []int64
	for i, b := range block {
		kernel[i] = shape[2+i] / b
		apart = append(apart, kernel[i], b)
		perm = append(perm, int64(4+2*i))
		filters *= b
		pads[i] = (kernel[i] - 1) * s.dilations[i]
		pads[s.n+i] = pads[i]
		if kernel[i] > 1 {
			axes, starts, ends, steps = append(axes, int64(3+2*i)), append(starts, -1), append(ends, -1<<62),
				append(steps, -1)
		}
	}
	perm = append(perm, 1)
	for i := range block {
		perm = append(perm, int64(3+2*i))
	}
	if w = s.shaped(w, apart...); len(axes) > 0 {
		w = s.node("Slice", nil, w, s.integers(starts...), s.integers(ends...), s.integers(axes...),
			s.integers(steps...))
	}
	w = s.shaped(s.turned(w, perm...), slices.Concat([]int64{filters, s.channels}, kernel)...)
	return s.node("Conv", graph.Attrs{"group": s.group, "pads": pads, "dilations": s.dilations}, x, w)
}

// cropped lays the blocks out, brings the result to its extents and adds the bias.
func (s *scattering) cropped(y int, block []int64) int {
	if s.err != nil {
		return -1
	}
	out := slices.Clone(s.of(y).Shape)
	out[1] = s.group * s.rows
	if slices.Max(block) > 1 {
		apart := slices.Concat(out[:2], block, out[2:])
		perm := []int64{0, 1}
		for i, b := range block {
			perm = append(perm, int64(2+s.n+i), int64(2+i))
			out[2+i] *= b
		}
		y = s.shaped(s.turned(s.shaped(y, apart...), perm...), out...)
	}
	pads := make([]int64, 2*len(out))
	for i := range s.n {
		whole := (s.shape(0)[2+i]-1)*s.strides[i] + (s.kernel[i]-1)*s.dilations[i] + 1 + s.beyond[i]
		pads[2+i] = -s.pads[i]
		pads[len(out)+2+i] = whole - s.pads[s.n+i] - out[2+i]
	}
	if slices.Max(pads) > 0 || slices.Min(pads) < 0 {
		y = s.node("Pad", graph.Attrs{"pads": pads}, y)
	}
	if !s.has(2) {
		return y
	}
	return s.node("Add", nil, y, s.shaped(s.value(2), ones(s.n, out[1])...))
}
