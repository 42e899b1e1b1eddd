package plan

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// Symbolic has the sizes and the places of a plan's buffers as functions of the symbols
// in the graph's shapes. The plan itself is that for the highest numbers.
//
//	size(b)   = Sizes[b], a polynomial
//	offset(b) = the highest of 0 and offset(a) + aligned(size(a)) over all a of Below[b]
//	frame     = the highest offset(b) + aligned(size(b))
//
// No two buffers that are alive at once share a byte, whatever the numbers are: of two
// such buffers one lies below the other in the plan, and it is in the other's Below, or
// below one that is. So offset(b) >= offset(a) + aligned(size(a)) follows from the
// equations alone, from no number in them. What has to hold of the numbers is that a
// buffer is as large as its polynomial says, and that the plan's instructions compute the
// graph with these numbers: BuildSymbolic makes the same plan for them and compares.
type Symbolic struct {
	Symbols []Symbol     // by name
	Sizes   []Polynomial // by buffer: bytes
	Below   [][]int      // by buffer: what it lies on; nothing for those outside the frame
	Proved  bool         // all numbers from From to To were compared, not only some
}

// Symbol is a symbol and the numbers for which the plan holds. For a number below From,
// memory for From is enough, and places are those for From.
type Symbol struct {
	Name     string
	From, To int64
}

// Polynomial is a sum of terms; none is 0.
type Polynomial []Term

// Term is Coefficient * n0^Powers[0] * n1^Powers[1] ... for the numbers of the symbols.
type Term struct {
	Coefficient int64
	Powers      []int // by symbol
}

// At returns the value for these numbers of the symbols.
func (p Polynomial) At(numbers []int64) int64 {
	sum := int64(0)
	for _, t := range p {
		value := t.Coefficient
		for s, power := range t.Powers {
			for range power {
				value *= numbers[s]
			}
		}
		sum += value
	}
	return sum
}

// Places returns the frame's size and the buffers' offsets for these numbers, in the
// order of Symbolic.Symbols; an offset of -1 is outside the frame. Each number has to be
// at least 0 and at most the symbol's To.
func (p *ExecutionPlan) Places(numbers []int64) (frame int64, offsets []int64, err error) {
	at, err := p.counted(numbers)
	if err != nil {
		return 0, nil, err
	}
	frame, offsets = p.Symbolic.places(p, at)
	return frame, offsets, nil
}

// BufferSizes returns how many bytes each buffer has for the numbers that Places takes.
func (p *ExecutionPlan) BufferSizes(numbers []int64) ([]int64, error) {
	at, err := p.counted(numbers)
	if err != nil {
		return nil, err
	}
	sizes := make([]int64, len(p.Buffers))
	for i := range sizes {
		sizes[i] = p.Symbolic.Sizes[i].At(at)
	}
	return sizes, nil
}

// counted returns the numbers as which these count: none below its symbol's From.
func (p *ExecutionPlan) counted(numbers []int64) ([]int64, error) {
	s := p.Symbolic
	if s == nil {
		return nil, errorf("the plan has no sizes as functions of symbols; BuildSymbolic finds them")
	}
	if len(numbers) != len(s.Symbols) {
		return nil, errorf("%d numbers are given for %d symbols", len(numbers), len(s.Symbols))
	}
	at := make([]int64, len(numbers))
	for i, n := range numbers {
		if n < 0 || n > s.Symbols[i].To {
			return nil, errorf("symbol %q is %d; the plan is for 0 to %d", s.Symbols[i].Name, n, s.Symbols[i].To)
		}
		at[i] = max(n, s.Symbols[i].From)
	}
	return at, nil
}

func (s *Symbolic) places(p *ExecutionPlan, numbers []int64) (frame int64, offsets []int64) {
	offsets = make([]int64, len(p.Buffers))
	for i := range offsets {
		offsets[i] = -1
	}
	for _, i := range p.FromBelow() {
		offsets[i] = 0
		for _, j := range s.Below[i] {
			offsets[i] = max(offsets[i], offsets[j]+alignedTo(s.Sizes[j].At(numbers), p.Frame.Alignment))
		}
		frame = max(frame, offsets[i]+alignedTo(s.Sizes[i].At(numbers), p.Frame.Alignment))
	}
	return frame, offsets
}

