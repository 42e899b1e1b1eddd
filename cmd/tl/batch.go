package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/dustin/go-humanize"

	"tlruntime/cmd/tl/internal/host"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/runtime/memory"
)

// batch is the content of all inputs, for one sample or many.
type batch struct {
	samples int
	rows    map[string]int64 // of all samples together, by the symbol of the first axis
	content [][]byte         // by input: samples after each other, or one for all
}

// batch reads the inputs from files and makes up those that come from none.
func (r *running) batch(c *checked, e *plan.ExecutionPlan) (*batch, error) {
	b := &batch{samples: 1, rows: map[string]int64{}, content: make([][]byte, len(e.Inputs))}
	for name := range r.inputs {
		if !slices.ContainsFunc(e.Inputs, func(o plan.Operand) bool { return o.Name == name }) {
			return nil, fmt.Errorf("--input %s: the model has no such input; it has %s", name, inputNames(e))
		}
	}
	if err := room(e); err != nil {
		return nil, err
	}
	source := rand.New(rand.NewPCG(r.random, 0))
	for i, in := range e.Inputs {
		about := &e.Buffers[in.Buffer]
		path, given := r.inputs[in.Name]
		if !given {
			b.content[i] = random(source, about)
			continue
		}
		t, err := readTensor(path)
		if err == nil {
			b.content[i], err = b.add(t, about, firstSymbol(c.graph, in.Name))
		}
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
	}
	return b, b.even(c.Symbols)
}

// room refuses models of which no sample can be held: its inputs, its outputs and the
// frame are in memory at once.
func room(e *plan.ExecutionPlan) error {
	physical := memory.Physical()
	need := uint64(e.Frame.Bytes)
	for i := range e.Buffers {
		if k := e.Buffers[i].Kind; physical > 0 && need <= physical && (k == plan.Input || k == plan.Output) {
			need += uint64(e.Buffers[i].Bytes)
		}
	}
	if physical > 0 && need > physical {
		return fmt.Errorf("a run takes more than the %s of memory that this machine has; bind or declare smaller "+
			"extents", humanize.IBytes(physical))
	}
	return nil
}

func inputNames(e *plan.ExecutionPlan) string {
	names := make([]string, len(e.Inputs))
	for i, in := range e.Inputs {
		names[i] = in.Name
	}
	return strings.Join(names, ", ")
}

// firstSymbol is the symbol of an input's first axis, "" when that is a number.
func firstSymbol(g *graph.Graph, name string) string {
	for _, in := range g.Inputs {
		if in.Name == name && len(in.Shape) > 0 {
			return in.Shape[0].Symbol
		}
	}
	return ""
}

// add takes the content of one input.
func (b *batch) add(t graph.Tensor, about *plan.Buffer, symbol string) ([]byte, error) {
	if t.DType != about.DType {
		return nil, fmt.Errorf("the file has elements of type %s; the model wants %s", t.DType, about.DType)
	}
	samples, err := b.count(t.Shape, about.Shape, symbol)
	if err != nil {
		return nil, err
	}
	if samples == 0 {
		return nil, fmt.Errorf("the file holds no sample")
	}
	if samples > 1 && b.samples > 1 && samples != b.samples {
		return nil, fmt.Errorf("the file holds %d samples, that of another input %d", samples, b.samples)
	}
	b.samples = max(b.samples, samples)
	padding := int64(samples)*about.Bytes - int64(len(t.Data))
	return append(slices.Clip(t.Data), make([]byte, padding)...), nil
}

// count tells how many samples of the wanted shape a file of the given one holds.
// The rows of all files whose first axis is one symbol are the same number.
func (b *batch) count(given, want []int64, symbol string) (int, error) {
	switch {
	case symbol != "" && len(given) == len(want) && slices.Equal(given[1:], want[1:]) && (want[0] != 0 || given[0] == 0):
		if rows, known := b.rows[symbol]; known && rows != given[0] {
			return 0, fmt.Errorf("the file has %d rows, that of another input %d; both are of the symbol %s", given[0],
				rows, symbol)
		}
		b.rows[symbol] = given[0]
		return parts(given[0], want[0]), nil
	case slices.Equal(given, want):
		return 1, nil
	case len(given) == len(want)+1 && slices.Equal(given[1:], want):
		return int(given[0]), nil
	}
	return 0, fmt.Errorf("the file has shape %v; the model wants %v, or many of these along one axis more", given, want)
}

// parts returns how many samples the rows make. A symbol that is bound to 0 has no rows: that is one sample.
func parts(rows, bound int64) int {
	if bound == 0 {
		return 1
	}
	return int((rows + bound - 1) / bound)
}

// even refuses rows of one symbol that end within the first sample when there are
// more: what a model makes of them in the others has no rows of its own to be cut to.
// A whole sample serves all.
func (b *batch) even(bounds map[string]int64) error {
	for _, symbol := range slices.Sorted(maps.Keys(b.rows)) {
		rows, bound := b.rows[symbol], bounds[symbol]
		if n := parts(rows, bound); n != b.samples && rows != bound {
			return fmt.Errorf("the files have %d rows of the symbol %s, which is %d samples of %d, and %d samples "+
				"of others; pass as many of each", rows, symbol, n, bound, b.samples)
		}
	}
	return nil
}

// sample is the content of one input for one sample.
func (b *batch) sample(input, sample int, bytes int64) []byte {
	content := b.content[input]
	if int64(len(content)) > bytes {
		content = content[int64(sample)*bytes:]
	}
	return content[:bytes]
}

