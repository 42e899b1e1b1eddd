package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The matrix of the proof suite calls every function with bad arguments. What it has
// to know of them stands in the generated table: how to call a function by words, what
// each parameter is, and what the header promises.

// role is what a parameter is to the matrix: the name of an enumerator of
// tests_c/proof/matrix.h.
type role string

const (
	roleInteger  role = "INTEGER"
	roleBool     role = "BOOL"
	roleOutput   role = "OUTPUT"
	roleText     role = "TEXT"
	roleNumbers  role = "NUMBERS" // an array that is read
	roleStruct   role = "STRUCT"  // a struct that is read
	roleCallback role = "CALLBACK"
	roleList     role = "LIST"  // an array of pointers
	roleNames    role = "NAMES" // an array of strings
	roleFunction role = "FUNCTION"
	roleCookie   role = "COOKIE" // handed on, never looked at
)

// rolesByType are those of pointers to types of the library.
var rolesByType = map[string]role{
	"tl_tensor": "TENSOR", "tl_sparse": "SPARSE", "tl_workspace": "WORKSPACE",
	"tl_memory_pool": "POOL", "tl_plan": "PLAN", "tl_graph": "GRAPH", "tl_execution": "EXECUTION",
	"tl_graph_arena": "GRAPH_ARENA",
}

// rolesByName are those of a void*, whose type says nothing.
var rolesByName = map[string]role{
	"object": "OBJECT", "cell": "CELL", "element": "OBJECT", "pointer": "OBJECT", "alias": "OBJECT", "real": "OBJECT",
	"vec": "VEC", "tensor": "TENSOR", "block": "BLOCK", "to": "MEMORY", "from": "MEMORY",
	"ctx": roleCookie, "stream": roleCookie, "ptr": roleCookie, "data": roleCookie, "list": roleCookie,
	"values": roleNumbers, "indices": roleNumbers, "offsets": roleNumbers,
	"memory": roleCookie, "outside": roleCookie, "content": roleNumbers, "function": roleFunction,
}

// role returns what p is; false when nothing tells.
func (s *source) role(p param) (role, bool) {
	alias := ""
	if e := s.types[p.base]; e != nil {
		alias = e.alias
	}
	switch {
	case alias == "callback":
		return roleCallback, true
	case p.stars == 0 && p.base == "bool":
		return roleBool, true
	case p.stars == 0:
		return roleInteger, true
	case isOutput(p):
		return roleOutput, true
	case p.base == "char" && p.stars == 2:
		return roleNames, true
	case p.base == "char":
		return roleText, true
	case p.stars == 2:
		return roleList, p.base == "void" || rolesByType[p.base] != ""
	case rolesByType[p.base] != "":
		return rolesByType[p.base], true
	case p.text == "const void*" && p.name == "data":
		return roleNumbers, true
	case p.base == "void":
		r, ok := rolesByName[p.name]
		return r, ok
	case s.types[p.base] != nil:
		return roleStruct, true
	}
	return roleNumbers, strings.HasPrefix(p.text, "const ")
}

// isOutput reports whether the function writes where p points to.
func isOutput(p param) bool {
	read := strings.HasPrefix(p.text, "const ") || strings.Contains(p.text, "* const")
	return strings.HasPrefix(p.name, "out_") || !read && (p.base == "char" || p.base == "uint64_t")
}

// renderFullMatrix writes the table of what the full library alone has.
func renderFullMatrix(s *source) (string, error) { return renderMatrix(s.more()) }

// renderMatrix writes the table of functions.
func renderMatrix(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("/* Every public function, as the matrix calls it. " + notice + " */\n#include \"matrix.h\"\n")
	var rows strings.Builder
	for _, e := range s.functions() {
		if err := s.writeCall(&b, e); err != nil {
			return "", err
		}
		rows.WriteString(s.matrixRow(e))
	}
	all := len(s.functions())
	fmt.Fprintf(&b, "\nconst int matrix_function_count = %d;\nconst matrix_function matrix_functions[%d] = {\n%s};\n",
		all, all, rows.String())
	return b.String(), nil
}

