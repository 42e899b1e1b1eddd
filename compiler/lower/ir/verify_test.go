package ir_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower/internal/programs"
	"tlruntime/compiler/lower/ir"
)

func TestRandomProgramsAreCorrect(t *testing.T) {
	for seed := range int64(300) {
		p, root := programs.Make(seed, "p")
		info, err := ir.Verify(p)
		require.NoError(t, err, "seed %d\n%s", seed, ir.Print(p))
		require.NotNil(t, info.Symbols[root])
	}
}

const world = `
struct P { x: int, y: float, next: P, t: tensor<f64, 2>, v: vec<P> }
extern func print(x: float)
func P.get(self, n: int) -> int { return self.x + n }
func nothing() { return }
func make() -> P { return new P{} }
`

// TestWhatIsWrongIsNamed puts statements into a function and wants the error with
// its function, statement and text.
func TestWhatIsWrongIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		"let a = b":               "statement 1 (let a = b): there is no variable b",
		"let a = 1 let a = 2":     "statement 2 (let a = 2): a is declared twice in this list",
		"let a = 1 a = 2.0":       "statement 2 (a = 2.0): the value is of type float, not int",
		"let a = 1 + 2.0":         "statement 1 (let a = 1 + 2.0): the right operand is of type float, not int",
		"let a = 1.0 % 2.0":       "statement 1 (let a = 1.0 % 2.0): values of type float have no %",
		"let a = make() + make()": "statement 1 (let a = make() + make()): values of type P have no +",
		"let a = zeros tensor<f64, 2> / zeros tensor<f64, 2>": "values of type tensor<f64, 2> have no /; tensors have +, - and *",
		"let a = zeros tensor<f64, 2> + zeros tensor<f64, 3>": "the right operand is of type tensor<f64, 3>, not tensor<f64, 2>",
		"let p = make() p.z = 1":                              "statement 2 (p.z = 1): struct P has no field z",
		"let p = make() p.x = 1.0":                            "the value is of type float, not int",
		"let p = 1 p.x = 1":                                   "a value of type int has no fields",
		"let p = make() p[0] = 1.0":                           "a value of type P has no elements",
		"let t = zeros tensor<f64, 2> t[2] = 1.0":             "statement 2 (t[2] = 1.0): element 2 of tensor<f64, 2>: there are 2",
		"let t = zeros tensor<f64, 2> t[0] = 1":               "the value is of type int, not float",
		"let t = zeros tensor<f64, 0>":                        "extents of tensor<f64, 0> have to be positive",
		"let t = zeros tensor<f64, 65536, 65536>":             "with at most 2147483647 elements in all",
		"let t = zeros tensor<f64,1,1,1,1,1,1,1,1,1>":         "a tensor has at most 8 dimensions, not 9",
		"let t = tensor<f64, 2>[1.0]":                         "tensor<f64, 2> has 2 elements, not 1",
		"let t = zeros int":                                   "int is no type of tensors",
		"let n = none int":                                    "none is of a struct, vec or tensor type, not of int",
		"let n = none Q":                                      "there is no struct Q",
		"let n = 1 is none":                                   "a value of type int is never none",
		"let q = new Q{}":                                     "there is no struct Q",
		"let q = new P{x: 1, x: 2}":                           "field x is given twice",
		"let q = new P{x: 1.5}":                               "field x is of type float, not int",
		"let s = sum(1)":                                      "a sum is over a tensor, not a value of type int",
		"let i = int(1)":                                      "what becomes an int is of type int, not float",
		"let f = float(1.0)":                                  "what becomes a float is of type float, not int",
		"let x = nothing()": "statement 1 (let x = nothing()): nothing returns nothing, and a " +
			"value is needed",
		"let x = nothing() + 1":                     "nothing returns nothing, and a value is needed",
		"let x = make().get()":                      "P.get takes 1 arguments, not 0",
		"let x = make().get(1.0)":                   "argument n is of type float, not int",
		"let x = make().got(1)":                     "there is no function P.got",
		"let x = 1.get(1)":                          "a value of type int has no methods",
		"gone()":                                    "there is no function gone",
		"print(1)":                                  "statement 1 (print(1)): argument x is of type int, not float",
		"let p = make() p = p == p":                 "values of type P have no ==; compare numbers in them, or ask by `is none`",
		"let v = new vec<int>":                      "the elements of a vec are structs, tensors or vecs, not of type int; put numbers into",
		"let v = new vec<Q>":                        "the vec: there is no struct Q",
		"let n = 1 push n, 2":                       "statement 2 (push n, 2): n is of type int; elements are pushed to a vec",
		"let n = 1 pop n":                           "statement 2 (pop n): n is of type int; elements are pushed to a vec and popped",
		"let v = new vec<P> push v, 1":              "the value is of type int, not P",
		"let v = new vec<P> v[1.5] = make()":        "the index is of type float, not int",
		"let v = new vec<P> let p = v[make()]":      "the index is of type P, not int",
		"let v = new vec<P> v[0] = v":               "the value is of type vec<P>, not P",
		"let v = new vec<vec<P>> let p = v[0].x":    "a value of type vec<P> has no fields",
		"let n = len(1)":                            "a value of type int has no length; len is for vecs",
		"push w, 1":                                 "there is no variable w; declare it by let before",
		"if 1.0 { }":                                "statement 1 (if 1.0 {): the condition is of type float, not int",
		"while make() { }":                          "statement 1 (while make() {): the condition is of type P, not int",
		"if 1 { let a = 1 } a = 2":                  "statement 3 (a = 2): there is no variable a",
		"break":                                     "statement 1 (break): there is no loop around it",
		"while 1 { } continue":                      "there is no loop around it",
		"return 1":                                  "statement 1 (return 1): the function returns nothing",
		"while 1 { break let a = 1 }":               "statement 3 (let a = 1): nothing leads here; remove it",
		"if 1 { return } else { return } nothing()": "statement 4 (nothing()): nothing leads here; remove it",
	} {
		if strings.Contains(body, "1.get") {
			body = "let one = 1 let x = one.get(1)"
		}
		p, err := ir.Parse(world + "func f() { " + body + " }")
		require.NoError(t, err, body)
		_, err = ir.Verify(p)
		require.ErrorContains(t, err, want, body)
		require.ErrorContains(t, err, "function f, statement ", body)
		var one *ir.Error
		require.True(t, errors.As(err, &one))
		require.Equal(t, "f", one.Function)
		require.Positive(t, one.Statement)
	}
}

