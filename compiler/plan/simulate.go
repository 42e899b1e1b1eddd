package plan

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// tag says what was written last to a grain of memory: which value, and which grain
// of it. 0: nothing.
type tag uint64

const grainBits = 40

func tagOf(value int, grain int64) tag { return tag(value+1)<<grainBits | tag(grain) }

func (t tag) value() int   { return int(t>>grainBits) - 1 }
func (t tag) grain() int64 { return int64(t & (1<<grainBits - 1)) }

// maxGrains bounds the memory of a simulation: that of what is written, and of each operand.
const maxGrains = 1 << 27

// measure returns the bytes of a grain, and how many grains memory that is written and the largest
// operand have.
func measure(p *ExecutionPlan) (grain, written, operand int64) {
	grain = 8
	written = p.Frame.Bytes + p.Outside
	for i := range p.Buffers {
		b := &p.Buffers[i]
		for b.DType.Bytes()%grain != 0 || max(b.Offset, 0)%grain != 0 || b.Outside%grain != 0 {
			grain /= 2
		}
		if b.Offset < 0 && b.Kind == Output {
			written += b.Bytes
		}
	}
	most := func(list []Operand) {
		for _, o := range list {
			if o.Buffer >= 0 {
				operand = max(operand, o.View.Elements()*p.Buffers[o.Buffer].DType.Bytes()/grain)
			}
		}
	}
	most(p.Inputs)
	most(p.Outputs)
	for i := range p.Instructions {
		most(operandsOf(&p.Instructions[i]))
	}
	return grain, written / grain, operand
}

// ValidationBytes is how much memory Validate takes for a plan, at most.
func ValidationBytes(p *ExecutionPlan) uint64 {
	const perWritten, perOperand = 12, 3 * 8 // a tag and a stamp; tags before and after they are moved
	if _, written, operand := measure(p); max(written, operand) <= maxGrains {
		return perWritten*uint64(written) + perOperand*uint64(operand)
	}
	return 0
}

// simulation carries a plan out over tags.
type simulation struct {
	plan    *ExecutionPlan
	meaning *meaning // nil: the graph is not known
	grain   int64    // bytes
	frame   memory
	outside memory   // the second space
	own     []memory // by buffer: what is written and not in the frame

	ids     map[string]int // values by name
	names   []string
	writer  []bool         // by value: an instruction computes it, not only moves elements
	origins []map[int]bool // by value: where its elements may come from
	known   map[int]uint64 // checksums of derived values, as they were first seen
}

// memory is a range of grains.
type memory struct {
	tags   []tag
	stamps []int32 // the instruction that wrote there last
}

func newMemory(grains int64) memory { return memory{make([]tag, grains), make([]int32, grains)} }

// newSimulation returns nil when the plan is too large.
func newSimulation(p *ExecutionPlan, m *meaning) *simulation {
	grain, written, operand := measure(p)
	if max(written, operand) > maxGrains {
		return nil
	}
	s := &simulation{plan: p, meaning: m, grain: grain, ids: map[string]int{}, known: map[int]uint64{}}
	s.frame = newMemory((p.Frame.Bytes + s.grain - 1) / s.grain)
	s.outside = newMemory((p.Outside + s.grain - 1) / s.grain)
	s.own = make([]memory, len(p.Buffers))
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Offset < 0 && b.Kind == Output {
			s.own[i] = newMemory(b.Bytes / s.grain)
		}
	}
	s.findOrigins()
	return s
}

// id returns the number of the value with this name.
func (s *simulation) id(name string) int {
	id, ok := s.ids[name]
	if !ok {
		id = len(s.names)
		s.ids[name] = id
		s.names = append(s.names, name)
		s.writer = append(s.writer, false)
		s.origins = append(s.origins, map[int]bool{id: true})
	}
	return id
}

