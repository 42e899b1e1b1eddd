// Package interp runs programs of package ir by copying: every variable, field and
// argument has a value of its own, and nothing is ever shared. It is what the
// lowering is tested against, and is neither fast nor sparing.
package interp

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"tlruntime/compiler/lower/ir"
)

// ErrExtern is returned for a run that calls a function of another module.
var ErrExtern = errors.New("the run calls an extern function, which has no body to run")

// ErrLimit is returned for a run that takes more steps than allowed.
var ErrLimit = errors.New("the run takes too many steps")

// Run calls a function without parameters and returns its result: an int64, a
// float64, or nil for any other type. Each statement, expression and copied object is a
// step; limit bounds them, so that every run ends. The program must be verified.
func Run(info *ir.Info, symbol string, limit int) (result any, err error) {
	f := info.Symbols[symbol]
	if f == nil || len(f.Params) > 0 {
		return nil, fmt.Errorf("there is no function %s without parameters", symbol)
	}
	m := &machine{info: info, steps: limit}
	defer func() {
		switch r := recover(); r {
		case nil:
		case ErrLimit, ErrExtern:
			result, err = nil, r.(error)
		default:
			panic(r)
		}
	}()
	switch v := m.call(f, nil).(type) {
	case int64, float64:
		return v, nil
	}
	return nil, nil
}

// machine is a run.
type machine struct {
	info  *ir.Info
	steps int
	depth int
}

// maxDepth bounds the calls that are under way.
const maxDepth = 10_000

func (m *machine) step(n int) {
	if m.steps -= n; m.steps < 0 || m.depth > maxDepth {
		panic(ErrLimit)
	}
}

// frame is a call: its variables, by scope.
type frame struct {
	*machine
	scopes []map[string]any
	result any
}

// outcome tells how a statement ended.
type outcome uint8

const (
	onward outcome = iota
	broken
	continued
	returned
)

func (m *machine) call(f *ir.Function, args []any) any {
	if slices.Contains(m.info.Program.Externs, f) {
		panic(ErrExtern)
	}
	m.depth++
	defer func() { m.depth-- }()
	fr := &frame{machine: m, scopes: []map[string]any{{}}}
	for i, p := range f.Params {
		fr.scopes[0][p.Name] = args[i]
	}
	fr.list(f.Body)
	return fr.result
}

func (f *frame) variable(name string) map[string]any {
	for i := len(f.scopes) - 1; ; i-- {
		if _, known := f.scopes[i][name]; known {
			return f.scopes[i]
		}
	}
}

func (f *frame) list(list []ir.Stmt) outcome {
	f.scopes = append(f.scopes, map[string]any{})
	defer func() { f.scopes = f.scopes[:len(f.scopes)-1] }()
	for _, s := range list {
		f.step(1)
		if o := f.statement(s); o != onward {
			return o
		}
	}
	return onward
}

func (f *frame) statement(s ir.Stmt) outcome {
	switch s := s.(type) {
	case *ir.Let:
		v := f.expr(s.Value)
		f.scopes[len(f.scopes)-1][s.Name] = v
	case *ir.Assign:
		v := f.expr(s.Value)
		f.variable(s.Name)[s.Name] = v
	case *ir.SetField:
		f.setField(s)
	case *ir.SetElement, *ir.Push, *ir.Pop:
		f.setElement(s)
	case *ir.Do:
		f.expr(s.Call)
	default:
		return f.control(s)
	}
	return onward
}

func (f *frame) control(s ir.Stmt) outcome {
	switch s := s.(type) {
	case *ir.If:
		if f.truth(s.Cond) {
			return f.list(s.Then)
		}
		return f.list(s.Else)
	case *ir.While:
		return f.while(s)
	case *ir.Block:
		return f.list(s.Body)
	case *ir.Return:
		if s.Value != nil {
			f.result = f.expr(s.Value)
		}
		return returned
	case *ir.Break:
		return broken
	}
	return continued
}

func (f *frame) while(s *ir.While) outcome {
	for f.truth(s.Cond) {
		switch f.list(s.Body) {
		case broken:
			return onward
		case returned:
			return returned
		}
	}
	return onward
}

func (f *frame) truth(e ir.Expr) bool { return f.expr(e).(int64) != 0 }

func (f *frame) setField(s *ir.SetField) {
	v := f.expr(s.Value)
	scope := f.variable(s.Name)
	object := scope[s.Name].(*object)
	if object.fields == nil {
		object.fields = f.zeros(object.def)
	}
	object.fields[object.def.Field(s.Field)] = v
}

func (f *frame) setElement(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.SetElement:
		i, x := f.expr(s.Index).(int64), f.expr(s.Value)
		switch v := f.variable(s.Name)[s.Name].(type) {
		case *tensor:
			v.make()
			if i >= 0 && i < int64(len(v.elements)) {
				v.elements[i] = v.round(x.(float64))
			}
		case *vec:
			v.made = true
			if i >= 0 && i < int64(len(v.elements)) {
				v.elements[i] = x
			}
		}
	case *ir.Push:
		x := f.expr(s.Value)
		v := f.variable(s.Name)[s.Name].(*vec)
		v.made, v.elements = true, append(v.elements, x)
	case *ir.Pop:
		v := f.variable(s.Name)[s.Name].(*vec)
		v.made = true
		if n := len(v.elements); n > 0 {
			v.elements = v.elements[:n-1]
		}
	}
}

// toInt is Convert to Int.
func toInt(x float64) int64 {
	switch {
	case math.IsNaN(x):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
