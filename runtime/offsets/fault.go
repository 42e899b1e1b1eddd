package offsets

import "fmt"

func (s *solver) pinFault(it *item) error {
	b := &s.p.Buffers[it.buffer]
	return &InputError{Buffer: int(it.buffer), Name: b.Name,
		Reason: fmt.Sprintf("it is pinned at offset %d, where another pinned buffer lies at the same time; move one of "+
			"them",
			it.pinned)}
}

// limit makes the error of an item that found no place in a space.
func (s *solver) limit(it *item, space int, needed int64, proved bool) *LimitError {
	b, at := &s.p.Buffers[it.buffer], &s.spaces[space]
	e := &LimitError{Buffer: int(it.buffer), Name: b.Name, Bytes: it.size, Space: space, Capacity: at.Capacity,
		Needed: needed, Proved: proved}
	known, advice := "the best frame found has", "raise the capacity, grant more steps, or shorten lifetimes"
	if proved {
		known, advice = "no frame has less than", "raise the capacity, or shorten lifetimes"
	}
	e.reason = fmt.Sprintf("its %d bytes do not fit into space %d%s of %d bytes: %s %d; %s", it.size, space,
		quoted(at.Name), at.Capacity, known, needed, advice)
	return e
}

// tooLarge finds an item that alone passes the capacity.
func (s *solver) tooLarge(in *instance, capacity int64) error {
	for i := range in.items {
		it := &in.items[i]
		if needed := max(it.pinned, it.residue) + it.size; capacity > 0 && needed > capacity {
			return s.limit(it, 0, needed, true)
		}
	}
	return nil
}

// overflow names the item that ends highest in a placement above its capacity.
func (s *solver) overflow(in *instance, d *draft, space int) error {
	top := 0
	for i := range in.items {
		if d.offset[i]+in.items[i].size > d.offset[top]+in.items[top].size {
			top = i
		}
	}
	proved := d.bound > s.spaces[space].Capacity
	needed := d.frame
	if proved {
		needed = d.bound
	}
	return s.limit(&in.items[top], space, needed, proved)
}
