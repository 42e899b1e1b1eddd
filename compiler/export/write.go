// Package export writes execution plans for other programs: as JSON, and as a C
// header with the place of every buffer.
//
// Functions here only read the plans that they are given and keep nothing: any
// number of goroutines may call them. docs/planner-artefacts.md documents the
// forms.
package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// Version is the number under "tl_plan" in the JSON form. It changes when a reader
// of the former version would misunderstand the new one.
const Version = 1

// Content tells whether the bytes of constants are part of the JSON form.
type Content bool

// Without content, a plan with large weights stays small.
const (
	WithoutContent Content = false
	WithContent    Content = true
)

// WriteJSON writes the plan to w. Equal plans give equal bytes. There is one line
// for each operand, buffer and instruction, so that line tools can compare plans.
// The plan stays the caller's. An error is w's, or names the part of the plan that
// the form cannot express: an unknown element type, kind, or type of attribute.
func WriteJSON(w io.Writer, p *plan.ExecutionPlan, content Content) error {
	if p == nil {
		return fmt.Errorf("tl_plan: there is no plan (nil) to write")
	}
	form, err := formOf(p, content)
	if err != nil {
		return fmt.Errorf("tl_plan: %w", err)
	}
	out := bufio.NewWriter(w)
	if err := writeForm(out, form); err != nil {
		return err
	}
	return out.Flush()
}

func writeForm(out *bufio.Writer, f planForm) error {
	fmt.Fprintf(out, "{\n\"tl_plan\": %d", f.Version)
	for _, part := range []struct {
		name  string
		value any
	}{{"name", f.Name}, {"symbols", f.Symbols}, {"frame", f.Frame}, {"outside", f.Outside}} {
		if part.value == int64(0) { // there is no second space
			continue
		}
		text, err := compact(part.value)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, ",\n%q: %s", part.name, text)
	}
	err := writeList(out, "inputs", f.Inputs)
	if err == nil {
		err = writeList(out, "outputs", f.Outputs)
	}
	if err == nil {
		err = writeList(out, "buffers", f.Buffers)
	}
	if err == nil {
		err = writeList(out, "instructions", f.Instructions)
	}
	if err == nil && f.Symbolic != nil {
		var text []byte
		text, err = compact(f.Symbolic)
		fmt.Fprintf(out, ",\n\"symbolic\": %s", text)
	}
	out.WriteString("\n}\n")
	return err
}

func writeList[T any](out *bufio.Writer, name string, list []T) error {
	fmt.Fprintf(out, ",\n%q: [", name)
	separator := "\n"
	for _, element := range list {
		text, err := compact(element)
		if err != nil {
			return err
		}
		out.WriteString(separator)
		out.Write(text)
		separator = ",\n"
	}
	_, err := out.WriteString("]")
	return err
}

