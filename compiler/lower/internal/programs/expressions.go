package programs

import (
	"slices"

	"tlruntime/compiler/lower/ir"
)

func zero(t ir.Type) ir.Expr {
	if t.Kind == ir.Int {
		return &ir.IntLit{}
	}
	return &ir.FloatLit{}
}

// leaf is an expression that calls nothing: a variable, a constant, something new.
func (g *generator) leaf(t ir.Type) ir.Expr {
	same := g.visible(func(v variable) bool { return v.Type == t })
	if len(same) > 0 && g.chance(75) {
		return &ir.Var{Name: pick(g, same).Name}
	}
	switch {
	case t.Kind == ir.Int:
		return &ir.IntLit{Value: g.rnd.Int63n(9) - 2}
	case t.Kind == ir.Float:
		return &ir.FloatLit{Value: float64(g.rnd.Intn(33)-8) / 4}
	case g.chance(15):
		return &ir.None{Type: t}
	case t.Kind == ir.Tensor && g.chance(50):
		return &ir.Fill{Type: t}
	case t.Kind == ir.Tensor:
		return &ir.Fill{Type: t, Value: &ir.FloatLit{Value: float64(g.rnd.Intn(9)) / 2}}
	case t.Kind == ir.Vec:
		return &ir.NewVec{Type: t}
	}
	return &ir.New{Struct: t.Name}
}

func (g *generator) expr(t ir.Type, depth int) ir.Expr {
	if depth <= 0 || g.chance(20) {
		return g.leaf(t)
	}
	if g.chance(20) {
		if e := g.callOf(t, depth); e != nil {
			return e
		}
	}
	if g.chance(30) {
		if e := g.fieldOf(t, depth); e != nil {
			return e
		}
	}
	if g.chance(30) {
		if e := g.elementOf(t, depth); e != nil {
			return e
		}
	}
	switch t.Kind {
	case ir.Int:
		return g.integer(depth)
	case ir.Float:
		return g.float(depth)
	case ir.Tensor:
		return g.tensor(t, depth)
	case ir.Vec:
		return g.leaf(t)
	}
	return g.newStruct(t, depth)
}

