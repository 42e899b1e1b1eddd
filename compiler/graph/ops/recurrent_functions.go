package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

// recurrentFunctions are the activations that there are, and the defaults of their alpha
// and beta.
var recurrentFunctions = map[string]struct {
	attrs       []string
	alpha, beta float64
}{
	"Sigmoid": {}, "Tanh": {}, "Relu": {}, "Softplus": {}, "Softsign": {},
	"LeakyRelu": {[]string{"alpha"}, 0.01, 0}, "Elu": {[]string{"alpha"}, 1, 0},
	"ThresholdedRelu": {[]string{"alpha"}, 1, 0}, "HardSigmoid": {[]string{"alpha", "beta"}, 0.2, 0.5},
	"Affine": {[]string{"alpha", "beta"}, 1, 0}, "ScaledTanh": {[]string{"alpha", "beta"}, 1, 1},
}

// settingsOf takes what an activation needs from the front of the lists of all of them.
func settingsOf(name string, alpha, beta *[]float64) graph.Attrs {
	known := recurrentFunctions[name]
	attrs := graph.Attrs{}
	for i, attr := range known.attrs {
		list := []*[]float64{alpha, beta}[i]
		attrs[attr] = []float64{known.alpha, known.beta}[i]
		if len(*list) > 0 {
			attrs[attr], *list = (*list)[0], (*list)[1:]
		}
	}
	return attrs
}

func (q *recurrence) functionsOf() error {
	own := q.activations
	q.activations = slices.Repeat(own, int(q.directions))
	if names, ok := q.given["activations"].([]string); ok && len(names) > 0 {
		q.activations = names
	}
	if int64(len(q.activations)) != q.functions*q.directions {
		return q.fault("give one for each function of each direction", "it has %d activations, and %d directions",
			len(q.activations), q.directions)
	}
	for _, name := range q.activations {
		if _, ok := recurrentFunctions[name]; !ok {
			return q.fault("use Sigmoid, Tanh, Relu, Softplus, Softsign, LeakyRelu, Elu, ThresholdedRelu, "+
				"HardSigmoid, Affine or ScaledTanh", "its activation %q is unknown", name)
		}
	}
	alpha, beta := q.given.Floats("activation_alpha"), q.given.Floats("activation_beta")
	for _, name := range q.activations {
		q.settings = append(q.settings, settingsOf(name, &alpha, &beta))
	}
	return nil
}

func (c *cell) function(f int64, v int) int {
	at := c.direction*c.functions + f
	name, settings := c.activations[at], c.settings[at]
	switch name {
	case "Affine":
		return c.node("Add", nil, c.scaledBy(v, settings.Float("alpha")), c.number(c.outType(), settings.Float("beta")))
	case "ScaledTanh":
		return c.scaledBy(c.node("Tanh", nil, c.scaledBy(v, settings.Float("beta"))), settings.Float("alpha"))
	}
	return c.node(name, settings, v)
}

func (c *cell) scaledBy(v int, factor float64) int {
	return c.node("Mul", nil, v, c.number(c.outType(), factor))
}
