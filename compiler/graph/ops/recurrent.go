package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

const recurrentAttrs = "activation_alpha floats, activation_beta floats, activations strings, clip float, " +
	"direction string, hidden_size int, layout int, output_sequence int"

const unrolled = "for each step Gemm, the activations and what joins the gates; the product of X and W is one for all " +
	"steps, of which there are 4096 at most. Samples that have fewer steps, by sequence_lens, keep their state; what they " +
	"give behind them is 0."

var recurrent = []entry{
	{name: "RNN", in: "X T, W T, R T, B T?, sequence_lens index?, initial_h T?", out: "Y T?, Y_h T?", t: floatTypes,
		accepts: recurrentAttrs, becomes: unrolled, infer: inferRNN},
	{name: "GRU", in: "X T, W T, R T, B T?, sequence_lens index?, initial_h T?", out: "Y T?, Y_h T?", t: floatTypes,
		accepts: recurrentAttrs + ", linear_before_reset int", becomes: unrolled, infer: inferGRU},
	{name: "LSTM", in: "X T, W T, R T, B T?, sequence_lens index?, initial_h T?, initial_c T?, P T?",
		out: "Y T?, Y_h T?, Y_c T?", t: floatTypes,
		accepts: recurrentAttrs + ", input_forget int", becomes: unrolled, infer: inferLSTM},
}

const maxSteps = 4096

// recurrence is an RNN, GRU or LSTM on its way.
type recurrence struct {
	*rewrite
	gates, functions     int64 // of one direction
	steps, batch, hidden int64
	directions           int64
	activations          []string
	settings             []graph.Attrs // of the activations
	separate             bool          // the bias of R is not added to that of W
	coupled              bool          // what is forgotten is what the input does not take
	lengths              []int64       // by sample; nil: steps, or known when it runs
	measured             int           // lengths that are known when it runs: (batch, 1); -1: none
	x                    int           // (steps, batch, input)
	initialAt            []int         // arguments
	step                 func(c *cell, xw int, state []int) []int
}

// cell is one direction of a recurrence.
type cell struct {
	*recurrence
	direction int64
	r, rBias  int // (gates * hidden, hidden), (gates * hidden) or -1
	peepholes int // (3 * hidden) or -1
}

func inferRNN(k *call) error {
	q := &recurrence{rewrite: k.rewrite(), gates: 1, functions: 1, activations: []string{"Tanh"}, initialAt: []int{5}}
	q.step = func(c *cell, xw int, state []int) []int { return []int{c.activated(0, c.recurrent(state[0], c.r, xw))} }
	return q.infer()
}

func inferGRU(k *call) error {
	q := &recurrence{rewrite: k.rewrite(), gates: 3, functions: 2, activations: []string{"Sigmoid", "Tanh"},
		initialAt: []int{5}}
	linear, err := k.flag("linear_before_reset", 0)
	if err != nil {
		return err
	}
	q.separate = linear == 1
	q.step = func(c *cell, xw int, state []int) []int { return []int{c.gatedStep(xw, state[0])} }
	return q.infer()
}

func inferLSTM(k *call) error {
	q := &recurrence{rewrite: k.rewrite(), gates: 4, functions: 3, activations: []string{"Sigmoid", "Tanh", "Tanh"},
		initialAt: []int{5, 6}}
	coupled, err := k.flag("input_forget", 0)
	if err != nil {
		return err
	}
	q.coupled = coupled == 1
	q.step = func(c *cell, xw int, state []int) []int { return c.memoryStep(xw, state[0], state[1]) }
	return q.infer()
}

func (q *recurrence) infer() error {
	q.measured = -1
	if err := q.extents(); err != nil {
		return err
	}
	if err := q.functionsOf(); err != nil {
		return err
	}
	if err := q.lengthsOf(); err != nil {
		return err
	}
	var lines [][]int // by direction: results of each step, then the last states
	for d := range q.directions {
		lines = append(lines, q.run(q.cell(d)))
	}
	return q.results(lines)
}

