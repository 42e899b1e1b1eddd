package flow

import (
	"fmt"

	"tlruntime/compiler/lower/ir"
)

// Build returns the graphs of a verified program's functions, in their order.
func Build(info *ir.Info) []*Function {
	functions := make([]*Function, len(info.Program.Functions))
	for i, f := range info.Program.Functions {
		functions[i] = build(info, f)
	}
	return functions
}

type builder struct {
	*Function
	info   *ir.Info
	block  *Block           // nil where control does not come
	scope  int              // the innermost
	names  []map[string]Var // the variables in sight, by scope
	scopes []int            // the scope of each of names
	loops  []loop
}

type loop struct {
	scope, header int
	breaks        []*Block // they jump to what follows the loop
}

func build(info *ir.Info, f *ir.Function) *Function {
	b := &builder{Function: &Function{Program: info.Program, Symbol: f.Symbol(), Params: len(f.Params),
		Result: f.Result,
		taken:  map[string]bool{}}, info: info, scope: NoScope}
	b.start()
	b.enter(FunctionScope, NoVar)
	for _, p := range f.Params {
		b.declare(p.Name, p.Type)
	}
	b.list(f.Body)
	if b.block != nil {
		b.emit(Op{Code: Return, Dst: NoVar})
	}
	return b.Function
}

// start begins a block and returns its number.
func (b *builder) start() int {
	b.block = &Block{}
	b.Blocks = append(b.Blocks, b.block)
	return len(b.Blocks) - 1
}

func (b *builder) emit(o Op) {
	o.Scope = b.scope
	if !o.MakesTensor() {
		o.Slot = Heap
	}
	b.block.Ops = append(b.block.Ops, o)
}

// jump ends the block; successors that are not known yet are added later.
func (b *builder) jump(successors ...int) *Block {
	from := b.block
	b.emit(Op{Code: Jump, Dst: NoVar})
	from.Successors = successors
	b.block = nil
	return from
}

func (b *builder) branch(cond Operand) *Block {
	from := b.block
	b.emit(Op{Code: Branch, Dst: NoVar, Args: []Operand{cond}})
	b.block = nil
	return from
}

// enter opens a scope.
func (b *builder) enter(kind ScopeKind, target Var) int {
	b.Scopes = append(b.Scopes, Scope{Kind: kind, Parent: b.scope, Target: target,
		Runtime: kind == FunctionScope || kind == BlockScope || kind == LoopScope})
	b.scope = len(b.Scopes) - 1
	b.names = append(b.names, map[string]Var{})
	b.scopes = append(b.scopes, b.scope)
	if kind != FunctionScope {
		b.emit(Op{Code: Open, Dst: NoVar, Index: int64(b.scope)})
	}
	return b.scope
}

// leave closes the innermost scope, if control comes here.
func (b *builder) leave() {
	if b.block != nil {
		b.emit(Op{Code: Close, Dst: NoVar, Index: int64(b.scope)})
	}
	b.scope = b.Scopes[b.scope].Parent
	b.names = b.names[:len(b.names)-1]
	b.scopes = b.scopes[:len(b.scopes)-1]
}

// closeThrough closes the scopes from the innermost to outermost on a way out.
func (b *builder) closeThrough(outermost int) {
	for s := b.scope; ; s = b.Scopes[s].Parent {
		b.emit(Op{Code: Close, Dst: NoVar, Index: int64(s)})
		if s == outermost {
			return
		}
	}
}

// variable adds a variable. A name that is taken gets a number; a temporary has
// nothing but a number.
func (f *Function) variable(name string, t ir.Type, scope int) Var {
	switch {
	case name == "":
		name = fmt.Sprintf("%%%d", len(f.Vars))
	case f.taken[name]:
		name = fmt.Sprintf("%s.%d", name, len(f.Vars))
	}
	f.taken[name] = true
	f.Vars = append(f.Vars, Variable{name, t, scope})
	v := Var(len(f.Vars) - 1)
	f.Scopes[scope].Vars = append(f.Scopes[scope].Vars, v)
	return v
}

// declare adds a named variable to the innermost scope.
func (b *builder) declare(name string, t ir.Type) Var {
	v := b.variable(name, t, b.scope)
	b.names[len(b.names)-1][name] = v
	return v
}

func (b *builder) lookup(name string) Var {
	for i := len(b.names) - 1; ; i-- {
		if v, known := b.names[i][name]; known {
			return v
		}
	}
}

func (b *builder) list(list []ir.Stmt) {
	for _, s := range list {
		b.statement(s)
	}
}

