package ir

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Pos is a place in a text. Both numbers count from 1, columns in characters. The
// zero Pos is no place.
type Pos struct{ Line, Column int }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Source tells where in the text the parts of a program stand: its *StructDef and
// *Function, the *Variable of each field and parameter, and every Stmt and Expr. An
// operation stands where its operator or name does.
type Source struct{ at map[any]Pos }

// Pos is the place of a part of the program, zero when it came from no text.
func (s *Source) Pos(part any) Pos {
	if s == nil {
		return Pos{}
	}
	return s.at[part]
}

// SyntaxError is something in a text that is no program.
type SyntaxError struct {
	Pos     Pos
	Message string
}

func (e *SyntaxError) Error() string { return e.Pos.String() + ": " + e.Message }

// Located is an error with its place in a file, as compilers write it:
//
//	list.tl:3:9: there is no variable x
type Located struct {
	File string
	Pos  Pos
	Err  error
}

func (e *Located) Error() string { return fmt.Sprintf("%s:%s: %s", e.File, e.Pos, e.message()) }

// Unwrap returns what was found.
func (e *Located) Unwrap() error { return e.Err }

// message leaves out what the place says already.
func (e *Located) message() string {
	var syntax *SyntaxError
	var wrong *Error
	switch {
	case errors.As(e.Err, &syntax):
		return syntax.Message
	case errors.As(e.Err, &wrong) && wrong.Function != "":
		return "function " + wrong.Function + ": " + wrong.Message
	case errors.As(e.Err, &wrong):
		return wrong.Message
	}
	return e.Err.Error()
}

// Locate returns what Parse and Verify found, each with its place, in the order of the
// text.
func (s *Source) Locate(file string, err error) (list []*Located) {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, one := range all {
		at := Pos{1, 1}
		var syntax *SyntaxError
		var wrong *Error
		switch {
		case errors.As(one, &syntax):
			at = syntax.Pos
		case errors.As(one, &wrong):
			at = s.Pos(wrong.Part)
		}
		list = append(list, &Located{file, at, one})
	}
	slices.SortStableFunc(list, func(a, b *Located) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	return list
}