func TestWrongDeclarations(t *testing.T) {
	for text, want := range map[string]string{
		"struct P { x: int } struct P { }":         "struct P is defined twice",
		"struct P { x: int, x: int }":              "struct P has two fields x",
		"struct P { q: Q }":                        "struct P, field q: there is no struct Q",
		"func f() { } func f() { }":                "function f: defined twice",
		"func f(a: int, a: int) { }":               "function f: there are two parameters a",
		"func f(a: Q) { }":                         "function f: parameter a: there is no struct Q",
		"func f() -> Q { return none Q }":          "function f: the result: there is no struct Q",
		"func f() -> int { }":                      "function f: a path ends without a return of int",
		"func f() -> int { if 1 { return 1 } }":    "function f: a path ends without a return of int",
		"func f() -> int { while 1 { return 1 } }": "function f: a path ends without a return of int",
		"func f() -> int { return }":               "a value of type int has to be returned",
		"func Q.f(self) { }":                       "function Q.f: parameter self: there is no struct Q",
	} {
		p, err := ir.Parse(text)
		require.NoError(t, err, text)
		_, err = ir.Verify(p)
		require.ErrorContains(t, err, want, text)
	}
}

// TestTreesThatNoTextHas are made by hand.
func TestTreesThatNoTextHas(t *testing.T) {
	shared := &ir.IntLit{Value: 1}
	var deep ir.Expr = &ir.IntLit{}
	for range 100_000 {
		deep = &ir.Convert{To: ir.Int, Value: deep}
	}
	doubled := deep
	for range 100 {
		doubled = &ir.Binary{Left: doubled, Right: doubled}
	}
	var nested []ir.Stmt
	for range 100_000 {
		nested = []ir.Stmt{&ir.Block{Body: nested}}
	}
	for want, f := range map[string]*ir.Function{
		"a constant has to be finite": {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a", Value: &ir.FloatLit{Value: math.Inf(1)}}}},
		"the node of 1 stands in two places": {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a", Value: &ir.Binary{Left: shared, Right: shared}}}},
		`variable "a b": a name consists of letters`: {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a b", Value: &ir.IntLit{}}}},
		`variable "let": choose a name`: {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "let", Value: &ir.IntLit{}}}},
		`function "": choose a name`: {},
		"<nil> is no statement":      {Name: "f", Body: []ir.Stmt{nil}},
		"<nil> is no expression":     {Name: "f", Body: []ir.Stmt{&ir.Let{Name: "a"}}},
		"conversions are to int and to float": {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a", Value: &ir.Convert{To: ir.Tensor, Value: shared}}}},
		"values of type int have no operator 77": {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a", Value: &ir.Binary{Op: 77, Left: &ir.IntLit{}, Right: &ir.IntLit{}}}}},
		"a statement is no expression but a call":         {Name: "f", Body: []ir.Stmt{&ir.Do{Call: &ir.IntLit{}}}},
		"the first parameter of a method is its receiver": {Name: "f", Receiver: "P"},
		"the result: a tensor has at most 8 dimensions": {Name: "f", Result: ir.TensorType(ir.F32, 1, 1, 1, 1, 1, 1,
			1, 1, 1)},
		"there is no kind 9 of types": {Name: "f",
			Params: []ir.Variable{{Name: "a", Type: ir.Type{Kind: 9}}}},
		"a tensor has at most 8 dimensions, not -1": {Name: "f", Result: ir.Type{Kind: ir.Tensor, Rank: -1}},
		"nested deeper than 10000": {Name: "f",
			Body: []ir.Stmt{&ir.Let{Name: "a", Value: deep}}},
		"statement 9999 (block {): nested deeper than": {Name: "f", Body: nested},
		"a struct or function is nil":                  nil,
		"parameter a has no type":                      {Name: "f", Params: []ir.Variable{{Name: "a"}}},
	} {
		_, err := ir.Verify(&ir.Program{Functions: []*ir.Function{f}})
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 100_000)
	}
}
