// Package tflite reads what a TensorFlow Lite model needs to have its arena planned, and writes the plan into the
// model: TensorFlow Lite Micro takes the offsets of tensors from the metadata OfflineMemoryAllocation, and plans the
// others, and the scratch memory of kernels, around them.
package tflite

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"tlruntime/cmd/tl/internal/tflite/schema"
	"tlruntime/runtime/offsets"
)

const (
	identifier  = "TFL3"
	planName    = "OfflineMemoryAllocation"
	planFormat  = 1
	online      = -1 // instead of an offset: the interpreter plans it
	modelFields = 8  // of the table Model, as far as they are known here
)

// Alignment is that of buffers in the arena, and of what they hold in the file.
const Alignment = 16

// Model is a model whose arena can be planned.
type Model struct {
	Buffers []offsets.Buffer // tensors of the first subgraph that have a place in the arena
	Online  int              // tensors of all subgraphs that the interpreter places when it starts

	file    []byte
	root    *schema.Model
	tensors []int // the number of each buffer's tensor
	count   int   // tensors of all subgraphs
}

// Read reads a model. The tensors of its first subgraph that need memory are buffers, alive from the operator that
// writes them to the last one that reads them; inputs live from the start, and outputs to the end. What stays online:
// tensors whose size the file does not tell, those of other subgraphs, and those whose number another subgraph has for
// a tensor that needs memory, since the interpreter reads one offset for both. Variables are not in the arena.
func Read(file []byte) (m *Model, err error) {
	defer damaged(&err)
	if len(file) < 8 || string(file[4:8]) != identifier {
		return nil, fmt.Errorf("this is no TensorFlow Lite model: its bytes 4 to 7 are not %q", identifier)
	}
	m = &Model{file: file, root: schema.GetRootAsModel(file, 0)}
	if err := m.refused(); err != nil {
		return nil, err
	}
	return m, m.plan()
}

// damaged says what a panic of the accessors means, which trust the offsets in a file.
func damaged(err *error) {
	if recover() != nil {
		*err = errors.New("this is no complete TensorFlow Lite model: an offset in it leads out of it")
	}
}

// refused tells why a model cannot be written with a plan in it.
func (m *Model) refused() error {
	if m.root.SubgraphsLength() == 0 {
		return errors.New("the model has no subgraph")
	}
	table := m.root.Table()
	fields := int(table.GetVOffsetT(flatbuffers.UOffsetT(int64(table.Pos)-int64(table.GetSOffsetT(table.Pos)))))/2 - 2
	for field := modelFields; field < fields; field++ {
		if m.target(field) != 0 {
			return fmt.Errorf("field %d of the model is newer than this program", field)
		}
	}
	var b schema.Buffer
	for i := range m.root.BuffersLength() {
		if m.root.Buffers(&b, i); b.Offset() > 1 {
			return errors.New("the model keeps constants behind its tables, as models above 2 GiB do")
		}
	}
	return nil
}

// target returns where in the file a field of the model leads that holds an offset; 0: it is not there.
func (m *Model) target(field int) flatbuffers.UOffsetT {
	table := m.root.Table()
	o := flatbuffers.UOffsetT(table.Offset(flatbuffers.VOffsetT(4 + 2*field)))
	if o == 0 {
		return 0
	}
	return table.Indirect(table.Pos + o)
}

// Bytes of an element, by the number of its type in the format; 0: elements have no size that a file tells. An element
// of 4 bits counts as a byte, as for the interpreter.
var elementBytes = [...]int64{4, 2, 4, 1, 8, 0, 1, 2, 8, 1, 8, 16, 8, 0, 0, 4, 2, 1, 2}

// need returns how many bytes of the arena a tensor takes. known is false where the file does not tell.
func (m *Model) need(t *schema.Tensor) (bytes int64, known bool) {
	var b schema.Buffer
	n := int(t.Buffer())
	if t.IsVariable() || n < m.root.BuffersLength() && m.root.Buffers(&b, n) && b.DataLength() > 0 {
		return 0, true
	}
	if t.Type() < 0 || int(t.Type()) >= len(elementBytes) || elementBytes[t.Type()] == 0 {
		return 0, false
	}
	bytes = elementBytes[t.Type()]
	for i := range t.ShapeLength() {
		n := int64(t.Shape(i))
		if n < 0 {
			return 0, false
		}
		high, low := bits.Mul64(uint64(bytes), uint64(n))
		if high != 0 || low > math.MaxInt32 {
			return 0, false
		}
		bytes = int64(low)
	}
	return (bytes + Alignment - 1) &^ (Alignment - 1), true
}

// life is from which step to which one a tensor is used; none: it is not.
type life struct{ first, last int }

var none = life{-1, -1}