// callOf calls a function that returns the type, if there is one.
func (g *generator) callOf(t ir.Type, depth int) ir.Expr {
	var fitting []*ir.Function
	for _, f := range g.program.Functions {
		if f.Result == t && len(f.Params) > 0 {
			fitting = append(fitting, f)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return g.call(pick(g, fitting), depth)
}

func (g *generator) call(f *ir.Function, depth int) ir.Expr {
	var args []ir.Expr
	for _, p := range f.Params {
		if p.Name == "fuel" {
			args = append(args, &ir.Binary{Op: ir.Sub, Left: &ir.Var{Name: "fuel"}, Right: &ir.IntLit{Value: 1}})
		} else {
			args = append(args, g.expr(p.Type, depth-1))
		}
	}
	if f.Receiver != "" {
		return &ir.MethodCall{Receiver: args[0], Method: f.Name, Args: args[1:]}
	}
	return &ir.Call{Function: f.Name, Args: args}
}

// fieldOf reads a field of the type from some struct, if one has it.
func (g *generator) fieldOf(t ir.Type, depth int) ir.Expr {
	s := pick(g, g.program.Structs)
	for _, i := range g.rnd.Perm(len(s.Fields)) {
		if s.Fields[i].Type == t {
			return &ir.Field{Value: g.expr(ir.StructType(s.Name), depth-1), Name: s.Fields[i].Name}
		}
	}
	return nil
}

// elementOf reads an element of the type from some vec, if there are such vecs.
func (g *generator) elementOf(t ir.Type, depth int) ir.Expr {
	for _, vec := range g.vecs {
		if vec.Element() == t {
			return &ir.Element{Value: g.expr(vec, depth-1), Index: g.index(4, depth)}
		}
	}
	return nil
}

// index is mostly one of the first n.
func (g *generator) index(n int64, depth int) ir.Expr {
	if g.chance(40) {
		right := &ir.IntLit{Value: g.rnd.Int63n(2)}
		return &ir.Binary{Op: ir.Add, Left: g.expr(ir.IntType, min(depth, 2)-1), Right: right}
	}
	return &ir.IntLit{Value: g.rnd.Int63n(n)}
}

func (g *generator) integer(depth int) ir.Expr {
	switch g.rnd.Intn(8) {
	case 0:
		return &ir.Convert{To: ir.Int, Value: g.expr(ir.FloatType, depth-1)}
	case 1:
		return &ir.IsNone{Value: g.expr(ir.StructType(pick(g, g.program.Structs).Name), depth-1)}
	case 2:
		return &ir.IsNone{Value: g.expr(pick(g, slices.Concat(g.tensors, g.vecs)), depth-1)}
	case 3:
		t := pick(g, []ir.Type{ir.IntType, ir.FloatType})
		op := pick(g, []ir.Op{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge})
		return &ir.Binary{Op: op, Left: g.expr(t, depth-1), Right: g.expr(t, depth-1)}
	}
	if g.chance(15) {
		return &ir.Len{Value: g.expr(pick(g, g.vecs), depth-1)}
	}
	op := pick(g, []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem})
	return &ir.Binary{Op: op, Left: g.expr(ir.IntType, depth-1), Right: g.expr(ir.IntType, depth-1)}
}

func (g *generator) float(depth int) ir.Expr {
	switch g.rnd.Intn(5) {
	case 0:
		return &ir.Convert{To: ir.Float, Value: g.expr(ir.IntType, depth-1)}
	case 1:
		return &ir.Sum{Value: g.expr(pick(g, g.tensors), depth-1)}
	case 2:
		t := pick(g, g.tensors)
		return &ir.Element{Value: g.expr(t, depth-1), Index: g.index(t.Elements(), depth)}
	}
	op := pick(g, []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div})
	return &ir.Binary{Op: op, Left: g.expr(ir.FloatType, depth-1), Right: g.expr(ir.FloatType, depth-1)}
}

func (g *generator) tensor(t ir.Type, depth int) ir.Expr {
	switch g.rnd.Intn(5) {
	case 0:
		return &ir.Fill{Type: t, Value: g.expr(ir.FloatType, depth-1)}
	case 1:
		lit := &ir.TensorLit{Type: t}
		for range t.Elements() {
			lit.Elements = append(lit.Elements, g.expr(ir.FloatType, depth-2))
		}
		return lit
	}
	op := pick(g, []ir.Op{ir.Add, ir.Sub, ir.Mul})
	return &ir.Binary{Op: op, Left: g.expr(t, depth-1), Right: g.expr(t, depth-1)}
}

func (g *generator) newStruct(t ir.Type, depth int) ir.Expr {
	e := &ir.New{Struct: t.Name}
	fields := g.program.Struct(t.Name).Fields
	for _, i := range g.rnd.Perm(len(fields)) {
		if g.chance(70) {
			e.Fields = append(e.Fields, ir.FieldValue{Name: fields[i].Name, Value: g.expr(fields[i].Type, depth-1)})
		}
	}
	return e
}

// look reads a number somewhere in a value, and returns it with its type.
func (g *generator) look(e ir.Expr, t ir.Type, depth int) (ir.Expr, ir.Type) {
	switch t.Kind {
	case ir.Int, ir.Float:
		return e, t
	case ir.Tensor:
		return &ir.Sum{Value: e}, ir.FloatType
	}
	if depth == 0 {
		return &ir.IsNone{Value: e}, ir.IntType
	}
	if t.Kind == ir.Vec {
		if g.chance(30) {
			return &ir.Len{Value: e}, ir.IntType
		}
		return g.look(&ir.Element{Value: e, Index: &ir.IntLit{Value: g.rnd.Int63n(3)}}, t.Element(), depth-1)
	}
	field := pick(g, g.program.Struct(t.Name).Fields)
	return g.look(&ir.Field{Value: e, Name: field.Name}, field.Type, depth-1)
}
