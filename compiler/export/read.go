package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// ReadJSON reads a plan that WriteJSON wrote. The plan is the caller's and owns all
// it holds; its lists are empty where the plan written had nil.
//
// It refuses what is not of this form: another version, unknown members, indices
// and lifetimes outside the lists that they point into, buffers outside the frame,
// tensors with too few bytes. It cannot tell whether two buffers that are alive at
// once share bytes on purpose, nor whether a view stays inside its buffer, whose
// element type may differ from the operand's.
func ReadJSON(r io.Reader) (*plan.ExecutionPlan, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("tl_plan: %w", err)
	}
	if err := checkVersion(text); err != nil {
		return nil, fmt.Errorf("tl_plan: %w", err)
	}
	var form planForm
	if err := strict(text, &form); err != nil {
		return nil, fmt.Errorf("tl_plan: %w", err)
	}
	p, err := planOf(&form)
	if err != nil {
		return nil, fmt.Errorf("tl_plan: %w", err)
	}
	return p, nil
}

// checkVersion comes before everything else: members of another version mean
// nothing here, and complaints about them would mislead.
func checkVersion(text []byte) error {
	var head struct {
		Version *int `json:"tl_plan"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("this is not JSON of a plan: %w", err)
	}
	if head.Version == nil {
		return errors.New(`the member "tl_plan" is missing; this is not a plan, or not by WriteJSON`)
	}
	if *head.Version != Version {
		return fmt.Errorf("version %d; this reader knows version %d alone: write the plan again", *head.Version,
			Version)
	}
	return nil
}

// strict knows no members but the form's. Text after the end was refused by
// checkVersion.
func strict(text []byte, form *planForm) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(form)
}

func planOf(f *planForm) (*plan.ExecutionPlan, error) {
	p := &plan.ExecutionPlan{
		Name: f.Name, Symbols: f.Symbols, Frame: plan.Frame{
			Bytes: f.Frame.Bytes, Alignment: f.Frame.Alignment, LowerBound: f.Frame.LowerBound,
			Optimal: f.Frame.Optimal, NaiveBytes: f.Frame.NaiveBytes, Order: plan.Order(f.Frame.Order),
		},
		Outside:      f.Outside,
		Buffers:      make([]plan.Buffer, len(f.Buffers)),
		Instructions: make([]plan.Instruction, len(f.Instructions)),
	}
	if p.Symbols == nil {
		p.Symbols = map[string]int64{}
	}
	if err := checkFrame(&p.Frame); err != nil {
		return nil, fmt.Errorf("frame: %w", err)
	}
	if p.Outside < 0 {
		return nil, fmt.Errorf("outside: %d is negative", p.Outside)
	}
	for i := range f.Buffers {
		if err := readBuffer(&p.Buffers[i], &f.Buffers[i], p); err != nil {
			return nil, fmt.Errorf("buffers[%d] %q: %w", i, f.Buffers[i].Name, err)
		}
	}
	for i := range f.Instructions {
		if err := readInstruction(&p.Instructions[i], &f.Instructions[i], len(p.Buffers)); err != nil {
			return nil, fmt.Errorf("instructions[%d] %q: %w", i, f.Instructions[i].Node, err)
		}
	}
	var err error
	if p.Inputs, err = readOperands(f.Inputs, len(p.Buffers)); err != nil {
		return nil, fmt.Errorf("inputs%w", err)
	}
	if p.Outputs, err = readOperands(f.Outputs, len(p.Buffers)); err != nil {
		return nil, fmt.Errorf("outputs%w", err)
	}
	if f.Symbolic != nil {
		if p.Symbolic, err = readSymbolic(f.Symbolic, p); err != nil {
			return nil, fmt.Errorf("symbolic: %w", err)
		}
	}
	return p, nil
}

func checkFrame(f *plan.Frame) error {
	for _, figure := range []struct {
		name  string
		value int64
	}{
		{"bytes", f.Bytes}, {"lower_bound", f.LowerBound}, {"naive_bytes", f.NaiveBytes},
		{"order.given_peak", f.Order.GivenPeak}, {"order.peak", f.Order.Peak},
	} {
		if figure.value < 0 {
			return fmt.Errorf("%s: %d is negative", figure.name, figure.value)
		}
	}
	if f.Alignment <= 0 || f.Alignment&(f.Alignment-1) != 0 {
		return fmt.Errorf("alignment: %d is not a power of two", f.Alignment)
	}
	return nil
}

func readBuffer(b *plan.Buffer, f *bufferForm, p *plan.ExecutionPlan) (err error) {
	*b = plan.Buffer{
		Name: f.Name, Shape: full(f.Shape), Bytes: f.Bytes, First: f.First, Last: f.Last,
		Offset: -1, Outside: f.Outside, Values: full(f.Values),
	}
	if f.Offset != nil {
		b.Offset = *f.Offset
	}
	if b.Kind, err = parseKind(f.Kind); err != nil {
		return err
	}
	if b.DType, err = parseDType(f.DType); err != nil {
		return err
	}
	if f.First < -1 || f.Last < f.First || f.Last > len(p.Instructions) {
		return fmt.Errorf("first %d, last %d: -1 <= first <= last <= %d, the number of instructions, is needed",
			f.First, f.Last, len(p.Instructions))
	}
	if f.Constant != nil {
		if b.Constant, err = readTensor(f.Constant); err != nil {
			return fmt.Errorf("constant: %w", err)
		}
	}
	return checkPlace(f, &p.Frame, p.Outside)
}

func checkPlace(f *bufferForm, frame *plan.Frame, outside int64) error {
	if f.Bytes < 0 {
		return fmt.Errorf("bytes: %d is negative", f.Bytes)
	}
	if inside := f.Kind != kindNames[plan.Outside]; inside && f.Outside != 0 ||
		!inside && (f.Offset != nil || f.Outside < 0 || f.Outside > outside-f.Bytes) {
		return fmt.Errorf("outside %d, bytes %d, kind %s: a buffer of kind outside, and no other, lies in the second space, "+
			"which has %d bytes", f.Outside, f.Bytes, f.Kind, outside)
	}
	if _, err := elements(f.Shape); err != nil || f.Offset == nil {
		return err
	}
	if *f.Offset < 0 || *f.Offset > frame.Bytes-f.Bytes {
		return fmt.Errorf("offset %d, bytes %d: outside the frame of %d bytes; null is for buffers that are not in it",
			*f.Offset, f.Bytes, frame.Bytes)
	}
	if *f.Offset%frame.Alignment != 0 {
		return fmt.Errorf("offset: %d is not a multiple of the frame's alignment, %d", *f.Offset, frame.Alignment)
	}
	return nil
}

func readTensor(f *tensorForm) (*graph.Tensor, error) {
	dtype, err := parseDType(f.DType)
	if err != nil {
		return nil, err
	}
	n, err := elements(f.Shape)
	if err != nil {
		return nil, err
	}
	high, want := bits.Mul64(uint64(n), uint64(dtype.Bytes()))
	if high != 0 || want != uint64(len(f.Data)) {
		return nil, fmt.Errorf("data: %d bytes for shape %v of %s, which has %d elements of %d", len(f.Data), f.Shape,
			f.DType, n, dtype.Bytes())
	}
	return &graph.Tensor{DType: dtype, Shape: full(f.Shape), Data: full(f.Data)}, nil
}

// elements is graph.Elements for shapes that nobody has checked yet.
func elements(shape []int64) (int64, error) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape: %v has a negative extent", shape)
		}
		if d == 0 {
			return 0, nil
		}
		if n > math.MaxInt64/d {
			return 0, fmt.Errorf("shape: %v has more than 2^63 elements", shape)
		}
		n *= d
	}
	return n, nil
}

func readInstruction(in *plan.Instruction, f *instructionForm, buffers int) (err error) {
	in.Node, in.Op, in.Attrs = f.Node, f.Op, graph.Attrs{}
	for name, a := range f.Attrs {
		if in.Attrs[name], err = readAttr(&a); err != nil {
			return fmt.Errorf("attribute %q: %w", name, err)
		}
	}
	if in.Inputs, err = readOperands(f.Inputs, buffers); err != nil {
		return fmt.Errorf("inputs%w", err)
	}
	if in.Outputs, err = readOperands(f.Outputs, buffers); err != nil {
		return fmt.Errorf("outputs%w", err)
	}
	if f.Scratch != nil {
		scratch, err := readOperands([]operandForm{*f.Scratch}, buffers)
		if err != nil {
			return fmt.Errorf("scratch%w", err)
		}
		in.Scratch = &scratch[0]
	}
	return readBodies(in, f)
}

// readBodies reads plans within a plan. Where they lie is for plan.Validate.
func readBodies(in *plan.Instruction, f *instructionForm) error {
	for k := range f.Bodies {
		b := &f.Bodies[k]
		p, err := planOf(&b.Plan)
		if err == nil && b.Plan.Version != Version {
			err = fmt.Errorf("version %d; this reader knows version %d alone", b.Plan.Version, Version)
		}
		if err != nil {
			return fmt.Errorf("bodies[%d] %q: %w", k, b.Name, err)
		}
		in.Bodies = append(in.Bodies, plan.Body{Name: b.Name, Plan: p, Frame: b.Frame, Inputs: full(b.Inputs),
			Outputs: full(b.Outputs), Captures: full(b.Captures)})
	}
	return nil
}

func readAttr(a *attrForm) (any, error) {
	var found []any
	if a.Int != nil {
		found = append(found, *a.Int)
	}
	if a.Float != nil {
		found = append(found, float64(*a.Float))
	}
	if a.String != nil {
		found = append(found, *a.String)
	}
	if a.Ints != nil {
		found = append(found, full(*a.Ints))
	}
	if a.Floats != nil {
		found = append(found, floats(*a.Floats))
	}
	if a.Strings != nil {
		found = append(found, full(*a.Strings))
	}
	if a.Tensor != nil {
		t, err := readTensor(a.Tensor)
		if err != nil {
			return nil, err
		}
		found = append(found, *t)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("it has %d of int, float, string, ints, floats, strings, tensor; one is needed",
			len(found))
	}
	return found[0], nil
}

func floats(list []number) []float64 {
	values := make([]float64, len(list))
	for i, n := range list {
		values[i] = float64(n)
	}
	return values
}

func readOperands(list []operandForm, buffers int) ([]plan.Operand, error) {
	operands := make([]plan.Operand, 0, len(list))
	for i, f := range list {
		if f.Buffer < -1 || f.Buffer >= buffers {
			return nil, fmt.Errorf("[%d] %q: buffer %d; there are %d, and -1 stands for none", i, f.Name, f.Buffer,
				buffers)
		}
		if len(f.Shape) != len(f.Strides) {
			return nil, fmt.Errorf("[%d] %q: %d extents, %d strides; each axis has one of both", i, f.Name,
				len(f.Shape), len(f.Strides))
		}
		operands = append(operands, plan.Operand{Name: f.Name, Buffer: f.Buffer,
			View: view.View{Shape: full(f.Shape), Strides: full(f.Strides), Offset: f.Offset}})
	}
	return operands, nil
}
