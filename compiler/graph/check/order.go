package check

import (
	"fmt"
	"strings"

	"tlruntime/compiler/graph"
)

// called is the name of a node, or its operator and number when it has none.
func (c *checker) called(i int) string { return c.names[i] }

// namesOf returns the names of the nodes. Messages and plans name nodes, so one whose name a node before has gets a
// number behind it.
func namesOf(nodes []graph.Node) []string {
	names, taken := make([]string, len(nodes)), map[string]bool{}
	for i := range nodes {
		taken[nodes[i].Name] = true
	}
	met := map[string]int{}
	for i := range nodes {
		name := nodes[i].Name
		if name == "" {
			names[i] = fmt.Sprintf("%s_%d", nodes[i].Op, i)
			continue
		}
		met[name]++
		names[i] = name
		for number := met[name]; number > 1 && taken[names[i]]; number++ {
			names[i] = fmt.Sprintf("%s_%d", name, number)
		}
		taken[names[i]] = true
	}
	return names
}

func (c *checker) Fault(i int, found, remedy string) *graph.Error {
	return &graph.Error{Node: c.called(i), Op: c.graph.Nodes[i].Op, Found: found, Remedy: remedy}
}

// cycleNames bounds the nodes of a cycle that an error lists.
const cycleNames = 12

// visit is a node on the way down: its inputs before next have been looked at.
type visit struct{ node, next int }

// order lists the nodes so that each follows the producers of its inputs. It goes
// depth first through the nodes as they stand, which leaves an order that is
// possible as it is.
func (c *checker) order() ([]int, error) {
	const unseen, open, done = 0, 1, 2
	state := make([]uint8, len(c.graph.Nodes))
	order := make([]int, 0, len(state))
	for root := range state {
		if state[root] != unseen {
			continue
		}
		path := []visit{{root, 0}}
		state[root] = open
		for len(path) > 0 {
			at := &path[len(path)-1]
			inputs := c.needs(at.node)
			if at.next == len(inputs) {
				state[at.node] = done
				order = append(order, at.node)
				path = path[:len(path)-1]
				continue
			}
			from, err := c.producer(at.node, at.next)
			if err != nil {
				return nil, err
			}
			at.next++
			if from < 0 || state[from] == done {
				continue
			}
			if state[from] == open {
				return nil, c.cycle(path, from)
			}
			state[from] = open
			path = append(path, visit{from, 0})
		}
	}
	return order, nil
}

// producer returns the node that makes an input of another, -1 when none does.
func (c *checker) producer(node, input int) (int, error) {
	name := c.needs(node)[input]
	if name == "" {
		return -1, nil
	}
	m, ok := c.Makers[name]
	if !ok {
		return 0, c.Fault(node, fmt.Sprintf("its input %d is %q, which nothing makes", input, name),
			"declare it as an input or a constant, or add the node that makes it")
	}
	return m.Node, nil
}

// cycle tells which nodes on the path from a node on wait for each other.
func (c *checker) cycle(path []visit, from int) error {
	start := 0
	for i, v := range path {
		if v.node == from {
			start = i
		}
	}
	var names []string
	for _, v := range path[start:] {
		names = append(names, c.called(v.node))
	}
	if len(names) > cycleNames {
		names = append(names[:cycleNames], fmt.Sprintf("... %d more", len(names)-cycleNames))
	}
	return c.Fault(from, fmt.Sprintf("it waits for its own result: %s, %s each need the result of the next",
		strings.Join(names, ", "), c.called(from)), "break the cycle")
}

// live returns those nodes of an order that an output depends on, and notes which
// names they ask for.
func (c *checker) live(order []int) []int {
	alive := make([]int, len(order))
	at := len(order)
	for i := len(order) - 1; i >= 0; i-- {
		n := &c.graph.Nodes[order[i]]
		for _, name := range n.Outputs {
			if name != "" && c.Asked[name] {
				at--
				alive[at] = order[i]
				for _, in := range c.needs(order[i]) {
					c.Asked[in] = true
				}
				break
			}
		}
	}
	return alive[at:]
}

// Roots lists some inputs of the graph, not frozen, that a value depends on.
func (c *checker) Roots(name string) string {
	seen := map[string]bool{name: true}
	var found []string
	for queue := []string{name}; len(queue) > 0 && len(found) < 3; queue = queue[1:] {
		at, known := c.Index[queue[0]]
		if !known || c.Out.Values[at].Constant != nil {
			continue
		}
		node := c.Makers[queue[0]].Node
		if node < 0 {
			found = append(found, fmt.Sprintf("the input %q", queue[0]))
			continue
		}
		for _, in := range c.graph.Nodes[node].Inputs {
			if !seen[in] {
				seen[in] = true
				queue = append(queue, in)
			}
		}
	}
	return strings.Join(found, ", ")
}
