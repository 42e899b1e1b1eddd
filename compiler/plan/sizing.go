package plan

import (
	"fmt"
	"maps"
	"slices"

	"tlruntime/compiler/graph"
)

// degree bounds the powers of a symbol in a size; provable bounds how many numbers are
// all compared, and sampled how many are where there are more.
const (
	degree   = 3
	provable = 1024
	sampled  = 256
)

// BuildSymbolic is Build for shapes with symbols: the plan holds for every number of each
// symbol up to its bound, and takes less memory for smaller ones. Check returns the graph
// for given numbers; it is asked for many. The plan is the one for the bounds, and has
// ExecutionPlan.Symbolic.
//
// It fails when a size is no polynomial of degree 3, as after a window with strides over
// an axis that is a symbol, when the plan holds for the bounds alone, or when the
// graph runs graphs (If, Loop, Scan).
func BuildSymbolic(check func(map[string]int64) (*graph.Checked, error), bounds map[string]int64, o Options) (
	*ExecutionPlan, error) {
	c, err := check(bounds)
	if err != nil {
		return nil, err
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; len(n.Bodies) > 0 {
			return nil, errorf("node %q (%s) runs graphs; sizes as functions of symbols are for plans without", n.Name, n.Op)
		}
	}
	s, err := sizesOf(check, c, bounds, o)
	if err != nil {
		return nil, err
	}
	p := s.candidate.plan
	s.stack(p)
	s.compact(p)
	p.Symbolic = &s.Symbolic
	return p, s.Symbolic.Check(p)
}

// sizesOf plans the graph for the bounds and finds the sizes of its buffers.
func sizesOf(check func(map[string]int64) (*graph.Checked, error), c *graph.Checked, bounds map[string]int64,
	o Options) (*sizing, error) {
	best, err := build(c, o)
	if err != nil {
		return nil, err
	}
	if o, err = o.normal(); err != nil {
		return nil, err
	}
	s := &sizing{check: check, bounds: bounds, options: &o, candidate: best, apart: best.layout.decided(),
		known: map[string]*made{}}
	for _, name := range slices.Sorted(maps.Keys(c.Symbols)) {
		s.Symbols = append(s.Symbols, Symbol{name, 0, c.Symbols[name]})
	}
	return s, s.find()
}

// sizing finds the sizes of a plan's buffers as functions of symbols.
type sizing struct {
	Symbolic
	check     func(map[string]int64) (*graph.Checked, error)
	bounds    map[string]int64
	options   *Options
	candidate *candidate
	apart     *apartness
	known     map[string]*made // of the grid, by numbers
	last      error            // why the plan does not hold for some numbers
}

// find narrows the numbers to those for which the plan is the same one, fits the sizes,
// and compares.
func (s *sizing) find() error {
	highest := make([]int64, len(s.Symbols))
	for i := range s.Symbols {
		highest[i] = s.Symbols[i].To
	}
	if m := s.at(highest); m.err != nil {
		return errorf("the plan for the bounds cannot be made again, which is a defect: %w", m.err)
	}
	for !s.holds(s.grid()) {
	}
	if err := s.fit(); err != nil {
		return err
	}
	if err := s.compare(); err != nil {
		return err
	}
	for i := range s.Symbols {
		if n := &s.Symbols[i]; n.To > 1 && n.From == n.To {
			return errorf("the plan holds for %q = %d alone: %w", n.Name, n.To, s.last)
		}
	}
	return nil
}

// compare holds the sizes to those of plans for other numbers.
func (s *sizing) compare() error {
	list, all := s.numbers()
	s.Proved = all
	for _, numbers := range list {
		if !s.inside(numbers) {
			continue
		}
		m := s.again(numbers)
		if m.err != nil {
			s.narrow(numbers, m.err)
			continue
		}
		for i := range s.Sizes {
			if size := s.Sizes[i].At(numbers); size != m.plan.Buffers[i].Bytes {
				return errorf("the size of buffer %q is no polynomial of the symbols of degree %d: for %s it is %d, and %s fits "+
					"others", m.plan.Buffers[i].Name, degree, s.text(numbers), m.plan.Buffers[i].Bytes,
					s.Sizes[i].String(s.Symbols))
			}
		}
	}
	return nil
}

// holds reports whether the plan is the same for all these numbers, or narrows.
func (s *sizing) holds(list [][]int64) bool {
	for _, numbers := range list {
		if m := s.at(numbers); m.err != nil {
			s.narrow(numbers, m.err)
			return false
		}
	}
	return true
}

// narrow leaves these numbers out: that of a symbol and all below it. It is the symbol
// whose highest number has the plan, else the one with the smallest number.
func (s *sizing) narrow(numbers []int64, why error) {
	least := -1
	for i, n := range numbers {
		if n == s.Symbols[i].To {
			continue
		}
		next := slices.Clone(numbers)
		next[i] = s.Symbols[i].To
		if s.again(next).err == nil {
			least = i
			break
		}
		if least < 0 || n < numbers[least] {
			least = i
		}
	}
	s.Symbols[least].From = numbers[least] + 1
	s.last = fmt.Errorf("for %s %w", s.text(numbers), why)
}

func (s *sizing) inside(numbers []int64) bool {
	for i, n := range numbers {
		if n < s.Symbols[i].From {
			return false
		}
	}
	return true
}

func (s *sizing) text(numbers []int64) string {
	text := ""
	for i, n := range numbers {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s=%d", s.Symbols[i].Name, n)
	}
	return text
}

// numbers lists what is compared: all numbers where that can be done, else the corners
// and a sample that is the same every time.
func (s *sizing) numbers() (list [][]int64, all bool) {
	total := int64(1)
	for i := range s.Symbols {
		total = min(total*min(s.Symbols[i].To-s.Symbols[i].From+1, provable+1), provable+1)
	}
	list = [][]int64{{}}
	for i := range s.Symbols {
		n := &s.Symbols[i]
		points := []int64{n.From, n.To}
		if total <= provable {
			points = nil
			for x := n.From; x <= n.To; x++ {
				points = append(points, x)
			}
		}
		list = product(list, points)
	}
	if total <= provable {
		return list, true
	}
	state := uint64(1)
	for range sampled {
		numbers := make([]int64, len(s.Symbols))
		for i := range s.Symbols {
			n := &s.Symbols[i]
			state = state*6364136223846793005 + 1442695040888963407 // Knuth's generator
			numbers[i] = n.From + int64((state>>33)%uint64(n.To-n.From+1))
		}
		list = append(list, numbers)
	}
	return list, false
}

func product(list [][]int64, points []int64) [][]int64 {
	var longer [][]int64
	for _, head := range list {
		for _, x := range points {
			longer = append(longer, append(slices.Clone(head), x))
		}
	}
	return longer
}
