package check

import (
	"fmt"
	"maps"
	"slices"

	"tlruntime/compiler/graph"
)

// firstScan is the operator set from which on a Scan has axes. Before, it went over axis 1 of
// its arguments for each sample, axis 0, by itself.
const firstScan = 9

// axesAttr marks a Scan with axes.
const axesAttr = "scan_input_axes"

// unbatchScans replaces each Scan of samples by a Scan over the samples, whose body is a Scan of
// one sample.
func (c *checker) unbatchScans() error {
	if c.graph.Opset == 0 || c.graph.Opset >= firstScan {
		return nil
	}
	g := *c.graph
	g.Nodes = slices.Clone(g.Nodes)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if _, has := n.Attrs[axesAttr]; n.Op != "Scan" || has {
			continue
		}
		if len(n.Inputs) < 2 || n.Inputs[0] != "" {
			return c.Fault(i, fmt.Sprintf("the model is of operator set %d, and it has sequence_lens, or no input",
				c.graph.Opset), "leave sequence_lens out, or convert the model (onnx.version_converter)")
		}
		g.Nodes[i] = c.overSamples(i, n)
	}
	c.graph = &g
	return nil
}

func (c *checker) overSamples(i int, n *graph.Node) graph.Node {
	of := c.called(i)
	names := func(what string, count int) []string {
		list := make([]string, count)
		for k := range list {
			list[k] = fmt.Sprintf("%s/%s %d", of, what, k)
		}
		return list
	}
	given := n.Inputs[1:]
	one := graph.Node{Name: of + "/sample", Op: "Scan", Inputs: names("input", len(given)),
		Outputs: names("output", len(n.Outputs)), Attrs: maps.Clone(n.Attrs), Bodies: n.Bodies}
	one.Attrs[axesAttr] = make([]int64, max(n.Attrs.Int("num_scan_inputs"), 0))
	if ways, ok := one.Attrs["directions"]; ok {
		delete(one.Attrs, "directions")
		one.Attrs["scan_input_directions"] = ways
	}
	body := &graph.Graph{Name: of, Outputs: one.Outputs, Nodes: []graph.Node{one}}
	for _, name := range one.Inputs {
		body.Inputs = append(body.Inputs, graph.Value{Name: name, DType: graph.F32})
	}
	return graph.Node{Name: n.Name, Op: "Scan", Inputs: given, Outputs: n.Outputs,
		Attrs:  graph.Attrs{"num_scan_inputs": int64(len(given)), axesAttr: make([]int64, len(given))},
		Bodies: []graph.Body{{Name: "body", Graph: body}}}
}