// writeCall writes the parameters of e and the function that calls it by words.
func (s *source) writeCall(b *strings.Builder, e *entry) error {
	var rows, args []string
	for i, p := range e.proto.params {
		r, ok := s.role(p)
		t, _ := s.scalar(p.ctype)
		if !ok || t.goType == "float32" || t.goType == "float64" {
			return fmt.Errorf("%s: %s: what is `%s %s` to the matrix?", e.where, e.name, p.text, p.name)
		}
		trusted := "false"
		if e.trusts(p.name) {
			trusted = "true"
		}
		rows = append(rows, fmt.Sprintf("\t{%q, %q, MATRIX_%s, %s, %s, %s},\n", p.name, p.base, r, s.pointee(p, r),
			isSigned(t), trusted))
		args = append(args, fmt.Sprintf("(%s)%sa[%d]", p.text, through(p, r), i))
	}
	fmt.Fprintf(b, "\n/* %s */\n", e.name)
	if len(rows) > 0 {
		fmt.Fprintf(b, "static const matrix_param params_%s[] = {\n%s};\n", e.stem(), strings.Join(rows, ""))
	}
	call := fmt.Sprintf("%s(%s)", e.name, strings.Join(args, ", "))
	fmt.Fprintf(b, "static uint64_t call_%s(const uint64_t* a)\n{\n\t(void)a;\n\t%s\n}\n", e.stem(),
		returned(e.proto.result, call))
	return nil
}

// pointee is the size of an integer, or of what a pointer to an output or a struct
// points to; 0 where nobody needs it.
func (s *source) pointee(p param, r role) string {
	t := strings.TrimPrefix(p.base, "const ")
	e := s.types[p.base]
	switch {
	case r == roleInteger:
		return "sizeof(" + t + ")"
	case r == roleOutput && p.stars == 2:
		return "sizeof(void*)"
	case e != nil && e.foreign, p.base == "void", p.base == "char", e != nil && e.proto == nil && e.fields == nil &&
		e.alias == "":
		return "0"
	case r == roleOutput, r == roleStruct:
		return "sizeof(" + t + ")"
	}
	return "0"
}

func isSigned(t scalar) string {
	if strings.HasPrefix(t.goType, "int") {
		return "true"
	}
	return "false"
}

// through casts a word to what a pointer or a function has as a number.
func through(p param, r role) string {
	if p.stars > 0 || r == roleCallback {
		return "(uintptr_t)"
	}
	return ""
}

// returned makes one word of a result.
func returned(r ctype, call string) string {
	switch {
	case r.stars > 0:
		return "return (uint64_t)(uintptr_t)" + call + ";"
	case r.base == "void":
		return call + ";\n\treturn 0;"
	case r.base == "double":
		return "return matrix_real(" + call + ");"
	case strings.HasPrefix(r.base, "int"), r.base == "tl_status":
		return "return (uint64_t)(int64_t)" + call + ";"
	}
	return "return (uint64_t)" + call + ";"
}

// matrixRow is the descriptor of e.
func (s *source) matrixRow(e *entry) string {
	params := "NULL"
	if len(e.proto.params) > 0 {
		params = "params_" + e.stem()
	}
	value, argument := e.failure()
	return fmt.Sprintf("\t{%q, call_%s, %s, %d, MATRIX_RETURNS_%s, MATRIX_PATH_%s, %s, %d, %s},\n", e.name, e.stem(),
		params,
		len(e.proto.params), resultKind(e.proto.result), strings.ToUpper(e.path()), value, argument, statusMask(e))
}

func resultKind(r ctype) string {
	switch {
	case r.stars > 0:
		return "POINTER"
	case r.base == "tl_status":
		return "STATUS"
	case r.base == "void", r.base == "bool":
		return strings.ToUpper(r.base)
	case r.base == "double":
		return "REAL"
	}
	return "INTEGER"
}

// failure is what e returns when it fails: a value, or the argument of that number.
func (e *entry) failure() (value string, argument int) {
	argument = slices.IndexFunc(e.proto.params, func(p param) bool { return p.name == e.value("Fails") })
	switch f := e.value("Fails"); {
	case argument >= 0 || f == "" || strings.Contains(f, "("):
		return "0", argument
	default:
		return "(int64_t)" + f, argument
	}
}

func statusMask(e *entry) string {
	names := errorName.FindAllString(e.labels["Errors"], -1)
	if len(names) == 0 {
		return "0"
	}
	for i, n := range names {
		names[i] = "MATRIX_STATUS(" + n + ")"
	}
	return strings.Join(names, " | ")
}

// trusts reports whether the caller is believed about the address in a parameter.
func (e *entry) trusts(name string) bool {
	return slices.Contains(strings.Split(e.value("Trusts"), ", "), name)
}

// promised is a value that prose says is returned on failure.
var promised = regexp.MustCompile(`(-1|SIZE_MAX) on failure`)

// verifyFailure wants what the entry guard returns when it refuses to be what the header says.
func verifyFailure(e *entry, fault func(string, ...any)) {
	if m := promised.FindStringSubmatch(e.labels["Returns"]); m != nil && e.value("Fails") != m[1] {
		fault("Returns says %s on failure, so a line `Fails: %s.` is needed", m[1], m[1])
	}
	for _, name := range strings.Split(e.value("Trusts"), ", ") {
		if name != "" && !slices.ContainsFunc(e.proto.params, func(p param) bool { return p.name == name }) {
			fault("Trusts: there is no parameter %s", name)
		}
	}
}