// lives returns the lives of a subgraph's tensors. Step 0 is before the first operator.
func lives(g *schema.SubGraph) ([]life, error) {
	all := slices.Repeat([]life{none}, g.TensorsLength())
	var bad error
	use := func(tensor int32, step int) {
		switch {
		case tensor == -1: // an optional input that is left out
		case tensor < 0 || int(tensor) >= len(all):
			bad = fmt.Errorf("a subgraph of %d tensors uses tensor %d", len(all), tensor)
		default:
			if all[tensor] == none {
				all[tensor].first = step
			}
			all[tensor].last = max(all[tensor].last, step)
		}
	}
	for i := range g.InputsLength() {
		use(g.Inputs(i), 0)
	}
	var op schema.Operator
	for k := range g.OperatorsLength() {
		g.Operators(&op, k)
		for i := range op.InputsLength() {
			use(op.Inputs(i), k+1)
		}
		for i := range op.OutputsLength() {
			use(op.Outputs(i), k+1)
		}
	}
	for i := range g.OutputsLength() {
		use(g.Outputs(i), g.OperatorsLength()+1)
	}
	return all, bad
}

// plan finds the buffers.
func (m *Model) plan() error {
	var g schema.SubGraph
	var t schema.Tensor
	shared := map[int]bool{} // numbers that other subgraphs have for tensors in the arena
	for s := range m.root.SubgraphsLength() {
		m.root.Subgraphs(&g, s)
		if m.count += g.TensorsLength(); m.count > len(m.file) {
			return fmt.Errorf("the model says that it has %d tensors, which its %d bytes do not hold", m.count, len(m.file))
		}
		for i := range g.TensorsLength() {
			g.Tensors(&t, i)
			if bytes, known := m.need(&t); s > 0 && (!known || bytes > 0) {
				shared[i] = true
				m.Online++
			}
		}
	}
	m.root.Subgraphs(&g, 0)
	alive, err := lives(&g)
	if err != nil {
		return err
	}
	for i, l := range alive {
		g.Tensors(&t, i)
		bytes, known := m.need(&t)
		switch {
		case l == none || known && bytes == 0:
		case !known || shared[i]:
			m.Online++
		default:
			m.tensors = append(m.tensors, i)
			m.Buffers = append(m.Buffers, offsets.Buffer{Name: string(t.Name()), Bytes: bytes, First: int64(l.first),
				End: int64(l.last) + 1, Alignment: Alignment})
		}
	}
	return nil
}

// Write returns the model with the places of its buffers. Nothing else in the file changes but its place: new tables
// stand in front, and lead to the old ones.
func (m *Model) Write(places []int64) (planned []byte, err error) {
	defer damaged(&err)
	words := slices.Repeat([]int32{online}, 3+m.count)
	copy(words, []int32{planFormat, 0, int32(m.count)}) // of subgraph 0
	for i, place := range places {
		if place > math.MaxInt32 {
			return nil, fmt.Errorf("the arena is larger than 2 GiB: tensor %q lies at %d", m.Buffers[i].Name, place)
		}
		words[3+m.tensors[i]] = int32(place)
	}
	b := flatbuffers.NewBuilder(len(m.file) + 4*len(words) + 8*m.root.BuffersLength() + 1024)
	begin := b.CreateByteVector(append(slices.Clone(m.file), make([]byte, -len(m.file)&(Alignment-1))...)) - 4
	old := func(at flatbuffers.UOffsetT) flatbuffers.UOffsetT { return begin - at }

	b.StartVector(1, 4*len(words), Alignment)
	for _, word := range slices.Backward(words) {
		b.PlaceInt32(word)
	}
	data := b.EndVector(4 * len(words))
	schema.BufferStart(b)
	schema.BufferAddData(b, data)
	buffers := []flatbuffers.UOffsetT{schema.BufferEnd(b)}
	var buffer schema.Buffer
	for i := range m.root.BuffersLength() {
		m.root.Buffers(&buffer, m.root.BuffersLength()-1-i)
		buffers = append(buffers, old(buffer.Table().Pos))
	}
	name := b.CreateString(planName)
	schema.MetadataStart(b)
	schema.MetadataAddName(b, name)
	schema.MetadataAddBuffer(b, uint32(m.root.BuffersLength()))
	metadata := []flatbuffers.UOffsetT{schema.MetadataEnd(b)}
	var entry schema.Metadata
	for i := range m.root.MetadataLength() {
		m.root.Metadata(&entry, m.root.MetadataLength()-1-i)
		if string(entry.Name()) != planName {
			metadata = append(metadata, old(entry.Table().Pos))
		}
	}
	fields := map[int]flatbuffers.UOffsetT{4: vector(b, buffers), 6: vector(b, metadata)}
	b.StartObject(modelFields)
	for field := range modelFields {
		if at := m.target(field); field != 0 && fields[field] == 0 && at != 0 {
			fields[field] = old(at)
		}
		b.PrependUOffsetTSlot(field, fields[field], 0)
	}
	schema.ModelAddVersion(b, m.root.Version())
	b.FinishWithFileIdentifier(b.EndObject(), []byte(identifier))
	return b.FinishedBytes(), nil
}

// vector writes offsets, the last one first.
func vector(b *flatbuffers.Builder, last []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(last), 4)
	for _, o := range last {
		b.PrependUOffsetT(o)
	}
	return b.EndVector(len(last))
}
