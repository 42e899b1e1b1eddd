// Package programs makes random programs of package ir from its grammar, for tests:
// well typed, and ending after a bounded number of steps, however many those are.
//
//	programs.go     structs, functions and the root
//	statements.go   statements
//	expressions.go  expressions
package programs

import (
	"fmt"
	"math/rand"

	"tlruntime/compiler/lower/ir"
)

// Make returns a program and its root, a function without parameters that returns
// an int or a float. All names begin with prefix. The same arguments give the same
// program.
func Make(seed int64, prefix string) (p *ir.Program, root string) {
	g := &generator{rnd: rand.New(rand.NewSource(seed)), prefix: prefix, program: &ir.Program{},
		cells: seed%2 == 0}
	g.structs()
	g.signatures()
	for _, f := range g.program.Functions {
		g.body(f)
	}
	g.root()
	return g.program, prefix + "root"
}

// variable is one that a statement can see.
type variable struct {
	ir.Variable
	fixed bool // counts a loop, or the fuel: not to be assigned to
}

type generator struct {
	rnd     *rand.Rand
	prefix  string
	program *ir.Program
	cells   bool // no vec has structs, so that all structs can be cells: in every second program

	tensors  []ir.Type
	vecs     []ir.Type
	function *ir.Function
	scopes   [][]variable
	names    int
	loops    int
	budget   int // statements that may still be made in the function
}

// chance is true in so many of a hundred cases.
func (g *generator) chance(percent int) bool { return g.rnd.Intn(100) < percent }

func pick[T any](g *generator, from []T) T { return from[g.rnd.Intn(len(from))] }

func (g *generator) structs() {
	g.tensors = []ir.Type{ir.TensorType(ir.F64, 3), ir.TensorType(ir.F32, 2, 2), ir.TensorType(ir.F64)}
	for i := range 1 + g.rnd.Intn(3) {
		g.program.Structs = append(g.program.Structs, &ir.StructDef{Name: fmt.Sprintf("%sS%d", g.prefix, i)})
	}
	first := ir.VecType(ir.StructType(g.program.Structs[0].Name))
	if g.cells {
		first = ir.VecType(g.tensors[0])
	}
	g.vecs = []ir.Type{first, ir.VecType(pick(g, g.tensors)), ir.VecType(first)}
	for _, s := range g.program.Structs {
		for i := range 1 + g.rnd.Intn(5) {
			s.Fields = append(s.Fields, ir.Variable{Name: fmt.Sprintf("f%d", i), Type: g.anyType()})
		}
	}
}

// anyType prefers what is counted.
func (g *generator) anyType() ir.Type {
	switch n := g.rnd.Intn(10); {
	case n < 2:
		return ir.IntType
	case n < 3:
		return ir.FloatType
	case n < 5:
		return pick(g, g.tensors)
	case n < 7:
		return pick(g, g.vecs)
	}
	return ir.StructType(pick(g, g.program.Structs).Name)
}

// signatures declares the functions. Each has a parameter for how deep it may still
// call, so that recursions end.
func (g *generator) signatures() {
	for i := range 1 + g.rnd.Intn(5) {
		f := &ir.Function{Name: fmt.Sprintf("%sfn%d", g.prefix, i), Result: g.anyType()}
		if g.chance(40) {
			f.Receiver = pick(g, g.program.Structs).Name
			f.Params = append(f.Params, ir.Variable{Name: "self", Type: ir.StructType(f.Receiver)})
		}
		f.Params = append(f.Params, ir.Variable{Name: "fuel", Type: ir.IntType})
		for j := range g.rnd.Intn(4) {
			f.Params = append(f.Params, ir.Variable{Name: fmt.Sprintf("p%d", j), Type: g.anyType()})
		}
		if g.chance(10) {
			f.Result = ir.VoidType
		}
		g.program.Functions = append(g.program.Functions, f)
	}
}

func (g *generator) body(f *ir.Function) {
	g.function, g.names, g.loops, g.budget = f, 0, 0, 6+g.rnd.Intn(20)
	g.scopes = [][]variable{nil}
	for _, p := range f.Params {
		g.scopes[0] = append(g.scopes[0], variable{p, p.Name == "fuel"})
	}
	out := &ir.If{Cond: &ir.Binary{Op: ir.Le, Left: &ir.Var{Name: "fuel"}, Right: &ir.IntLit{}}}
	out.Then = []ir.Stmt{g.giveUp()}
	f.Body = []ir.Stmt{out}
	g.scopes = append(g.scopes, nil)
	for range 1 + g.rnd.Intn(8) {
		if s := g.statement(0); s != nil && !ir.Ends(f.Body) {
			f.Body = append(f.Body, s)
		}
	}
	if f.Result.Kind != ir.Void && !ir.Ends(f.Body) {
		f.Body = append(f.Body, &ir.Return{Value: g.expr(f.Result, 2)})
	}
}

// giveUp is the return of a function that may call no deeper.
func (g *generator) giveUp() ir.Stmt {
	if g.function.Result.Kind == ir.Void {
		return &ir.Return{}
	}
	return &ir.Return{Value: g.leaf(g.function.Result)}
}

// root calls the functions and observes what they return.
func (g *generator) root() {
	f := &ir.Function{Name: g.prefix + "root", Result: ir.IntType}
	if g.chance(40) {
		f.Result = ir.FloatType
	}
	g.function, g.names, g.loops, g.budget = f, 0, 0, 25
	fuel := &ir.Let{Name: "fuel", Value: &ir.IntLit{Value: int64(2 + g.rnd.Intn(2))}}
	g.scopes = [][]variable{{{ir.Variable{Name: "fuel", Type: ir.IntType}, true}}}
	f.Body = []ir.Stmt{fuel}
	for range 4 {
		if s := g.let(); s != nil {
			f.Body = append(f.Body, s)
		}
	}
	f.Body = append(f.Body, g.unended(12)...)
	f.Body = append(f.Body, &ir.Return{Value: g.observe(f.Result)})
	g.program.Functions = append(g.program.Functions, f)
}

// unended is statements of which none leaves the function at the top.
func (g *generator) unended(n int) (list []ir.Stmt) {
	for range n {
		if s := g.statement(1); s != nil && !ir.Ends([]ir.Stmt{s}) {
			list = append(list, s)
		}
	}
	return list
}

// observe is a number that depends on every variable in sight.
func (g *generator) observe(t ir.Type) ir.Expr {
	var total ir.Expr = zero(t)
	for _, v := range g.scopes[0] {
		for range 2 {
			seen, seenType := g.look(&ir.Var{Name: v.Name}, v.Type, 4)
			if seenType != t {
				seen = &ir.Convert{To: t.Kind, Value: seen}
			}
			total = &ir.Binary{Op: ir.Add, Left: total, Right: seen}
		}
	}
	return total
}
