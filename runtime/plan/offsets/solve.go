package offsets

import "fmt"

// Solve places the buffers of p. It fails with an InputError when p means nothing,
// and with a LimitError when a buffer finds no place in its spaces.
//
// Safe for concurrent use; p is not changed and not kept.
func Solve(p Problem, o Options) (*Solution, error) {
	if err := validate(&p); err != nil {
		return nil, err
	}
	in, err := newInstance(&p)
	if err != nil {
		return nil, err
	}
	load := in.load()
	var best *draft
	var failure error
	for k := range rules {
		d, err := in.place(&p, in.order(&rules[k], load))
		if err != nil {
			failure = err
			continue
		}
		d.method = rules[k].name
		if best == nil || d.total() < best.total() {
			best = d
		}
	}
	if best == nil {
		return nil, failure
	}
	return best.solution(&p, in), nil
}

// draft is a complete placement.
type draft struct {
	offset []int64
	space  []int32
	frames []int64
	method string
}

func (d *draft) total() int64 {
	sum := int64(0)
	for _, bytes := range d.frames {
		sum += bytes
	}
	return sum
}

// place puts the items one by one, each at its lowest offset in the first of its
// spaces that has room.
func (in *instance) place(p *Problem, order []int32) (*draft, error) {
	spaces := p.Spaces
	if len(spaces) == 0 {
		spaces = make([]Space, 1)
	}
	d := &draft{offset: make([]int64, len(in.items)), space: make([]int32, len(in.items)), frames: make([]int64, len(spaces))}
	shelves := make([]*shelf, len(spaces))
	for i := range shelves {
		shelves[i] = newShelf(in, d.offset)
	}
	for _, i := range order {
		if err := in.placeOne(p, d, spaces, shelves, i); err != nil {
			return nil, err
		}
	}
	for i := range shelves {
		d.frames[i] = shelves[i].frame
	}
	return d, nil
}

func (in *instance) placeOne(p *Problem, d *draft, spaces []Space, shelves []*shelf, i int32) error {
	it := &in.items[i]
	b := &p.Buffers[it.buffer]
	choices := len(spaces)
	if len(b.Spaces) > 0 {
		choices = len(b.Spaces)
	}
	last := LimitError{Buffer: int(it.buffer), Name: b.Name, Bytes: it.size}
	for k := range choices {
		s := k
		if len(b.Spaces) > 0 {
			s = b.Spaces[k]
		}
		at := it.pinned
		if at < 0 {
			at = shelves[s].lowest(it)
		} else if !shelves[s].free(it, at) {
			return &InputError{Buffer: int(it.buffer), Name: b.Name, Reason: fmt.Sprintf("it is pinned at offset %d, where another pinned buffer lies at the same time; move one of them", at)}
		}
		if c := spaces[s].Capacity; c == 0 || at+it.size <= c {
			d.offset[i], d.space[i] = at, int32(s)
			shelves[s].put(i)
			return nil
		} else {
			last.Space, last.Capacity, last.Needed = s, c, at+it.size
		}
		if it.pinned >= 0 {
			break
		}
	}
	last.reason = fmt.Sprintf("no room for its %d bytes: in space %d%s it would end at %d and the capacity is %d; raise a capacity, add a space, or shorten lifetimes", it.size, last.Space, quoted(spaces[last.Space].Name), last.Needed, last.Capacity)
	return &last
}

// solution turns offsets of items into those of buffers.
func (d *draft) solution(p *Problem, in *instance) *Solution {
	s := in.spread(p, d.offset, d.space)
	s.Method = d.method
	s.Frames = make([]SpaceResult, len(d.frames))
	s.Optimal = true
	for i := range s.Frames {
		sub := in.only(d.space, int32(i))
		s.Frames[i] = SpaceResult{Bytes: d.frames[i], LowerBound: sub.lowerBound(sub.load())}
		s.Optimal = s.Optimal && s.Frames[i].Bytes == s.Frames[i].LowerBound
	}
	for i := range in.items {
		if b := &p.Buffers[in.items[i].buffer]; len(b.Spaces) > 0 && d.space[i] != int32(b.Spaces[0]) || len(b.Spaces) == 0 && d.space[i] != 0 {
			s.Optimal = false
		}
	}
	return s
}

// only is the instance of the items that lie in one space.
func (in *instance) only(space []int32, s int32) *instance {
	sub := *in
	sub.items = nil
	for i := range in.items {
		if space[i] == s {
			sub.items = append(sub.items, in.items[i])
		}
	}
	return &sub
}