// extents holds the arguments to each other.
func (q *recurrence) extents() error {
	x, w, rs := slices.Clone(q.shape(0)), q.shape(1), q.shape(2)
	layout, err := q.flag("layout", 0)
	if err != nil {
		return err
	}
	if len(x) == 3 && layout == 1 {
		x[0], x[1] = x[1], x[0]
	}
	direction := q.stringOr("direction", "forward")
	if !slices.Contains([]string{"forward", "reverse", "bidirectional"}, direction) {
		return q.fault("use forward, reverse or bidirectional", "its attribute \"direction\" is %q", direction)
	}
	q.directions = 1
	if direction == "bidirectional" {
		q.directions = 2
	}
	if len(rs) == 3 {
		q.hidden = rs[2]
	}
	if len(x) != 3 || q.hidden < 1 || q.hidden > maxWindow ||
		!slices.Equal(w, []int64{q.directions, q.gates * q.hidden, x[2]}) ||
		!slices.Equal(rs, []int64{q.directions, q.gates * q.hidden, q.hidden}) {
		return q.fault("X needs (steps, batch, input), W (directions, gates * hidden, input), R (directions, gates * "+
			"hidden, hidden)", "X has the shape %s, W %s, R %s, and there are %d directions and %d gates",
			graph.ShapeText(q.shape(0)), graph.ShapeText(w), graph.ShapeText(rs), q.directions, q.gates)
	}
	q.steps, q.batch = x[0], x[1]
	if q.steps < 1 || q.steps > maxSteps {
		return q.fault("use 1 to 4096", "X has %d steps", q.steps)
	}
	wants := map[int][]int64{3: {q.directions, 2 * q.gates * q.hidden}, 7: {q.directions, 3 * q.hidden}}
	for _, at := range q.initialAt {
		wants[at] = []int64{q.directions, q.batch, q.hidden}
		if layout == 1 {
			wants[at] = []int64{q.batch, q.directions, q.hidden}
		}
	}
	for i := range q.spec.Inputs {
		if want, ok := wants[i]; ok && q.has(i) && !slices.Equal(q.shape(i), want) {
			return q.fault("give it the shape "+graph.ShapeText(want), "its input %d (%s) has the shape %s", i,
				q.argument(i).Name, graph.ShapeText(q.shape(i)))
		}
	}
	q.x = q.value(0)
	if layout == 1 {
		q.x = q.turned(q.x, 1, 0, 2)
	}
	return nil
}

// lengthsOf reads how many steps each sample has.
func (q *recurrence) lengthsOf() error {
	if !q.has(4) {
		return nil
	}
	if lens := q.shape(4); len(lens) != 1 || lens[0] != q.batch {
		return q.fault("give one for each sample", "sequence_lens have the shape %s, and there are %d samples",
			graph.ShapeText(lens), q.batch)
	}
	if q.arg(4).Constant == nil {
		q.measured = q.shaped(q.value(4), q.batch, 1)
		return nil
	}
	list, _, err := q.list(4, "sequence_lens")
	if err != nil {
		return err
	}
	for _, n := range list {
		if n < 0 || n > q.steps {
			return q.fault("use 0 up to the number of steps", "sequence_lens has %d, X %d steps", n, q.steps)
		}
		if n < q.steps {
			q.lengths = list
		}
	}
	return nil
}

// half is the part of a list of all directions that one has: axis 0 is taken away.
func (q *recurrence) half(v int, direction int64, shape ...int64) int {
	return q.shaped(q.sliced(v, 0, direction, direction+1), shape...)
}

func (q *recurrence) cell(direction int64) *cell {
	wide := q.gates * q.hidden
	c := &cell{recurrence: q, direction: direction, rBias: -1, peepholes: -1}
	c.r = q.half(q.value(2), direction, wide, q.hidden)
	if q.has(7) {
		c.peepholes = q.half(q.value(7), direction, 3*q.hidden)
	}
	return c
}

