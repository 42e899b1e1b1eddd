package ir

import (
	"fmt"
	"math"
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
	for _, f := range p.Externs {
		w.line("extern func %s\n", signature(f))
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
	w.line("func %s {", signature(f))
	w.list(f.Body)
	w.line("}")
}

func signature(f *Function) string {
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
	return fmt.Sprintf("%s(%s)%s", f.Symbol(), strings.Join(params, ", "), result)
}

func (w *printer) list(list []Stmt) {
	w.depth++
	for _, s := range list {
		w.statement(s)
	}
	w.depth--
}

func (w *printer) statement(s Stmt) {
	w.line("%s", (&speller{left: math.MaxInt}).head(s))
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

// speller writes expressions, up to a number of nodes; what is left out is "...".
type speller struct{ left int }

// brief is a statement's first line for a message, whatever hangs on it.
func brief(s Stmt) string { return (&speller{left: 40}).head(s) }

// briefText is an expression for a message.
func briefText(e Expr) string { return (&speller{left: 20}).text(e, 0) }

// head is a statement's first line.
func (w *speller) head(s Stmt) string {
	switch s := s.(type) {
	case *Let:
		return "let " + s.Name + " = " + w.text(s.Value, 0)
	case *Assign:
		return s.Name + " = " + w.text(s.Value, 0)
	case *SetField:
		return s.Name + "." + s.Field + " = " + w.text(s.Value, 0)
	case *SetElement:
		return fmt.Sprintf("%s[%s] = %s", s.Name, w.text(s.Index, 0), w.text(s.Value, 0))
	case *Push:
		return "push " + s.Name + ", " + w.text(s.Value, 0)
	case *Pop:
		return "pop " + s.Name
	case *If:
		return "if " + w.text(s.Cond, 0) + " {"
	case *While:
		return "while " + w.text(s.Cond, 0) + " {"
	case *Block:
		return "block {"
	}
	return w.leaving(s)
}

// leaving is the line of a call or of what goes elsewhere.
func (w *speller) leaving(s Stmt) string {
	switch s := s.(type) {
	case *Do:
		return w.text(s.Call, 0)
	case *Return:
		if s.Value != nil {
			return "return " + w.text(s.Value, 0)
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
func Text(e Expr) string { return (&speller{left: math.MaxInt}).text(e, 0) }

// tight binds tighter than any operator and its right operand, which asks for 4.
const tight = 5

// text puts parentheses around what binds less than outer asks for.
func (w *speller) text(e Expr, outer int) string {
	if w.left--; w.left < 0 {
		return "..."
	}
	switch e := e.(type) {
	case *IntLit:
		return literal(strconv.FormatInt(e.Value, 10), outer)
	case *FloatLit:
		return literal(floatText(e.Value), outer)
	case *Binary:
		b := e.Op.binding()
		inner := w.text(e.Left, b) + " " + e.Op.String() + " " + w.text(e.Right, b+1)
		if b < outer {
			return "(" + inner + ")"
		}
		return inner
	case *Var:
		return e.Name
	case *Field:
		return w.text(e.Value, tight) + "." + e.Name
	case *Element:
		return fmt.Sprintf("%s[%s]", w.text(e.Value, tight), w.text(e.Index, 0))
	case *IsNone:
		return w.text(e.Value, tight) + " is none"
	case *None:
		return "none " + e.Type.String()
	}
	return w.makerText(e)
}

// makerText is the text of expressions that bring their own brackets.
func (w *speller) makerText(e Expr) string {
	switch e := e.(type) {
	case *Convert:
		return Type{Kind: e.To}.String() + "(" + w.text(e.Value, 0) + ")"
	case *Sum:
		return "sum(" + w.text(e.Value, 0) + ")"
	case *Len:
		return "len(" + w.text(e.Value, 0) + ")"
	case *NewVec:
		return "new " + e.Type.String()
	case *Call:
		return e.Function + "(" + w.list(e.Args) + ")"
	case *MethodCall:
		return w.text(e.Receiver, tight) + "." + e.Method + "(" + w.list(e.Args) + ")"
	case *TensorLit:
		return e.Type.String() + "[" + w.list(e.Elements) + "]"
	case *Fill:
		if e.Value == nil {
			return "zeros " + e.Type.String()
		}
		return "fill " + e.Type.String() + "(" + w.text(e.Value, 0) + ")"
	case *New:
		fields := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			fields[i] = f.Name + ": " + w.text(f.Value, 0)
		}
		return "new " + e.Struct + "{" + strings.Join(fields, ", ") + "}"
	}
	return fmt.Sprintf("%T", e)
}

func (w *speller) list(exprs []Expr) string {
	texts := make([]string, len(exprs))
	for i, e := range exprs {
		texts[i] = w.text(e, 0)
	}
	return strings.Join(texts, ", ")
}

// literal puts a sign that an operator would take for its own into parentheses, and
// digits whose point a field would take.
func literal(digits string, outer int) string {
	if outer == tight || outer > 0 && strings.HasPrefix(digits, "-") {
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
