package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// Print returns the text of a program, which Parse reads.
func Print(p *Program) string {
	w := &printer{}
	for _, s := range p.Structs {
		w.line("struct %s {", s.Name)
		w.depth++
		for _, f := range s.Fields {
			w.line("%s: %s", f.Name, f.Type)
		}
		w.depth--
		w.line("}\n")
	}
	for i, f := range p.Functions {
		if i > 0 {
			w.text.WriteString("\n")
		}
		w.function(f)
	}
	return w.text.String()
}

type printer struct {
	text  strings.Builder
	depth int
}

func (w *printer) line(format string, args ...any) {
	w.text.WriteString(strings.Repeat("\t", w.depth))
	fmt.Fprintf(&w.text, format, args...)
	w.text.WriteByte('\n')
}

func (w *printer) function(f *Function) {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + ": " + p.Type.String()
		if i == 0 && f.Receiver != "" {
			params[i] = p.Name
		}
	}
	result := ""
	if f.Result.Kind != Void {
		result = " -> " + f.Result.String()
	}
	w.line("func %s(%s)%s {", f.Symbol(), strings.Join(params, ", "), result)
	w.list(f.Body)
	w.line("}")
}

func (w *printer) list(list []Stmt) {
	w.depth++
	for _, s := range list {
		w.statement(s)
	}
	w.depth--
}

func (w *printer) statement(s Stmt) {
	w.line("%s", head(s))
	switch s := s.(type) {
	case *If:
		w.list(s.Then)
		if len(s.Else) > 0 {
			w.line("} else {")
			w.list(s.Else)
		}
		w.line("}")
	case *While:
		w.list(s.Body)
		w.line("}")
	case *Block:
		w.list(s.Body)
		w.line("}")
	}
}

// head is a statement's first line.
func head(s Stmt) string {
	switch s := s.(type) {
	case *Let:
		return "let " + s.Name + " = " + Text(s.Value)
	case *Assign:
		return s.Name + " = " + Text(s.Value)
	case *SetField:
		return s.Name + "." + s.Field + " = " + Text(s.Value)
	case *SetElement:
		return fmt.Sprintf("%s[%d] = %s", s.Name, s.Index, Text(s.Value))
	case *If:
		return "if " + Text(s.Cond) + " {"
	case *While:
		return "while " + Text(s.Cond) + " {"
	case *Block:
		return "block {"
	case *Do:
		return Text(s.Call)
	case *Return:
		if s.Value != nil {
			return "return " + Text(s.Value)
		}
		return "return"
	case *Break:
		return "break"
	case *Continue:
		return "continue"
	}
	return fmt.Sprintf("%T", s)
}

// Text returns the text of an expression.
func Text(e Expr) string { return text(e, 0) }

// tight binds tighter than any operator.
const tight = 4

// text puts parentheses around what binds less than outer asks for.
func text(e Expr, outer int) string {
	switch e := e.(type) {
	case *IntLit:
		return literal(strconv.FormatInt(e.Value, 10), outer)
	case *FloatLit:
		return literal(floatText(e.Value), outer)
	case *Binary:
		b := e.Op.binding()
		inner := text(e.Left, b) + " " + e.Op.String() + " " + text(e.Right, b+1)
		if b < outer {
			return "(" + inner + ")"
		}
		return inner
	case *Var:
		return e.Name
	case *Field:
		return text(e.Value, tight) + "." + e.Name
	case *Element:
		return fmt.Sprintf("%s[%d]", text(e.Value, tight), e.Index)
	case *IsNone:
		return text(e.Value, tight) + " is none"
	case *None:
		return "none " + e.Type.String()
	}
	return makerText(e)
}

// makerText is the text of expressions that bring their own brackets.
func makerText(e Expr) string {
	switch e := e.(type) {
	case *Convert:
		return Type{Kind: e.To}.String() + "(" + Text(e.Value) + ")"
	case *Sum:
		return "sum(" + Text(e.Value) + ")"
	case *Call:
		return e.Function + "(" + list(e.Args) + ")"
	case *MethodCall:
		return text(e.Receiver, tight) + "." + e.Method + "(" + list(e.Args) + ")"
	case *TensorLit:
		return e.Type.String() + "[" + list(e.Elements) + "]"
	case *Fill:
		if e.Value == nil {
			return "zeros " + e.Type.String()
		}
		return "fill " + e.Type.String() + "(" + Text(e.Value) + ")"
	case *New:
		fields := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			fields[i] = f.Name + ": " + Text(f.Value)
		}
		return "new " + e.Struct + "{" + strings.Join(fields, ", ") + "}"
	}
	return fmt.Sprintf("%T", e)
}

func list(exprs []Expr) string {
	texts := make([]string, len(exprs))
	for i, e := range exprs {
		texts[i] = Text(e)
	}
	return strings.Join(texts, ", ")
}

// literal puts a sign that an operator would take for its own into parentheses.
func literal(digits string, outer int) string {
	if outer > 0 && strings.HasPrefix(digits, "-") {
		return "(" + digits + ")"
	}
	return digits
}

func floatText(f float64) string {
	digits := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.ContainsAny(digits, ".eIN") {
		return digits
	}
	return digits + ".0"
}
