package remat

import "tlruntime/compiler/graph"

// Cost is the time that a node takes. It is not negative, and the same each time it is asked for.
type Cost func(c *graph.Checked, n *graph.TypedNode) float64

// Rates of Estimate, of one core of a server of 2020: what matters is their ratio.
const (
	bytesPerSecond      = 10e9
	operationsPerSecond = 50e9
)

// Estimate is the time of a node by the roofline model (Williams, Waterman and Patterson, 2009): what its operations
// take or what its bytes take, whichever is longer.
func Estimate(c *graph.Checked, n *graph.TypedNode) float64 {
	bytes, operations := int64(0), int64(0)
	for _, list := range [][]int{n.Inputs, n.Outputs} {
		for _, v := range list {
			if v >= 0 {
				bytes += c.Values[v].Bytes()
			}
		}
	}
	if len(n.Outputs) > 0 && n.Outputs[0] >= 0 {
		operations = graph.Elements(c.Values[n.Outputs[0]].Shape) * perElement(c, n)
	}
	return max(float64(bytes)/bytesPerSecond, float64(operations)/operationsPerSecond)
}

// perElement is how many operations an element of the result takes.
func perElement(c *graph.Checked, n *graph.TypedNode) int64 {
	shape := func(i int) []int64 { return c.Values[n.Inputs[i]].Shape }
	switch n.Op {
	case "MatMul":
		a := shape(0)
		return 2 * a[len(a)-1]
	case "Gemm":
		return 2 * shape(0)[1-n.Attrs.Int("transA")]
	case "Conv":
		w := shape(1)
		return 2 * graph.Elements(w[1:])
	}
	return 1
}

func total(c *graph.Checked, cost Cost) float64 {
	sum := 0.0
	for i := range c.Nodes {
		sum += cost(c, &c.Nodes[i])
	}
	return sum
}
