package programs

import (
	"fmt"

	"tlruntime/compiler/lower/ir"
)

// list makes statements in a scope of their own.
func (g *generator) list(depth int) (list []ir.Stmt) {
	g.scopes = append(g.scopes, nil)
	defer func() { g.scopes = g.scopes[:len(g.scopes)-1] }()
	for range 1 + g.rnd.Intn(6-min(depth, 3)) {
		s := g.statement(depth)
		if s == nil {
			continue
		}
		list = append(list, s)
		if ir.Ends(list) {
			break
		}
	}
	return list
}

// statement makes one, or nil where there is nothing to make it with.
func (g *generator) statement(depth int) ir.Stmt {
	if g.budget--; g.budget < 0 {
		return nil
	}
	switch n := g.rnd.Intn(100); {
	case n < 28:
		return g.let()
	case n < 50:
		return g.assign()
	case n < 68:
		return g.change()
	case n < 72:
		return g.do()
	case depth < 3 && n < 84:
		return g.ifElse(depth)
	case depth < 3 && n < 91:
		return g.while(depth)
	case depth < 3 && n < 95:
		return &ir.Block{Body: g.list(depth + 1)}
	case depth > 0:
		return g.leave()
	}
	return nil
}

func (g *generator) let() ir.Stmt {
	t := g.anyType()
	value := g.expr(t, 3)
	name := fmt.Sprintf("v%d", g.names)
	g.names++
	if outer := g.visible(func(v variable) bool { return !v.fixed }); len(outer) > 0 && g.chance(10) {
		if shadowed := pick(g, outer).Name; !g.declared(shadowed) {
			name = shadowed
		}
	}
	g.declare(name, t, false)
	return &ir.Let{Name: name, Value: value}
}

func (g *generator) declare(name string, t ir.Type, fixed bool) {
	inner := len(g.scopes) - 1
	g.scopes[inner] = append(g.scopes[inner], variable{ir.Variable{Name: name, Type: t}, fixed})
}

// declared tells whether the innermost scope has the name already.
func (g *generator) declared(name string) bool {
	for _, v := range g.scopes[len(g.scopes)-1] {
		if v.Name == name {
			return true
		}
	}
	return false
}

// visible returns the variables in sight that a test lets through.
func (g *generator) visible(test func(v variable) bool) (list []variable) {
	hidden := map[string]bool{}
	for i := len(g.scopes) - 1; i >= 0; i-- {
		for _, v := range g.scopes[i] {
			if !hidden[v.Name] && test(v) {
				list = append(list, v)
			}
		}
		for _, v := range g.scopes[i] {
			hidden[v.Name] = true
		}
	}
	return list
}

func (g *generator) assign() ir.Stmt {
	targets := g.visible(func(v variable) bool { return !v.fixed })
	if len(targets) == 0 {
		return nil
	}
	v := pick(g, targets)
	return &ir.Assign{Name: v.Name, Value: g.expr(v.Type, 3)}
}

// change changes a field or an element of a variable.
func (g *generator) change() ir.Stmt {
	targets := g.visible(func(v variable) bool { return v.Type.Counted() })
	if len(targets) == 0 {
		return nil
	}
	v := pick(g, targets)
	if v.Type.Kind == ir.Tensor {
		return &ir.SetElement{Name: v.Name, Index: g.index(v.Type.Elements(), 2), Value: g.expr(ir.FloatType, 2)}
	}
	if v.Type.Kind == ir.Vec {
		return g.changeVec(v)
	}
	field := pick(g, g.program.Struct(v.Type.Name).Fields)
	return &ir.SetField{Name: v.Name, Field: field.Name, Value: g.expr(field.Type, 3)}
}

func (g *generator) changeVec(v variable) ir.Stmt {
	switch n := g.rnd.Intn(10); {
	case n < 5:
		return &ir.Push{Name: v.Name, Value: g.expr(v.Type.Element(), 3)}
	case n < 9:
		return &ir.SetElement{Name: v.Name, Index: g.index(3, 2), Value: g.expr(v.Type.Element(), 3)}
	}
	return &ir.Pop{Name: v.Name}
}

func (g *generator) do() ir.Stmt {
	if call := g.call(pick(g, g.program.Functions), 2); call != nil {
		return &ir.Do{Call: call}
	}
	return nil
}

func (g *generator) ifElse(depth int) ir.Stmt {
	s := &ir.If{Cond: g.expr(ir.IntType, 2), Then: g.list(depth + 1)}
	if g.chance(60) {
		s.Else = g.list(depth + 1)
	}
	return s
}

// while makes a loop of a few turns, counted by a variable that is advanced before
// anything else, so that continue ends it, too.
func (g *generator) while(depth int) ir.Stmt {
	count := fmt.Sprintf("i%d", g.names)
	g.names++
	g.scopes = append(g.scopes, nil)
	defer func() { g.scopes = g.scopes[:len(g.scopes)-1] }()
	g.declare(count, ir.IntType, true)
	g.loops++
	turn := &ir.Assign{Name: count, Value: &ir.Binary{Op: ir.Add, Left: &ir.Var{Name: count},
		Right: &ir.IntLit{Value: 1}}}
	var cond ir.Expr = &ir.Binary{Op: ir.Lt, Left: &ir.Var{Name: count}, Right: &ir.IntLit{Value: 1 + g.rnd.Int63n(4)}}
	if g.chance(20) {
		cond = &ir.Binary{Op: ir.Mul, Left: cond, Right: g.expr(ir.IntType, 2)}
	}
	body := append([]ir.Stmt{turn}, g.list(depth+1)...)
	g.loops--
	return &ir.Block{Body: []ir.Stmt{
		&ir.Let{Name: count, Value: &ir.IntLit{}},
		&ir.While{Cond: cond, Body: body},
	}}
}

// leave goes out of the loop or the function.
func (g *generator) leave() ir.Stmt {
	switch n := g.rnd.Intn(3); {
	case g.loops > 0 && n == 0:
		return &ir.Break{}
	case g.loops > 0 && n == 1:
		return &ir.Continue{}
	case g.function.Result.Kind == ir.Void:
		return &ir.Return{}
	}
	return &ir.Return{Value: g.expr(g.function.Result, 2)}
}