func alignedTo(bytes, alignment int64) int64 { return (bytes + alignment - 1) &^ (alignment - 1) }

// FromBelow lists the buffers in the frame from the lowest to the highest. A buffer
// without bytes comes before one that begins where it does.
func (p *ExecutionPlan) FromBelow() []int {
	var list []int
	for i := range p.Buffers {
		if p.Buffers[i].Offset >= 0 {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int) int {
		a, b := &p.Buffers[i], &p.Buffers[j]
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(i, j))
	})
	return list
}

// stack finds for each buffer those that it lies on: the buffers below it that are alive with
// it, without those on which another of them lies. A buffer that is always empty lies on none.
func (s *Symbolic) stack(p *ExecutionPlan) {
	order := p.FromBelow()
	under := make([]bitset, len(p.Buffers)) // all that a buffer lies on, directly or not
	s.Below = make([][]int, len(p.Buffers))
	for at, i := range order {
		b := &p.Buffers[i]
		under[i] = make(bitset, (len(p.Buffers)+63)/64)
		if len(s.Sizes[i]) == 0 {
			continue
		}
		for _, j := range slices.Backward(order[:at]) {
			a := &p.Buffers[j]
			if len(s.Sizes[j]) == 0 || a.First > b.Last || b.First > a.Last || under[i].has(j) {
				continue
			}
			s.Below[i] = append(s.Below[i], j)
			under[i].add(j)
			under[i].join(under[j])
		}
		slices.Sort(s.Below[i])
	}
}

type bitset []uint64

func (b bitset) has(i int) bool { return b[i/64]>>(i%64)&1 != 0 }
func (b bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }

func (b bitset) join(c bitset) {
	for i := range c {
		b[i] |= c[i]
	}
}

// compact lays the buffers as the equations say, for the highest numbers. None lies
// higher than before: by induction the equation asks for no more than what the placement
// has, where what is below a buffer and alive with it ends before it.
func (s *Symbolic) compact(p *ExecutionPlan) {
	highest := make([]int64, len(s.Symbols))
	for i := range s.Symbols {
		highest[i] = s.Symbols[i].To
	}
	frame, offsets := s.places(p, highest)
	for i := range p.Buffers {
		p.Buffers[i].Offset = offsets[i]
	}
	p.Frame.Optimal = p.Frame.Optimal || frame == p.Frame.LowerBound
	p.Frame.Bytes = frame
}

// String writes a polynomial for people: "24*N + 8*N^2".
func (p Polynomial) String(symbols []Symbol) string {
	if len(p) == 0 {
		return "0"
	}
	text := ""
	for i, t := range p {
		if i > 0 {
			text += " + "
		}
		text += fmt.Sprint(t.Coefficient)
		for s, power := range t.Powers {
			switch power {
			case 0:
			case 1:
				text += "*" + symbols[s].Name
			default:
				text += fmt.Sprintf("*%s^%d", symbols[s].Name, power)
			}
		}
	}
	return text
}

// Check holds s to the plan, for who reads it from a file.
func (s *Symbolic) Check(p *ExecutionPlan) error {
	if len(s.Sizes) != len(p.Buffers) || len(s.Below) != len(p.Buffers) {
		return errorf("sizes of %d and places of %d buffers; there are %d", len(s.Sizes), len(s.Below), len(p.Buffers))
	}
	for i := range s.Symbols {
		if n := &s.Symbols[i]; n.From < 0 || n.To < n.From {
			return errorf("symbol %q is from %d to %d", n.Name, n.From, n.To)
		}
	}
	position := make([]int, len(p.Buffers))
	for at, i := range p.FromBelow() {
		position[i] = at + 1
	}
	for i, list := range s.Below {
		for _, j := range list {
			if j < 0 || j >= len(p.Buffers) || position[j] == 0 || position[j] >= position[i] {
				return errorf("buffer %d lies on %d, which is not below it in the frame", i, j)
			}
		}
		for _, t := range s.Sizes[i] {
			if len(t.Powers) != len(s.Symbols) || slices.ContainsFunc(t.Powers, func(n int) bool {
				return n < 0 || n > bits.UintSize
			}) {
				return errorf("the size of buffer %d has the powers %v; there are %d symbols", i, t.Powers, len(s.Symbols))
			}
		}
	}
	return nil
}
