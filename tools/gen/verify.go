package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// pureAttribute is what LLVM may be told only of functions that never enter the slow path.
var pureAttribute = regexp.MustCompile(`nounwind|willreturn|readonly|readnone`)

var (
	paths     = []string{"slow", "fast", "shim"}
	kinds     = []string{"fast", "grows", "slow call"} // what a steady state may cost; capi/main.go explains them
	costs     = regexp.MustCompile(`^(` + strings.Join(kinds, "|") + `)(?:\.|;) ?`)
	errorName = regexp.MustCompile(`TL_E_\w+`)
)

// verify holds every entry to the rules and returns what breaks them.
func verify(s *source) []string {
	var faults []string
	seen := map[string]bool{}
	for _, sec := range s.whole().sections {
		for _, e := range sec.entries {
			fault := func(format string, args ...any) {
				faults = append(faults, e.where+": "+e.name+": "+fmt.Sprintf(format, args...))
			}
			if seen[e.name] {
				fault("declared twice")
			}
			seen[e.name] = true
			s.verifyEntry(e, fault)
		}
	}
	return faults
}

func (s *source) verifyEntry(e *entry, fault func(string, ...any)) {
	if !strings.HasPrefix(strings.ToLower(e.name), "tl_") && !e.foreign {
		fault("every public name starts with tl_")
	}
	if len(e.prose) == 0 || !strings.HasPrefix(e.prose[0], e.name+" ") {
		fault("the doc comment has to begin with the name")
	}
	for _, line := range e.prose {
		if strings.Contains(line, "/*") || strings.Contains(line, "*/") {
			fault("prose cannot hold the marks of a C comment")
		}
	}
	if e.proto != nil {
		s.verifyFunction(e, fault)
	}
}

func (s *source) verifyFunction(e *entry, fault func(string, ...any)) {
	for _, l := range requiredLabels {
		if e.labels[l] == "" {
			fault("no line `%s: ...`", l)
		}
	}
	if e.kind() == "" {
		fault("Cost has to begin with one of: %s", strings.Join(kinds, ", "))
	}
	s.verifyErrors(e, fault)
	verifyFailure(e, fault)
	for _, p := range append([]param{{ctype: e.proto.result, name: "the result"}}, e.proto.params...) {
		if _, ok := s.scalar(p.ctype); !ok {
			fault("%s: %s is no type of the ABI", p.name, p.text)
		}
	}
	if attribute := pureAttribute.FindString(e.labels["LLVM"]); attribute != "" && e.path() != "shim" {
		fault("%s, but leaving the entry guard may run destructors, which may throw", attribute)
	}
	if p := e.value("Refuses"); p != "" && !slices.ContainsFunc(e.proto.params, func(q param) bool { return q.name == p }) {
		fault("Refuses: there is no parameter %s", p)
	} else if p == "" && e.value("Null") != "" {
		fault("Null is the answer for the parameter that Refuses names")
	}
	switch {
	case !slices.Contains(paths, e.path()):
		fault("Path has to be one of %s", strings.Join(paths, ", "))
	case e.path() == "shim" && e.twin != nil:
		fault("a shim function has no Go twin")
	case e.path() != "shim" && e.twin == nil:
		fault("a %s function needs a Go twin", e.path())
	case e.twin != nil:
		s.verifyTwin(e, fault)
	}
}

// verifyErrors wants "none." or statuses that exist.
func (s *source) verifyErrors(e *entry, fault func(string, ...any)) {
	listed := errorName.FindAllString(e.labels["Errors"], -1)
	if len(listed) == 0 && e.labels["Errors"] != "none." && e.labels["Errors"] != "" {
		fault("Errors lists no TL_E_ status and is not `none.`")
	}
	codes := s.types["tl_status_code"]
	for i, name := range listed {
		if codes != nil && !slices.ContainsFunc(codes.enum, func(c enumerator) bool { return c.name == name }) {
			fault("Errors: %s does not exist", name)
		}
		if slices.Contains(listed[:i], name) {
			fault("Errors: %s is listed twice", name)
		}
	}
}

// verifyTwin compares the Go signature with the C prototype and requires the
// body to be one call of the guard.
func (s *source) verifyTwin(e *entry, fault func(string, ...any)) {
	want := []string{"uintptr"}
	for _, p := range e.proto.params {
		t, _ := s.scalar(p.ctype)
		want = append(want, t.goType)
	}
	if got := goTypes(e.twin.Type.Params); !slices.Equal(got, want) {
		fault("Go parameters are (%s), the prototype needs (%s)", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	result, _ := s.scalar(e.proto.result)
	if result.goType == "" {
		fault("a function with a Go twin returns something: a tl_status at least")
	}
	if got := goTypes(e.twin.Type.Results); !slices.Equal(got, []string{result.goType}) {
		fault("Go results are (%s), the prototype needs (%s)", strings.Join(got, ", "), result.goType)
	}
	if !isGuarded(e.twin.Body) {
		fault("the body has to be `return guarded(...)` or `return guardedStatus(...)`")
	}
}

// isGuarded tells whether a body is a single return of a call of the guard.
func isGuarded(body *ast.BlockStmt) bool {
	if len(body.List) != 1 {
		return false
	}
	ret, ok := body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return false
	}
	call, ok := ret.Results[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && (name.Name == "guarded" || name.Name == "guardedStatus")
}

// goTypes spells out the types of a parameter list, one for each name.
func goTypes(list *ast.FieldList) []string {
	var out []string
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		name := goType(f.Type)
		for range max(1, len(f.Names)) {
			out = append(out, name)
		}
	}
	return out
}

// goType spells out a name, or an array of one; "?" for all else.
func goType(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.ArrayType:
		if n, ok := t.Len.(*ast.BasicLit); ok {
			return "[" + n.Value + "]" + goType(t.Elt)
		}
	}
	return "?"
}