// trim gives an output of all samples the shape that a user expects: rows of padding
// are dropped, a single sample has no axis of its own.
func (b *batch) trim(t graph.Tensor, follow []string) graph.Tensor {
	if len(follow) > 0 {
		rows, known := b.rows[follow[0]]
		if known && parts(rows, t.Shape[1]) == b.samples {
			shape := slices.Clone(t.Shape[1:])
			row := t.DType.Bytes() * graph.Elements(shape[1:])
			shape[0] = rows
			return graph.Tensor{DType: t.DType, Shape: shape, Data: t.Data[:rows*row]}
		}
	}
	if b.samples == 1 {
		t.Shape = t.Shape[1:]
	}
	return t
}

// random makes up content: floats around 0, small whole numbers.
func random(source *rand.Rand, about *plan.Buffer) []byte {
	out := make([]byte, 0, about.Bytes)
	for int64(len(out)) < about.Bytes {
		switch about.DType {
		case graph.F32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(source.NormFloat64())))
		case graph.F64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(source.NormFloat64()))
		case graph.BF16:
			out = binary.LittleEndian.AppendUint16(out, uint16(math.Float32bits(float32(source.NormFloat64()))>>16))
		case graph.F16:
			out = binary.LittleEndian.AppendUint16(out, randomHalf(source))
		case graph.Bool:
			out = append(out, byte(source.IntN(2)))
		default:
			number := [8]byte{byte(source.IntN(128))}
			out = append(out, number[:about.DType.Bytes()]...)
		}
	}
	return out
}

// randomHalf returns a number of at least 1/16 and below 2, or its negative, as IEEE
// 754 binary16: sign, 5 bits of exponent, 10 of fraction.
func randomHalf(source *rand.Rand) uint16 {
	const oneSixteenth, two = 11 << 10, 16 << 10
	return uint16(source.IntN(2))<<15 | uint16(oneSixteenth+source.IntN(two-oneSixteenth))
}

const sectionAlignment = 64

// offsetsOf lays tensors after each other and returns where each begins, and the end.
func offsetsOf(sizes []int64) (offsets []int64, end int64) {
	for _, n := range sizes {
		offsets = append(offsets, end)
		end += (n + sectionAlignment - 1) / sectionAlignment * sectionAlignment
	}
	return offsets, end
}

// writeSections writes the files that the host maps.
func writeSections(job *host.Job, folder string, e *plan.ExecutionPlan, b *batch) error {
	job.Constants.Path = filepath.Join(folder, "constants")
	if err := create(job.Constants.Path, func(w io.Writer) error {
		return writeConstants(w, &job.Constants, e)
	}); err != nil {
		return err
	}
	bytes := func(list []plan.Operand) (sizes []int64) {
		for _, o := range list {
			sizes = append(sizes, e.Buffers[o.Buffer].Bytes)
		}
		return sizes
	}
	sizes := bytes(e.Inputs)
	job.Inputs.Path = filepath.Join(folder, "inputs")
	job.Inputs.Offsets, job.Inputs.Bytes = offsetsOf(sizes)
	err := create(job.Inputs.Path, func(w io.Writer) error { return writeInputs(w, sizes, b) })
	if err != nil {
		return err
	}
	job.Outputs.Path = filepath.Join(folder, "outputs")
	job.Outputs.Offsets, job.Outputs.Bytes = offsetsOf(bytes(e.Outputs))
	return create(job.Outputs.Path, func(w io.Writer) error {
		return w.(interface{ Truncate(int64) error }).Truncate(job.Outputs.Bytes * int64(b.samples))
	})
}

// writeConstants writes each content once, however many constants share it.
func writeConstants(w io.Writer, s *host.Section, e *plan.ExecutionPlan) error {
	type content struct {
		start *byte
		bytes int
	}
	written := map[content]int64{}
	buffered := bufio.NewWriterSize(w, 1<<20)
	end := int64(0)
	for i := range e.Buffers {
		if e.Buffers[i].Kind != plan.Constant {
			continue
		}
		data := e.Buffers[i].Constant.Data
		key := content{unsafe.SliceData(data), len(data)}
		at, known := written[key]
		if !known {
			at, written[key] = end, end
			if err := writePadded(buffered, data); err != nil {
				return err
			}
			end += (int64(len(data)) + sectionAlignment - 1) / sectionAlignment * sectionAlignment
		}
		s.Offsets = append(s.Offsets, at)
	}
	return buffered.Flush()
}

func writeInputs(w io.Writer, sizes []int64, b *batch) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	for sample := range b.samples {
		for i, n := range sizes {
			if err := writePadded(buffered, b.sample(i, sample, n)); err != nil {
				return err
			}
		}
	}
	return buffered.Flush()
}

func writePadded(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	var zeros [sectionAlignment]byte
	_, err := w.Write(zeros[:(sectionAlignment-len(data)%sectionAlignment)%sectionAlignment])
	return err
}

// gather returns one output of all samples, along an axis of their own. Its shape is
// that of the operand: the buffer may have been made for a value of another shape, in
// whose place the output was written.
func gather(content []byte, s *host.Section, output int, e *plan.ExecutionPlan, samples int) graph.Tensor {
	o := &e.Outputs[output]
	about := &e.Buffers[o.Buffer]
	t := graph.Tensor{DType: about.DType, Shape: append([]int64{int64(samples)}, o.View.Shape...)}
	for sample := range samples {
		start := int64(sample)*s.Bytes + s.Offsets[output]
		t.Data = append(t.Data, content[start:start+about.Bytes]...)
	}
	return t
}

// preview shows the first elements.
func preview(t graph.Tensor) string {
	const shown = 6
	var b strings.Builder
	n := graph.Elements(t.Shape)
	for i := range min(n, shown) {
		format := "%v "
		if _, float := t.Number(i).(float64); float {
			format = "%.4g "
		}
		fmt.Fprintf(&b, format, t.Number(i))
	}
	if n > shown {
		b.WriteString("...")
	}
	return strings.TrimSpace(b.String())
}
