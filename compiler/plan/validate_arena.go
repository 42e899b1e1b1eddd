package plan

import (
	"fmt"
	"slices"

	"tlruntime/compiler/view"
)

// ValidateArena checks an arena without knowing how it was made. Each entry's plan has to
// pass Validate. Each state has to be one buffer of each plan, at the same place with the
// same type and shape; it is alive before, during and after every entry, so that Validate
// finds whatever else meets its bytes, and a state that an entry does not give out has to
// hold afterwards what it held before. No frame reaches beyond the arena.
func ValidateArena(a *Arena) error {
	for i := range a.States {
		s := &a.States[i]
		if s.Offset < 0 || s.Bytes < 0 || s.Offset > a.StateBytes-s.Bytes {
			return errorf("state %q of %d bytes is at %d; the states take the first %d bytes", s.Name, s.Bytes, s.Offset,
				a.StateBytes)
		}
	}
	for _, p := range a.Entries {
		if err := Validate(p); err != nil {
			return errorf("entry %q: %w", p.Name, err)
		}
		if err := inspectStates(a, p); err != nil {
			return errorf("entry %q: %w", p.Name, err)
		}
	}
	return nil
}

// VerifyArena is ValidateArena that knows the graphs: it has every plan verified, and
// holds each input and output that is a state to its buffer.
func VerifyArena(a *Arena, entries []Entry) error {
	if err := ValidateArena(a); err != nil {
		return err
	}
	if len(entries) != len(a.Entries) {
		return errorf("the arena has %d entries, and %d are given", len(a.Entries), len(entries))
	}
	for i, p := range a.Entries {
		e := &entries[i]
		if err := Verify(p, e.Graph); err != nil {
			return errorf("entry %q: %w", p.Name, err)
		}
		for _, o := range slices.Concat(p.Inputs, p.Outputs) {
			b := &p.Buffers[o.Buffer]
			if state, is := e.States[o.Name]; is != (b.Kind == State) || is && b.Name != state {
				return errorf("entry %q: %q lies in %q, which is not what it should be", p.Name, o.Name, b.Name)
			}
		}
	}
	return nil
}

// inspectStates holds the buffers of an entry to the arena's states.
func inspectStates(a *Arena, p *ExecutionPlan) error {
	if p.Frame.Bytes > a.Bytes || p.Frame.Alignment != a.Alignment {
		return fmt.Errorf("its frame has %d bytes and alignment %d, the arena %d and %d", p.Frame.Bytes, p.Frame.Alignment,
			a.Bytes, a.Alignment)
	}
	found := map[string]bool{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Kind != State {
			if b.Offset >= 0 && b.Offset < a.StateBytes && b.Bytes > 0 {
				return fmt.Errorf("buffer %q is at %d, among the states", b.Name, b.Offset)
			}
			continue
		}
		at := slices.IndexFunc(a.States, func(s StateTensor) bool { return s.Name == b.Name })
		if at < 0 || found[b.Name] {
			return fmt.Errorf("its state %q is none of the arena, or is there twice", b.Name)
		}
		found[b.Name] = true
		if s := &a.States[at]; b.Offset != s.Offset || b.Bytes != s.Bytes || b.DType != s.DType ||
			!slices.Equal(b.Shape, s.Shape) {
			return fmt.Errorf("its state %q is %s %v at %d; the arena has %s %v at %d", b.Name, b.DType, b.Shape, b.Offset,
				s.DType, s.Shape, s.Offset)
		}
	}
	if len(found) != len(a.States) {
		return fmt.Errorf("it has %d of %d states", len(found), len(a.States))
	}
	for _, o := range slices.Concat(p.Inputs, p.Outputs) {
		if b := &p.Buffers[o.Buffer]; b.Kind == State && !o.View.Same(view.Contiguous(b.Shape)) {
			return fmt.Errorf("%q is not the whole of state %q, row by row", o.Name, b.Name)
		}
	}
	return nil
}

// enterStates fills the states with what was in them before, and returns it.
func (s *simulation) enterStates() []Operand {
	var list []Operand
	for i := range s.plan.Buffers {
		b := &s.plan.Buffers[i]
		if b.Kind != State {
			continue
		}
		o := Operand{Name: "what was in " + b.Name, Buffer: i, View: view.Contiguous(b.Shape)}
		at := slices.IndexFunc(s.plan.Inputs, func(in Operand) bool { return in.Buffer == i })
		if at >= 0 {
			o = s.plan.Inputs[at]
		}
		id := s.id(o.Name)
		s.writer[id] = true
		s.write(o, func(at int64) tag { return tagOf(id, at) }, -1)
		list = append(list, o)
	}
	return list
}

// leaveStates looks whether the states that are no output hold what they held before.
func (s *simulation) leaveStates(former []Operand) error {
	for _, o := range former {
		if slices.ContainsFunc(s.plan.Outputs, func(out Operand) bool { return out.Buffer == o.Buffer }) {
			continue
		}
		id := s.id(o.Name)
		for nth, t := range s.tags(o) {
			if t != tagOf(id, int64(nth)) {
				return errorf("state %q is no output, and holds %s in the end", s.plan.Buffers[o.Buffer].Name, s.describe(t))
			}
		}
	}
	return nil
}