// compact is json.Marshal with <, > and & as they are.
func compact(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func formOf(p *plan.ExecutionPlan, content Content) (planForm, error) {
	f := planForm{
		Version: Version, Name: p.Name, Symbols: p.Symbols, Frame: frameOf(p.Frame), Outside: p.Outside,
		Inputs: operandsOf(p.Inputs), Outputs: operandsOf(p.Outputs), Symbolic: symbolicOf(p.Symbolic),
	}
	f.Buffers, f.Instructions = []bufferForm{}, []instructionForm{}
	if f.Symbols == nil {
		f.Symbols = map[string]int64{}
	}
	for i := range p.Buffers {
		b, err := bufferOf(&p.Buffers[i], content)
		if err != nil {
			return f, fmt.Errorf("buffers[%d] %q: %w", i, p.Buffers[i].Name, err)
		}
		f.Buffers = append(f.Buffers, b)
	}
	for i := range p.Instructions {
		in, err := instructionOf(&p.Instructions[i], content)
		if err != nil {
			return f, fmt.Errorf("instructions[%d] %q: %w", i, p.Instructions[i].Node, err)
		}
		f.Instructions = append(f.Instructions, in)
	}
	return f, nil
}

func frameOf(f plan.Frame) frameForm {
	return frameForm{
		Bytes: f.Bytes, Alignment: f.Alignment, LowerBound: f.LowerBound, Optimal: f.Optimal,
		NaiveBytes: f.NaiveBytes, Order: orderForm(f.Order),
	}
}

func bufferOf(b *plan.Buffer, content Content) (bufferForm, error) {
	f := bufferForm{
		Name: b.Name, Kind: KindName(b.Kind), DType: b.DType.String(), Shape: full(b.Shape), Bytes: b.Bytes,
		First: b.First, Last: b.Last, Values: full(b.Values), Outside: b.Outside,
	}
	if b.Offset >= 0 {
		f.Offset = &b.Offset
	}
	if kindNames[b.Kind] == "" {
		return f, fmt.Errorf("kind %d is not known", b.Kind)
	}
	if b.DType.Bytes() == 0 {
		return f, fmt.Errorf("element type %d is not known", b.DType)
	}
	if content == WithContent && b.Constant != nil {
		constant, err := tensorOf(b.Constant)
		f.Constant = constant
		return f, err
	}
	return f, nil
}

func tensorOf(t *graph.Tensor) (*tensorForm, error) {
	if t.DType.Bytes() == 0 {
		return nil, fmt.Errorf("element type %d of a tensor is not known", t.DType)
	}
	return &tensorForm{DType: t.DType.String(), Shape: full(t.Shape), Data: full(t.Data)}, nil
}

func instructionOf(in *plan.Instruction, content Content) (instructionForm, error) {
	f := instructionForm{
		Node: in.Node, Op: in.Op, Attrs: map[string]attrForm{},
		Inputs: operandsOf(in.Inputs), Outputs: operandsOf(in.Outputs),
	}
	for name, value := range in.Attrs {
		a, err := attrOf(value)
		if err != nil {
			return f, fmt.Errorf("attribute %q: %w", name, err)
		}
		f.Attrs[name] = a
	}
	if in.Scratch != nil {
		f.Scratch = &operandsOf([]plan.Operand{*in.Scratch})[0]
	}
	for k := range in.Bodies {
		b := &in.Bodies[k]
		p, err := formOf(b.Plan, content)
		if err != nil {
			return f, fmt.Errorf("body %q: %w", b.Name, err)
		}
		f.Bodies = append(f.Bodies, bodyForm{Name: b.Name, Frame: b.Frame, Inputs: full(b.Inputs),
			Outputs: full(b.Outputs), Captures: full(b.Captures), Plan: p})
	}
	return f, nil
}

func attrOf(value any) (attrForm, error) {
	switch v := value.(type) {
	case int64:
		return attrForm{Int: &v}, nil
	case float64:
		return attrForm{Float: (*number)(&v)}, nil
	case string:
		return attrForm{String: &v}, nil
	case []int64:
		v = full(v)
		return attrForm{Ints: &v}, nil
	case []float64:
		list := make([]number, len(v))
		for i, f := range v {
			list[i] = number(f)
		}
		return attrForm{Floats: &list}, nil
	case []string:
		v = full(v)
		return attrForm{Strings: &v}, nil
	case graph.Tensor:
		t, err := tensorOf(&v)
		return attrForm{Tensor: t}, err
	}
	return attrForm{}, fmt.Errorf("a value of type %T is none of the types of graph.Attrs", value)
}

func operandsOf(operands []plan.Operand) []operandForm {
	list := make([]operandForm, 0, len(operands))
	for _, o := range operands {
		list = append(list, operandForm{
			Name: o.Name, Buffer: o.Buffer, Shape: full(o.View.Shape), Strides: full(o.View.Strides),
			Offset: o.View.Offset,
		})
	}
	return list
}

// full returns an empty list for nil, which JSON would call null.
func full[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
