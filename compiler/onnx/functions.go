package onnx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"tlruntime/compiler/onnx/onnxpb"
)

// maxInlined bounds the nodes of a model whose functions are written out: functions that call functions double them.
const maxInlined = 1 << 20

// inlining writes the nodes of a model's own functions in the place of the nodes that call them.
type inlining struct {
	functions map[string]*onnxpb.FunctionProto // by domain, name and overload
	names     map[string]bool                  // of all values of the model
	sizes     map[*onnxpb.FunctionProto]int    // in nodes, written out; counting while it is being found
}

const counting = -1

// inlineFunctions writes out all calls in a model. A function whose operators are of another version than the model's
// stays as it is: the same words may mean something else in it.
func inlineFunctions(m *onnxpb.ModelProto) error {
	if len(m.Functions) == 0 {
		return nil
	}
	in := inlining{functions: map[string]*onnxpb.FunctionProto{}, names: map[string]bool{},
		sizes: map[*onnxpb.FunctionProto]int{}}
	versions := map[string]int64{}
	for _, o := range m.OpsetImport {
		versions[canonical(o.Domain)] = o.Version
	}
	for _, f := range m.Functions {
		same := true
		for _, o := range f.OpsetImport {
			if before, there := versions[canonical(o.Domain)]; !there {
				versions[canonical(o.Domain)] = o.Version
				m.OpsetImport = append(m.OpsetImport, o)
			} else if standard(o.Domain) && before != o.Version {
				same = false
			}
		}
		if same {
			in.functions[keyOf(f.Domain, f.Name, f.Overload)] = f
		}
	}
	in.collect(m.Graph)
	if _, err := in.size(m.Graph.Node); err != nil {
		return err
	}
	in.graph(m.Graph)
	return nil
}

// size counts nodes as they are when all calls are written out.
func (in *inlining) size(nodes []*onnxpb.NodeProto) (sum int, err error) {
	for _, n := range nodes {
		size := 1
		if f := in.function(n); f != nil {
			size, err = in.sizeOf(f)
		}
		for _, a := range n.Attribute {
			if a.G != nil && err == nil {
				var body int
				body, err = in.size(a.G.Node)
				size += body
			}
		}
		if err != nil {
			return 0, err
		}
		if sum += size; sum > maxInlined {
			return 0, fmt.Errorf("its functions come to more than %d nodes when they are written out; call them less often",
				maxInlined)
		}
	}
	return sum, nil
}

func (in *inlining) sizeOf(f *onnxpb.FunctionProto) (int, error) {
	switch size, known := in.sizes[f]; {
	case size == counting:
		return 0, fmt.Errorf("the function %s of the model calls itself; none may", f.Name)
	case known:
		return size, nil
	}
	in.sizes[f] = counting
	size, err := in.size(f.Node)
	in.sizes[f] = size
	return size, err
}

// function is the one that a node calls, nil when it calls none.
func (in *inlining) function(n *onnxpb.NodeProto) *onnxpb.FunctionProto {
	return in.functions[keyOf(n.Domain, n.OpType, n.Overload)]
}

func keyOf(domain, name, overload string) string {
	return strings.Join([]string{canonical(domain), name, overload}, "\x00")
}

// collect notes the names of a graph's values, and of those of the graphs in it.
func (in *inlining) collect(g *onnxpb.GraphProto) {
	for _, list := range [][]*onnxpb.ValueInfoProto{g.Input, g.Output, g.ValueInfo} {
		for _, v := range list {
			in.names[v.Name] = true
		}
	}
	for _, t := range g.Initializer {
		in.names[t.Name] = true
	}
	for _, n := range g.Node {
		for _, name := range slices.Concat(n.Input, n.Output) {
			in.names[name] = true
		}
		for _, a := range n.Attribute {
			if a.G != nil {
				in.collect(a.G)
			}
		}
	}
}

// graph writes out the calls in a graph.
func (in *inlining) graph(g *onnxpb.GraphProto) { g.Node = in.list(g.Node) }

func (in *inlining) list(nodes []*onnxpb.NodeProto) (list []*onnxpb.NodeProto) {
	for _, n := range nodes {
		if f := in.function(n); f != nil {
			list = append(list, in.list(in.called(n, f))...)
			continue
		}
		for _, a := range n.Attribute {
			if a.G != nil {
				in.graph(a.G)
			}
		}
		list = append(list, n)
	}
	return list
}

// call is one function at one node.
type call struct {
	*inlining
	prefix string // of the names that the function makes
	names  map[string]string
	attrs  map[string]*onnxpb.AttributeProto
}

// called returns the nodes of a function as they are at a node that calls it.
func (in *inlining) called(n *onnxpb.NodeProto, f *onnxpb.FunctionProto) (list []*onnxpb.NodeProto) {
	c := &call{inlining: in, names: map[string]string{"": ""}, attrs: map[string]*onnxpb.AttributeProto{}}
	c.prefix = cmp.Or(n.Name, strings.Join(n.Output, "+")) + "/"
	for _, a := range slices.Concat(f.AttributeProto, n.Attribute) {
		c.attrs[a.Name] = a
	}
	for i, name := range f.Input {
		c.names[name] = ""
		if i < len(n.Input) {
			c.names[name] = n.Input[i]
		}
	}
	for i, name := range f.Output {
		if i >= len(n.Output) || n.Output[i] == "" {
			continue
		}
		if from, known := c.names[name]; known {
			list = append(list, &onnxpb.NodeProto{OpType: "Identity", Input: []string{from}, Output: n.Output[i : i+1]})
			continue
		}
		c.names[name] = n.Output[i]
	}
	for _, inner := range f.Node {
		list = append(list, c.node(proto.CloneOf(inner)))
	}
	return list
}

func (c *call) node(n *onnxpb.NodeProto) *onnxpb.NodeProto {
	if n.Name != "" {
		n.Name = c.prefix + n.Name
	}
	c.rename(n.Input)
	c.rename(n.Output)
	n.Attribute = slices.DeleteFunc(n.Attribute, func(a *onnxpb.AttributeProto) bool {
		return a.RefAttrName != "" && c.attrs[a.RefAttrName] == nil
	})
	for i, a := range n.Attribute {
		if given := c.attrs[a.RefAttrName]; a.RefAttrName != "" {
			given = proto.CloneOf(given)
			given.Name, n.Attribute[i] = a.Name, given
		} else if a.G != nil {
			c.body(a.G)
		}
	}
	return n
}

// body renames all that a graph in a function has: names of the function's are never those of the model by chance.
func (c *call) body(g *onnxpb.GraphProto) {
	for _, list := range [][]*onnxpb.ValueInfoProto{g.Input, g.Output, g.ValueInfo} {
		for _, v := range list {
			v.Name = c.name(v.Name)
		}
	}
	for _, t := range g.Initializer {
		t.Name = c.name(t.Name)
	}
	for _, n := range g.Node {
		c.node(n)
	}
}

func (c *call) rename(list []string) {
	for i := range list {
		list[i] = c.name(list[i])
	}
}

// name is that of a value of the function in the model.
func (c *call) name(local string) string {
	if name, known := c.names[local]; known {
		return name
	}
	name := c.prefix + local
	for k := 2; c.inlining.names[name]; k++ {
		name = fmt.Sprintf("%s%s_%d", c.prefix, local, k)
	}
	c.names[local], c.inlining.names[name] = name, true
	return name
}