func (b *builder) statement(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Let:
		b.let(s)
	case *ir.Assign:
		b.assign(b.lookup(s.Name), s.Value)
	case *ir.SetField:
		b.setField(s)
	case *ir.SetElement:
		b.setElement(s)
	case *ir.Push:
		v := b.lookup(s.Name)
		b.emit(Op{Code: Push, Dst: v, Args: b.values(s.Value), Type: b.Vars[v].Type})
	case *ir.Pop:
		v := b.lookup(s.Name)
		b.emit(Op{Code: Pop, Dst: v, Type: b.Vars[v].Type})
	case *ir.If:
		b.ifElse(s)
	case *ir.While:
		b.while(s)
	case *ir.Block:
		b.enter(BlockScope, NoVar)
		b.list(s.Body)
		b.leave()
	default:
		b.leaving(s)
	}
}

// let declares the variable after its value was computed, which may read another
// one of that name.
func (b *builder) let(s *ir.Let) {
	v := b.variable(s.Name, b.info.Types[s.Value], b.scope)
	b.assign(v, s.Value)
	b.names[len(b.names)-1][s.Name] = v
}

// assign gives a variable a value, in a scope of the statement's own when the
// variable is counted.
func (b *builder) assign(v Var, value ir.Expr) {
	if !b.Vars[v].Type.Counted() {
		b.define(v, value)
		return
	}
	b.enter(StatementScope, v)
	b.define(v, value)
	b.leave()
}

func (b *builder) setField(s *ir.SetField) {
	v := b.lookup(s.Name)
	t := b.Vars[v].Type
	field := b.info.Program.Struct(t.Name).Field(s.Field)
	b.emit(Op{Code: SetField, Dst: v, Args: []Operand{b.value(s.Value)}, Index: int64(field), Type: t})
}

func (b *builder) setElement(s *ir.SetElement) {
	v := b.lookup(s.Name)
	o := Op{Code: SetElement, Dst: v, Type: b.Vars[v].Type}
	if o.Type.Kind == ir.Vec {
		o.Code = SetAt
	}
	at := b.value(s.Index)
	o.Args = []Operand{b.value(s.Value), at}
	b.emit(o)
}

// leaving builds calls and what goes elsewhere.
func (b *builder) leaving(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Do:
		dst := NoVar
		if t := b.info.Types[s.Call]; t.Kind != ir.Void {
			dst = b.Temp(t, b.scope)
		}
		b.define(dst, s.Call)
	case *ir.Return:
		var args []Operand
		if s.Value != nil {
			args = []Operand{b.value(s.Value)}
		}
		b.emit(Op{Code: Return, Dst: NoVar, Args: args})
		b.block = nil
	case *ir.Continue:
		l := b.loops[len(b.loops)-1]
		b.closeThrough(l.scope)
		b.jump(l.header)
	case *ir.Break:
		l := &b.loops[len(b.loops)-1]
		b.closeThrough(l.scope)
		l.breaks = append(l.breaks, b.jump())
	}
}

func (b *builder) ifElse(s *ir.If) {
	from := b.branch(b.value(s.Cond))
	ends := []*Block{b.arm(from, s.Then), nil}
	if len(s.Else) > 0 {
		ends[1] = b.arm(from, s.Else)
	} else {
		ends[1] = from
	}
	if ends[0] == nil && ends[1] == nil {
		return
	}
	next := b.start()
	for _, end := range ends {
		if end != nil {
			end.Successors = append(end.Successors, next)
		}
	}
}

// arm builds a branch of an if and returns the block that leaves it, if one does.
func (b *builder) arm(from *Block, list []ir.Stmt) *Block {
	from.Successors = append(from.Successors, b.start())
	b.enter(BranchScope, NoVar)
	b.list(list)
	b.leave()
	if b.block == nil {
		return nil
	}
	return b.jump()
}

// while builds a loop. The condition has a scope of its own around that of the body,
// so that the runtime opens the one that is needed.
func (b *builder) while(s *ir.While) {
	b.jump(len(b.Blocks))
	header := b.start()
	scope := b.enter(LoopScope, NoVar)
	b.loops = append(b.loops, loop{scope: scope, header: header})
	test := b.branch(b.value(s.Cond))

	test.Successors = []int{b.start()}
	b.enter(BlockScope, NoVar)
	b.list(s.Body)
	b.leave()
	if b.block != nil {
		b.closeThrough(scope)
		b.jump(header)
	}

	test.Successors = append(test.Successors, b.start())
	b.leave()
	exits := append(b.loops[len(b.loops)-1].breaks, b.jump())
	b.loops = b.loops[:len(b.loops)-1]
	next := b.start()
	for _, exit := range exits {
		exit.Successors = []int{next}
	}
}
