package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
)

// Parse reads the text of a program, as Print writes it. Comments begin with //.
// The error names the line. What the program means is not looked at: see Verify.
func Parse(text string) (p *Program, err error) {
	s := &parser{}
	s.scan.Init(strings.NewReader(text))
	s.scan.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanComments |
		scanner.SkipComments
	s.scan.Error = func(_ *scanner.Scanner, message string) { s.fail("%s", message) }
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			p, err = nil, r
		default:
			panic(r)
		}
	}()
	s.next()
	return s.program(), nil
}

// syntaxError travels from where it is found to Parse.
type syntaxError struct {
	line    int
	message string
}

func (e syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.message) }

// parser has one token in hand: its text, and what kind of token it is.
type parser struct {
	scan  scanner.Scanner
	kind  rune
	token string
	line  int
	depth int
}

// maxDepth bounds how deep statements and expressions nest.
const maxDepth = 1000

func (s *parser) nested() func() {
	if s.depth++; s.depth > maxDepth {
		s.fail("nested deeper than %d", maxDepth)
	}
	return func() { s.depth-- }
}

// maxChain bounds a row of operators or fields, which nests to the left.
const maxChain = 5000

// linked counts the links of a chain.
func (s *parser) linked(n int) int {
	if n >= maxChain {
		s.fail("more than %d operators or fields in a row", maxChain)
	}
	return n + 1
}

func (s *parser) fail(format string, args ...any) {
	panic(syntaxError{s.line, fmt.Sprintf(format, args...)})
}

// doubled are the tokens of two characters.
var doubled = []string{"==", "!=", "<=", ">=", "->"}

func (s *parser) next() {
	s.kind = s.scan.Scan()
	s.token, s.line = s.scan.TokenText(), s.scan.Position.Line
	if pair := s.token + string(s.scan.Peek()); slices.Contains(doubled, pair) {
		s.scan.Next()
		s.token = pair
	}
}

// take goes past a token if it is there.
func (s *parser) take(token string) bool {
	if s.kind == scanner.EOF || s.token != token {
		return false
	}
	s.next()
	return true
}

func (s *parser) want(token string) {
	if !s.take(token) {
		s.fail("%q expected, found %s", token, s.found())
	}
}

func (s *parser) found() string {
	if s.kind == scanner.EOF {
		return "the end"
	}
	return strconv.Quote(s.token)
}

// keywords are no names of variables.
var keywords = []string{"struct", "func", "let", "if", "else", "while", "block", "return", "break", "continue",
	"new", "none", "is", "zeros", "fill", "sum", "int", "float", "tensor"}

func (s *parser) name() string {
	if s.kind != scanner.Ident || slices.Contains(keywords, s.token) {
		s.fail("a name expected, found %s", s.found())
	}
	name := s.token
	s.next()
	return name
}

func (s *parser) program() *Program {
	p := &Program{}
	for s.kind != scanner.EOF {
		switch {
		case s.take("struct"):
			def := &StructDef{Name: s.name()}
			s.want("{")
			for !s.take("}") {
				def.Fields = append(def.Fields, s.typed())
				s.take(",")
			}
			p.Structs = append(p.Structs, def)
		case s.take("func"):
			p.Functions = append(p.Functions, s.function())
		default:
			s.fail("struct or func expected, found %s", s.found())
		}
	}
	return p
}

func (s *parser) typed() Variable {
	name := s.name()
	s.want(":")
	return Variable{name, s.typeName()}
}

func (s *parser) typeName() Type {
	switch {
	case s.take("int"):
		return IntType
	case s.take("float"):
		return FloatType
	case s.take("tensor"):
		return s.tensorType()
	}
	return StructType(s.name())
}

// tensorType reads what follows the word tensor.
func (s *parser) tensorType() Type {
	s.want("<")
	dtype := F32
	if !s.take("f32") {
		s.want("f64")
		dtype = F64
	}
	var shape []int64
	for s.take(",") {
		shape = append(shape, s.integer(""))
	}
	s.want(">")
	return TensorType(dtype, shape...)
}

func (s *parser) integer(sign string) int64 {
	v, err := strconv.ParseInt(sign+s.token, 10, 64)
	if s.kind != scanner.Int || err != nil {
		s.fail("an int expected, found %s", s.found())
	}
	s.next()
	return v
}

func (s *parser) function() *Function {
	f := &Function{Name: s.name(), Result: VoidType}
	if s.take(".") {
		f.Receiver, f.Name = f.Name, s.name()
	}
	s.want("(")
	for !s.take(")") {
		if len(f.Params) > 0 {
			s.want(",")
		}
		if len(f.Params) == 0 && f.Receiver != "" {
			f.Params = append(f.Params, Variable{s.name(), StructType(f.Receiver)})
		} else {
			f.Params = append(f.Params, s.typed())
		}
	}
	if s.take("->") {
		f.Result = s.typeName()
	}
	f.Body = s.body()
	return f
}

func (s *parser) body() (list []Stmt) {
	defer s.nested()()
	s.want("{")
	for !s.take("}") {
		list = append(list, s.statement())
	}
	return list
}

func (s *parser) statement() Stmt {
	switch {
	case s.take("let"):
		name := s.name()
		s.want("=")
		return &Let{name, s.expression()}
	case s.take("if"):
		return s.ifStatement()
	case s.take("while"):
		cond := s.expression()
		return &While{cond, s.body()}
	case s.take("block"):
		return &Block{s.body()}
	case s.take("return"):
		if s.token == "}" { // nothing stands behind a return
			return &Return{}
		}
		return &Return{s.expression()}
	case s.take("break"):
		return &Break{}
	case s.take("continue"):
		return &Continue{}
	}
	return s.assignment()
}

func (s *parser) ifStatement() Stmt {
	st := &If{Cond: s.expression()}
	st.Then = s.body()
	if s.take("else") {
		st.Else = s.body()
	}
	return st
}

// assignment reads a statement that begins with what it changes, or a call.
func (s *parser) assignment() Stmt {
	target := s.postfix()
	switch t := target.(type) {
	case *Call, *MethodCall:
		return &Do{target}
	case *Var:
		s.want("=")
		return &Assign{t.Name, s.expression()}
	case *Field:
		if v, ok := t.Value.(*Var); ok {
			s.want("=")
			return &SetField{v.Name, t.Name, s.expression()}
		}
	case *Element:
		if v, ok := t.Value.(*Var); ok {
			s.want("=")
			return &SetElement{v.Name, t.Index, s.expression()}
		}
	}
	s.fail("a statement expected, found the expression %s; assign to a variable, a variable's field or element",
		briefText(target))
	return nil
}