// findOrigins notes which values an instruction computes, and from which values the
// elements of the others may come.
func (s *simulation) findOrigins() {
	for i := range s.plan.Buffers {
		if b := &s.plan.Buffers[i]; b.Kind == Input || b.Kind == Constant {
			s.writer[s.id(b.Name)] = true
		}
	}
	for _, o := range s.plan.Inputs {
		s.writer[s.id(o.Name)] = true
	}
	for k := range s.plan.Instructions {
		for _, o := range s.plan.Instructions[k].Outputs {
			if !moves(s.plan.Instructions[k].Op) && o.Buffer >= 0 {
				s.writer[s.id(o.Name)] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, d := range s.plan.Derived {
			for _, from := range d.From {
				changed = s.inherit(d.Value, from) || changed
			}
		}
		for k := range s.plan.Instructions {
			if i := &s.plan.Instructions[k]; moves(i.Op) {
				changed = s.inheritAll(i) || changed
			}
		}
	}
}

// moves reports whether an instruction's results are its arguments' elements.
func moves(op string) bool { return Copies(op) || partsOf(op) != ops.NoParts }

func (s *simulation) inheritAll(i *Instruction) bool {
	changed := false
	for _, out := range i.Outputs {
		for _, in := range i.Inputs {
			if out.Buffer >= 0 && in.Buffer >= 0 {
				changed = s.inherit(out.Name, in.Name) || changed
			}
		}
	}
	return changed
}

func (s *simulation) inherit(to, from string) bool {
	a, b := s.id(to), s.id(from)
	before := len(s.origins[a])
	for origin := range s.origins[b] {
		s.origins[a][origin] = true
	}
	return len(s.origins[a]) > before
}

func (s *simulation) run() error {
	former := s.enterStates()
	for _, o := range s.plan.Inputs {
		if s.plan.Buffers[o.Buffer].Offset >= 0 {
			s.write(o, func(at int64) tag { return tagOf(s.id(o.Name), at) }, -1)
		}
	}
	for k := range s.plan.Instructions {
		i := &s.plan.Instructions[k]
		if err := s.instruction(i, int32(k+1)); err != nil {
			return errorf("node %q (%s): %w", i.Node, i.Op, err)
		}
	}
	for _, o := range s.plan.Outputs {
		if err := s.read(o, true); err != nil {
			return errorf("output %q: %w", o.Name, err)
		}
	}
	return s.leaveStates(former)
}

// instruction reads all arguments, spoils the temporary memory, and writes the
// results.
func (s *simulation) instruction(i *Instruction, stamp int32) error {
	for _, o := range i.Inputs {
		if o.Buffer < 0 {
			continue
		}
		if err := s.read(o, i.Op != OpCopy); err != nil {
			return err
		}
	}
	moved := s.moved(i)
	if i.Scratch != nil {
		s.write(*i.Scratch, func(int64) tag { return 0 }, stamp)
	}
	for k, o := range i.Outputs {
		if o.Buffer < 0 {
			continue
		}
		id := s.id(o.Name)
		content := func(at int64) tag { return tagOf(id, at) }
		if moved != nil {
			content = func(at int64) tag { return moved[k][at] }
		}
		if !s.write(o, content, stamp) {
			return fmt.Errorf("it writes an element twice, or through a view that repeats elements, or over its " +
				"temporary memory")
		}
	}
	return s.overwrites(i, stamp)
}

// moved returns the tags of each result of an instruction that only moves elements,
// nil for others.
func (s *simulation) moved(i *Instruction) [][]tag {
	if !moves(i.Op) {
		return nil
	}
	if Copies(i.Op) {
		return [][]tag{s.tags(i.Inputs[0])}
	}
	whole, parts := i.Outputs[0], i.Inputs
	if partsOf(i.Op) == ops.Splits {
		whole, parts = i.Inputs[0], i.Outputs
	}
	axis := i.Attrs.Int("axis")
	rows, inner := graph.Elements(whole.View.Shape[:axis]), s.size(whole)*graph.Elements(whole.View.Shape[axis+1:])
	if partsOf(i.Op) == ops.Joins {
		return [][]tag{s.joined(parts, axis, rows, inner)}
	}
	return s.taken(whole, i.Attrs.Ints("split"), rows, inner)
}

func (s *simulation) joined(parts []Operand, axis, rows, inner int64) []tag {
	content, all := make([][]tag, len(parts)), []tag{}
	for k, o := range parts {
		content[k] = s.tags(o)
	}
	for row := range rows {
		for k, o := range parts {
			n := o.View.Shape[axis] * inner
			all = append(all, content[k][row*n:(row+1)*n]...)
		}
	}
	return all
}

func (s *simulation) taken(whole Operand, extents []int64, rows, inner int64) [][]tag {
	content, at := s.tags(whole), int64(0)
	parts := make([][]tag, len(extents))
	for range rows {
		for k, extent := range extents {
			parts[k] = append(parts[k], content[at:at+extent*inner]...)
			at += extent * inner
		}
	}
	return parts
}

// overwrites looks whether an argument lies where the instruction wrote, and
// whether that is allowed.
func (s *simulation) overwrites(i *Instruction, stamp int32) error {
	for k, o := range i.Inputs {
		if o.Buffer < 0 || !s.stamped(o, stamp) {
			continue
		}
		y := i.Outputs[0]
		if !MayOverwrite(i.Op, k) || y.Buffer != o.Buffer || !sameElements(y.View, o.View) {
			return fmt.Errorf("argument %d (%q) lies where a result is written", k, o.Name)
		}
	}
	return nil
}

func sameElements(a, b view.View) bool {
	if !slices.Equal(a.Shape, b.Shape) || a.Offset != b.Offset {
		return false
	}
	for axis, d := range a.Shape {
		if d > 1 && a.Strides[axis] != b.Strides[axis] {
			return false
		}
	}
	return true
}

func (s *simulation) stamped(o Operand, stamp int32) bool {
	m := s.memory(o)
	size, found := s.size(o), false
	if m.stamps == nil {
		return false
	}
	each(o.View, func(_, at int64) { found = found || m.stamps[at*size] == stamp })
	return found
}

// size returns the grains of an element.
func (s *simulation) size(o Operand) int64 { return s.plan.Buffers[o.Buffer].DType.Bytes() / s.grain }

// memory returns the grains of an operand's buffer; none when it is only read.
func (s *simulation) memory(o Operand) memory {
	b := &s.plan.Buffers[o.Buffer]
	space, at := s.frame, b.Offset
	switch {
	case b.Kind == Outside:
		space, at = s.outside, b.Outside
	case b.Offset < 0:
		return s.own[o.Buffer]
	}
	from, to := at/s.grain, (at+b.Bytes)/s.grain
	return memory{space.tags[from:to], space.stamps[from:to]}
}

// tags returns what an operand finds in memory, grain by grain.
func (s *simulation) tags(o Operand) []tag {
	m, size, id := s.memory(o), s.size(o), s.id(s.plan.Buffers[o.Buffer].Name)
	list := make([]tag, 0, size*o.View.Elements())
	each(o.View, func(_, at int64) {
		for g := at * size; g < at*size+size; g++ {
			if m.tags == nil {
				list = append(list, tagOf(id, g))
			} else {
				list = append(list, m.tags[g])
			}
		}
	})
	return list
}

// write tags the elements of an operand. It returns false when one of them was
// written under the same stamp before.
func (s *simulation) write(o Operand, content func(int64) tag, stamp int32) bool {
	m, size, once := s.memory(o), s.size(o), true
	each(o.View, func(nth, at int64) {
		for g := range size {
			once = once && m.stamps[at*size+g] != stamp
			m.tags[at*size+g], m.stamps[at*size+g] = content(nth*size+g), stamp
		}
	})
	return once
}

// read looks whether an operand finds the elements of the value that it names, in
// their order unless it is not exact.
func (s *simulation) read(o Operand, exact bool) error {
	found, id := s.tags(o), s.id(o.Name)
	if s.meaning != nil && exact {
		return s.compare(o, found)
	}
	for nth, t := range found {
		if t == 0 || !s.origins[id][t.value()] {
			return fmt.Errorf("element %d of %q holds %s", int64(nth)/s.size(o), o.Name, s.describe(t))
		}
		if exact && s.writer[id] && t != tagOf(id, int64(nth)) {
			return fmt.Errorf("element %d of %q holds %s", int64(nth)/s.size(o), o.Name, s.describe(t))
		}
	}
	if !exact || s.writer[id] {
		return nil
	}
	if before, ok := s.known[id]; ok && before != checksum(found) {
		return fmt.Errorf("%q is not what it was when it was read before", o.Name)
	}
	s.known[id] = checksum(found)
	return nil
}

// checksum is FNV-1a over tags (Fowler, Noll and Vo).
func checksum(tags []tag) uint64 {
	sum := uint64(14695981039346656037)
	for _, t := range tags {
		sum = (sum ^ uint64(t)) * 1099511628211
	}
	return sum
}

// compare holds what was found to what the graph says.
func (s *simulation) compare(o Operand, found []tag) error {
	v, ok := s.meaning.values[o.Name]
	if !ok {
		return fmt.Errorf("there is no value %q in the graph", o.Name)
	}
	size := int64(max(1, s.size(o)))
	if want := s.meaning.count(v) * size; want != int64(len(found)) {
		return fmt.Errorf("%q has %d elements; the graph says %d", o.Name, int64(len(found))/size, want/size)
	}
	for nth, t := range found {
		source, element := s.meaning.element(v, int64(nth)/size)
		name := s.meaning.c.Values[source].Name
		if t == 0 || s.names[t.value()] != name || t.grain() != element*size+int64(nth)%size {
			return fmt.Errorf("element %d of %q holds %s; it should hold element %d of %q", int64(nth)/size, o.Name,
				s.describe(t), element, name)
		}
	}
	return nil
}

func (s *simulation) describe(t tag) string {
	if t == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%q", s.names[t.value()])
}

// each calls f with the number of each element of a view and its place in the
// buffer.
func each(v view.View, f func(nth, at int64)) {
	index := make([]int64, len(v.Shape))
	at := v.Offset
	for nth := range v.Elements() {
		f(nth, at)
		for axis := len(index) - 1; axis >= 0; axis-- {
			index[axis]++
			at += v.Strides[axis]
			if index[axis] < v.Shape[axis] {
				break
			}
			at -= index[axis] * v.Strides[axis]
			index[axis] = 0
		}
	}
}
