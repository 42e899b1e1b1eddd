package ir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
)

// Parse reads the text of a program, as Print writes it. Comments begin with //.
// The error joins what was found, each a *SyntaxError, one for each struct or function
// at most. What the program means is not looked at: see Verify.
func Parse(text string) (*Program, error) {
	p, _, err := ParseSource(text)
	return p, err
}

// ParseSource is Parse, and tells where the parts of the program stand.
func ParseSource(text string) (*Program, *Source, error) {
	s := &parser{source: &Source{map[any]Pos{}}}
	s.scan.Init(strings.NewReader(text))
	s.scan.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats | scanner.ScanComments |
		scanner.SkipComments
	s.scan.Error = func(sc *scanner.Scanner, message string) {
		if !s.skipping {
			s.pos = Pos{sc.Pos().Line, sc.Pos().Column}
			s.fail("%s", message)
		}
	}
	p := &Program{}
	s.recovered(s.next)
	for s.kind != scanner.EOF && len(s.errors) < maxErrors {
		s.recovered(func() { s.declaration(p) })
	}
	if len(s.errors) > 0 {
		return nil, s.source, errors.Join(s.errors...)
	}
	return p, s.source, nil
}

// parser has one token in hand: its text, where it stands, and its kind.
type parser struct {
	scan     scanner.Scanner
	kind     rune
	token    string
	pos      Pos
	depth    int
	source   *Source
	errors   []error
	skipping bool // to the next declaration, past what may be no tokens
}

// recovered reads a declaration; behind one that is wrong it goes on with the next,
// which begins with a word that stands nowhere else.
func (s *parser) recovered(read func()) {
	defer func() {
		switch r := recover().(type) {
		case nil:
			return
		case *SyntaxError:
			s.errors = append(s.errors, r)
		default:
			panic(r)
		}
		s.depth, s.skipping = 0, true
		for s.kind != scanner.EOF && !slices.Contains(declarations, s.token) {
			s.next()
		}
		s.skipping = false
	}()
	read()
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

// fail goes to recovered.
func (s *parser) fail(format string, args ...any) {
	panic(&SyntaxError{s.pos, fmt.Sprintf(format, args...)})
}

// doubled are the tokens of two characters.
var doubled = []string{"==", "!=", "<=", ">=", "->"}

func (s *parser) next() {
	s.kind = s.scan.Scan()
	s.token, s.pos = s.scan.TokenText(), Pos{s.scan.Position.Line, s.scan.Position.Column}
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

// declarations are the words that begin one.
var declarations = []string{"struct", "func", "extern"}

// keywords are no names of variables.
var keywords = append([]string{"let", "if", "else", "while", "block", "return", "break", "continue", "push", "pop",
	"new", "none", "is", "zeros", "fill", "sum", "len", "int", "float", "tensor", "vec"}, declarations...)

func (s *parser) name() string {
	if s.kind == scanner.Ident && slices.Contains(keywords, s.token) {
		s.fail("a name expected, found %s, which is a word of the language", s.found())
	}
	if s.kind != scanner.Ident {
		s.fail("a name expected, found %s", s.found())
	}
	name := s.token
	s.next()
	return name
}

func (s *parser) declaration(p *Program) {
	switch {
	case s.take("struct"):
		p.Structs = append(p.Structs, s.structDef())
	case s.take("extern"):
		s.want("func")
		p.Externs = append(p.Externs, s.signature(false))
	case s.take("func"):
		f := s.signature(true)
		f.Body = s.body()
		p.Functions = append(p.Functions, f)
	default:
		s.fail("struct, func or extern expected, found %s", s.found())
	}
}

func (s *parser) structDef() *StructDef {
	at := s.pos
	def := &StructDef{Name: s.name()}
	s.source.at[def] = at
	s.want("{")
	var places []Pos
	for !s.take("}") {
		places = append(places, s.pos)
		def.Fields = append(def.Fields, s.typed())
		s.take(",")
	}
	s.variables(def.Fields, places)
	return def
}

// variables notes where fields or parameters stand.
func (s *parser) variables(list []Variable, places []Pos) {
	for i := range list {
		s.source.at[&list[i]] = places[i]
	}
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
	case s.take("vec"):
		return s.vecType()
	}
	return StructType(s.name())
}

// vecType reads what follows the word vec.
func (s *parser) vecType() Type {
	defer s.nested()()
	s.want("<")
	t := VecType(s.typeName())
	s.want(">")
	return t
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
	if s.kind != scanner.Int {
		s.fail("an int expected, found %s", s.found())
	}
	s.decimal()
	v, err := strconv.ParseInt(sign+s.token, 10, 64)
	if err != nil {
		s.fail("%s is outside of what an int holds", sign+s.token)
	}
	s.next()
	return v
}

// decimal refuses numbers of other bases and with "_" in them, which the scanner
// takes for numbers, too.
func (s *parser) decimal() {
	if strings.ContainsAny(s.token, "_xXbBoOpP") {
		s.fail("%s is not written as a decimal number, such as 42, 2.5 or 1e-3", s.found())
	}
}

// signature reads a function up to its body.
func (s *parser) signature(methods bool) *Function {
	f := &Function{Result: VoidType}
	s.source.at[f] = s.pos
	f.Name = s.name()
	if methods && s.take(".") {
		f.Receiver, f.Name = f.Name, s.name()
	}
	s.want("(")
	var places []Pos
	for !s.take(")") {
		if len(f.Params) > 0 {
			s.want(",")
		}
		places = append(places, s.pos)
		if len(f.Params) == 0 && f.Receiver != "" {
			f.Params = append(f.Params, Variable{s.name(), StructType(f.Receiver)})
		} else {
			f.Params = append(f.Params, s.typed())
		}
	}
	s.variables(f.Params, places)
	if s.take("->") {
		f.Result = s.typeName()
	}
	return f
}

func (s *parser) body() (list []Stmt) {
	defer s.nested()()
	s.want("{")
	for !s.take("}") {
		at := s.pos
		st := s.statement()
		s.source.at[st] = at
		list = append(list, st)
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
	case s.take("push"):
		name := s.name()
		s.want(",")
		return &Push{name, s.expression()}
	case s.take("pop"):
		return &Pop{s.name()}
	}
	return s.leaving()
}

// leaving reads statements that go elsewhere.
func (s *parser) leaving() Stmt {
	switch {
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
	at := s.pos
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
	s.pos = at
	s.fail("a statement expected, found the expression %s; assign to a variable, a variable's field or element",
		briefText(target))
	return nil
}
