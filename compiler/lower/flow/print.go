package flow

import (
	"fmt"
	"strconv"
	"strings"

	"tlruntime/compiler/lower/ir"
)

// Print returns the text of a function, one operation a line.
func Print(f *Function) string {
	var w strings.Builder
	names := make([]string, f.Params)
	for i := range names {
		if f.Owned != nil && f.Owned.Has(Var(i)) {
			names[i] = "owned "
		}
		names[i] += f.Vars[i].Name
	}
	fmt.Fprintf(&w, "func %s(%s) {\n", f.Symbol, strings.Join(names, ", "))
	for i, b := range f.Blocks {
		fmt.Fprintf(&w, "b%d:\n", i)
		for j := range b.Ops {
			w.WriteString("\t" + f.text(&b.Ops[j], b) + "\n")
		}
	}
	w.WriteString("}\n")
	return w.String()
}

func (f *Function) operand(o Operand) string {
	switch {
	case o.Var != NoVar:
		return f.Vars[o.Var].Name
	case o.Type.Kind == ir.Int:
		return strconv.FormatInt(o.Int, 10)
	case o.Type.Kind == ir.Float:
		return ir.Text(&ir.FloatLit{Value: o.Float})
	}
	return "none"
}

func (f *Function) operands(list []Operand) string {
	texts := make([]string, len(list))
	for i, o := range list {
		texts[i] = f.operand(o)
	}
	return strings.Join(texts, ", ")
}

func (f *Function) field(t ir.Type, i int) string { return f.Program.Struct(t.Name).Fields[i].Name }

func (f *Function) text(o *Op, b *Block) string {
	switch o.Code {
	case Open, Close:
		return fmt.Sprintf("%s %d", words[o.Code], o.Index)
	case Jump:
		return fmt.Sprintf("jump b%d", b.Successors[0])
	case Branch:
		return fmt.Sprintf("branch %s, b%d, b%d", f.operand(o.Args[0]), b.Successors[0], b.Successors[1])
	case FunctionEnter:
		return fmt.Sprintf("function_enter %d", o.Index)
	case Clear, Unshare, Pop, RemoveLast:
		return words[o.Code] + " " + f.Vars[o.Dst].Name
	}
	if o.Code == Push || o.Code == Append {
		return words[o.Code] + " " + f.Vars[o.Dst].Name + ", " + f.operand(o.Args[0])
	}
	if o.Dst == NoVar {
		return strings.TrimSpace(f.value(o))
	}
	return f.target(o) + " = " + f.value(o)
}

// target is what an operation gives a value.
func (f *Function) target(o *Op) string {
	name := f.Vars[o.Dst].Name
	switch o.Code {
	case SetField, Store:
		return name + "." + f.field(o.Type, int(o.Index))
	case SetElement, StoreElement, SetAt, StoreAt:
		return fmt.Sprintf("%s[%s]", name, f.operand(o.Args[1]))
	}
	return name
}

// words are the operations that are written as a word and operands.
var words = map[Code]string{Open: "open", Close: "close", Return: "return", FunctionExit: "function_exit",
	EnterScope: "enter_scope", ExitScope: "exit_scope", Acquire: "acquire", Release: "release",
	Register: "register", Unregister: "unregister", Clear: "clear", Unshare: "unshare",
	Push: "push", Pop: "pop", Append: "append", RemoveLast: "remove_last", Reset: "reset", Taken: "taken"}

func (f *Function) value(o *Op) string {
	switch o.Code {
	case Arith, TensorArith:
		return f.operand(o.Args[0]) + " " + o.Op.String() + " " + f.operand(o.Args[1]) + slot(o)
	case Convert:
		return f.Vars[o.Dst].Type.String() + "(" + f.operands(o.Args) + ")"
	case IsNone:
		return f.operand(o.Args[0]) + " is none"
	case New:
		if len(o.Args) == 1 && len(o.Fields) == 0 {
			return "new " + o.Type.Name + " in " + f.operand(o.Args[0])
		}
		return "new " + o.Type.Name + f.fields(o)
	case Take:
		return "take " + f.operand(o.Args[0]) + "." + f.field(o.Type, int(o.Index))
	case Load:
		return f.operand(o.Args[0]) + "." + f.field(o.Type, int(o.Index))
	case Call:
		return "call " + o.Callee + "(" + f.operands(o.Args) + ")"
	case Fill:
		return fmt.Sprintf("fill %s(%s)%s", o.Type, f.operands(o.Args), slot(o))
	case Literal:
		return fmt.Sprintf("%s[%s]%s", o.Type, f.operands(o.Args), slot(o))
	case Sum:
		return "sum(" + f.operands(o.Args) + ")"
	case Element, LoadAt:
		return fmt.Sprintf("%s[%s]", f.operand(o.Args[0]), f.operand(o.Args[1]))
	case NewVec:
		return "new " + o.Type.String()
	case Len:
		return "len(" + f.operands(o.Args) + ")"
	case SetElement, StoreElement, SetAt, StoreAt:
		return f.operand(o.Args[0])
	}
	return strings.TrimPrefix(words[o.Code]+" ", " ") + f.operands(o.Args)
}

func (f *Function) fields(o *Op) string {
	texts := make([]string, len(o.Fields))
	for i, field := range o.Fields {
		texts[i] = f.field(o.Type, field) + ": " + f.operand(o.Args[i])
	}
	if len(texts) == 0 {
		return ""
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

func slot(o *Op) string {
	if o.MakesTensor() && o.Slot != Heap {
		return fmt.Sprintf(" in slot %d", o.Slot)
	}
	return ""
}