// inputs is what X adds to the gates: (steps, batch, gates * hidden).
func (c *cell) inputs() int {
	wide, in := c.gates*c.hidden, c.shape(0)[2]
	bias := -1
	if c.has(3) {
		both := c.half(c.value(3), c.direction, 2*wide)
		bias = c.sliced(both, 0, 0, wide)
		if second := c.sliced(both, 0, wide, 2*wide); c.separate {
			c.rBias = second
		} else {
			bias = c.node("Add", nil, bias, second)
		}
	}
	x := c.shaped(c.x, c.steps*c.batch, in)
	y := c.node("Gemm", graph.Attrs{"transB": int64(1)}, x, c.half(c.value(1), c.direction, wide, in), bias)
	return c.shaped(y, c.steps, c.batch, wide)
}

// run carries one direction out. It returns the state of each step, by its place in X, and
// the last states behind them.
func (q *recurrence) run(c *cell) []int {
	xw := c.inputs()
	states := make([]int, len(q.initialAt))
	for i, at := range q.initialAt {
		states[i] = c.initial(at)
	}
	back := c.direction == 1 || q.stringOr("direction", "forward") == "reverse"
	list := make([]int, q.steps)
	for i := range q.steps {
		t := i
		if back {
			t = q.steps - 1 - i
		}
		gates := q.shaped(q.sliced(xw, 0, t, t+1), q.batch, q.gates*q.hidden)
		next := q.step(c, gates, states)
		list[t] = c.only(next[0], -1, t)
		for s := range states {
			states[s] = c.only(next[s], states[s], t)
		}
	}
	return append(list, states...)
}

// initial is argument at as the state of a direction, or zeros.
func (c *cell) initial(at int) int {
	if !c.has(at) {
		if c.err == nil {
			c.err = c.room(c.batch * c.hidden * c.outType().Bytes())
		}
		if c.err != nil {
			return -1
		}
		return c.constant(graph.NewTensor(c.outType(), []int64{c.batch, c.hidden}))
	}
	v := c.value(at)
	if c.intOr("layout", 0) == 1 {
		v = c.turned(v, 1, 0, 2)
	}
	return c.half(v, c.direction, c.batch, c.hidden)
}

// only takes next for the samples that have step t, and what was before (-1: zero) for the
// others.
func (c *cell) only(next, before int, t int64) int {
	if before < 0 && (c.lengths != nil || c.measured >= 0) {
		before = c.number(c.outType(), 0)
	}
	if c.measured >= 0 {
		step := c.number(c.of(c.measured).DType, float64(t))
		return c.node("Where", nil, c.node("Greater", nil, c.measured, step), next, before)
	}
	if c.lengths == nil {
		return next
	}
	mask, all := graph.NewTensor(graph.Bool, []int64{c.batch, 1}), true
	for i, n := range c.lengths {
		if t < n {
			mask.SetInt(int64(i), 1)
		}
		all = all && t < n
	}
	if all {
		return next
	}
	return c.node("Where", nil, c.constant(mask), next, before)
}

// recurrent is h times the transpose of r, plus what is there already.
func (c *cell) recurrent(h, r, plus int) int {
	return c.node("Gemm", graph.Attrs{"transB": int64(1)}, h, r, plus)
}

// biased adds what the first n gates have of the bias of R, where that is still to be added.
func (c *cell) biased(v int, n int64) int {
	if c.rBias < 0 {
		return v
	}
	return c.node("Add", nil, v, c.sliced(c.rBias, 0, 0, n*c.hidden))
}

// clipped holds a gate to a range before its activation, where that is asked for. States are
// not held to it, as in onnxruntime.
func (c *cell) clipped(v int) int {
	if bound := c.floatOr("clip", 0); bound > 0 {
		return c.node("Clip", graph.Attrs{"min": -bound, "max": bound}, v)
	}
	return v
}

// activated applies function f of the direction to a gate.
func (c *cell) activated(f int64, v int) int { return c.function(f, c.clipped(v)) }

// part is gates first to first+n-1 of v.
func (c *cell) part(v int, first, n int64) int {
	return c.sliced(v, 1, first*c.hidden, (first+n)*c.hidden)
}

