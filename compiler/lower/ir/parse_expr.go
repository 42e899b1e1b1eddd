package ir

import (
	"slices"
	"strconv"
	"text/scanner"
)

func (s *parser) expression() Expr {
	defer s.nested()()
	return s.binary(1)
}

// binary reads operators that bind at least as tightly as least.
func (s *parser) binary(least int) Expr {
	left := s.operand(least)
	for n := 0; ; n = s.linked(n) {
		i := slices.Index(operators[:], s.token)
		if i < 0 || Op(i).binding() != least {
			return left
		}
		at := s.pos
		s.next()
		left = s.mark(at, &Binary{Op(i), left, s.operand(least)})
	}
}

// mark notes where an expression stands.
func (s *parser) mark(at Pos, e Expr) Expr {
	s.source.at[e] = at
	return e
}

func (s *parser) operand(level int) Expr {
	if level == 3 {
		return s.postfix()
	}
	return s.binary(level + 1)
}

func (s *parser) postfix() Expr {
	at := s.pos
	e := s.mark(at, s.primary())
	for n := 0; ; n = s.linked(n) {
		at = s.pos
		switch {
		case s.take("."):
			at = s.pos
			e = s.member(e)
		case s.take("["):
			e = &Element{e, s.expression()}
			s.want("]")
		case s.take("is"):
			s.want("none")
			e = &IsNone{e}
		default:
			return e
		}
		s.mark(at, e)
	}
}

// member reads what follows a point.
func (s *parser) member(e Expr) Expr {
	name := s.name()
	if s.take("(") {
		return &MethodCall{e, name, s.exprList(")")}
	}
	return &Field{e, name}
}

// exprList reads expressions up to a closing token.
func (s *parser) exprList(closing string) (exprs []Expr) {
	for !s.take(closing) {
		if len(exprs) > 0 {
			s.want(",")
		}
		exprs = append(exprs, s.expression())
	}
	return exprs
}

func (s *parser) primary() Expr {
	switch {
	case s.kind == scanner.Int || s.kind == scanner.Float:
		return s.number("")
	case s.take("-"):
		return s.number("-")
	case s.take("("):
		return s.closed()
	case s.take("new"):
		if s.take("vec") {
			return &NewVec{s.vecType()}
		}
		return s.newStruct()
	case s.take("none"):
		return &None{s.typeName()}
	case s.take("zeros"):
		return &Fill{Type: s.typeName()}
	case s.take("fill"):
		t := s.typeName()
		s.want("(")
		return &Fill{t, s.closed()}
	case s.take("tensor"):
		t := s.tensorType()
		s.want("[")
		return &TensorLit{t, s.exprList("]")}
	}
	return s.callOrName()
}

// callOrName reads what begins with a word and takes arguments, or a variable.
func (s *parser) callOrName() Expr {
	switch {
	case s.take("sum"):
		s.want("(")
		return &Sum{s.closed()}
	case s.take("len"):
		s.want("(")
		return &Len{s.closed()}
	case s.take("int"):
		s.want("(")
		return &Convert{Int, s.closed()}
	case s.take("float"):
		s.want("(")
		return &Convert{Float, s.closed()}
	}
	name := s.name()
	if s.take("(") {
		return &Call{name, s.exprList(")")}
	}
	return &Var{name}
}

// closed reads an expression and the parenthesis that closes it.
func (s *parser) closed() Expr {
	e := s.expression()
	s.want(")")
	return e
}

func (s *parser) number(sign string) Expr {
	if s.kind == scanner.Int {
		return &IntLit{s.integer(sign)}
	}
	if s.kind != scanner.Float {
		s.fail("a number expected, found %s", s.found())
	}
	s.decimal()
	v, err := strconv.ParseFloat(sign+s.token, 64)
	if err != nil {
		s.fail("%s is outside of what a float holds", sign+s.token)
	}
	s.next()
	return &FloatLit{v}
}

func (s *parser) newStruct() Expr {
	e := &New{Struct: s.name()}
	s.want("{")
	for !s.take("}") {
		if len(e.Fields) > 0 {
			s.want(",")
		}
		name := s.name()
		s.want(":")
		e.Fields = append(e.Fields, FieldValue{name, s.expression()})
	}
	return e
}