// gatedStep is a step of a GRU, whose gates are update, reset and hidden.
func (c *cell) gatedStep(xw, h int) int {
	two := 2 * c.hidden
	sum := c.node("Gemm", graph.Attrs{"transB": int64(1)}, h, c.sliced(c.r, 0, 0, two), c.biased(c.part(xw, 0, 2), 2))
	both := c.activated(0, sum)
	update, reset := c.part(both, 0, 1), c.part(both, 1, 1)
	last := c.sliced(c.r, 0, two, 3*c.hidden)
	var inner int
	if c.separate {
		bias := -1
		if c.rBias >= 0 {
			bias = c.sliced(c.rBias, 0, two, 3*c.hidden)
		}
		product := c.node("Gemm", graph.Attrs{"transB": int64(1)}, h, last, bias)
		inner = c.node("Add", nil, c.part(xw, 2, 1), c.node("Mul", nil, reset, product))
	} else {
		inner = c.node("Gemm", graph.Attrs{"transB": int64(1)}, c.node("Mul", nil, reset, h), last,
			c.part(xw, 2, 1))
	}
	fresh := c.activated(1, inner)
	// (1 - update) * fresh + update * h
	return c.node("Add", nil, fresh, c.node("Mul", nil, update, c.node("Sub", nil, h, fresh)))
}

// memoryStep is a step of an LSTM, whose gates are input, output, forget and cell.
func (c *cell) memoryStep(xw, h, memory int) []int {
	sum := c.recurrent(h, c.r, xw)
	var in, out, forget int
	if c.peepholes < 0 {
		three := c.activated(0, c.part(sum, 0, 3))
		in, out, forget = c.part(three, 0, 1), c.part(three, 1, 1), c.part(three, 2, 1)
	} else {
		in = c.activated(0, c.peeped(c.part(sum, 0, 1), memory, 0))
		forget = c.activated(0, c.peeped(c.part(sum, 2, 1), memory, 2))
	}
	if c.coupled {
		forget = c.node("Sub", nil, c.number(c.outType(), 1), in)
	}
	fresh := c.node("Mul", nil, in, c.activated(1, c.part(sum, 3, 1)))
	next := c.node("Add", nil, c.node("Mul", nil, forget, memory), fresh)
	if c.peepholes >= 0 {
		out = c.activated(0, c.peeped(c.part(sum, 1, 1), next, 1))
	}
	return []int{c.node("Mul", nil, out, c.function(2, next)), next}
}

// peeped adds the memory times peephole number i to a gate.
func (c *cell) peeped(gate, memory int, i int64) int {
	weight := c.sliced(c.peepholes, 0, i*c.hidden, (i+1)*c.hidden)
	return c.node("Add", nil, gate, c.node("Mul", nil, memory, weight))
}

// joined are parts one behind the other on axis 0.
func (q *recurrence) joined(parts []int) int {
	if len(parts) == 1 {
		return parts[0]
	}
	return q.node("Concat", graph.Attrs{"axis": int64(0)}, parts...)
}

// results joins steps and directions.
func (q *recurrence) results(lines [][]int) error {
	layout := q.intOr("layout", 0) == 1
	var values []int
	y := -1
	if q.wanted(0) {
		steps := make([]int, 0, q.steps*q.directions)
		for t := range q.steps {
			for _, line := range lines {
				steps = append(steps, q.shaped(line[t], 1, 1, q.batch, q.hidden))
			}
		}
		y = q.joined(steps)
		y = q.shaped(y, q.steps, q.directions, q.batch, q.hidden)
		if layout {
			y = q.turned(y, 2, 0, 1, 3)
		}
	}
	values = append(values, y)
	for s := range q.initialAt {
		last := -1
		if q.wanted(1 + s) {
			states := make([]int, 0, q.directions)
			for _, line := range lines {
				states = append(states, q.shaped(line[int(q.steps)+s], 1, q.batch, q.hidden))
			}
			last = q.joined(states)
			if layout {
				last = q.turned(last, 1, 0, 2)
			}
		}
		values = append(values, last)
	}
	return q.is(values...)
}
