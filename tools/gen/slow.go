package main

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
)

// renderExports writes the linker's version script.
func renderExports(s *source) (string, error) {
	var names []string
	for _, e := range s.functions() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return "# " + notice + "\nTL_1.0 {\nglobal:\n\t" + strings.Join(names, ";\n\t") + ";\nlocal:\n\t*;\n};\n", nil
}

// renderSlowHeader declares what the hand-written part of cshim needs of the
// slow path.
func renderSlowHeader(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("/* The slow path as C sees it. " + notice + " */\n")
	b.WriteString("#ifndef TL_GENERATED_SLOW_H\n#define TL_GENERATED_SLOW_H\n\n#include \"tl_runtime.h\"\n\n")
	if s.full != nil {
		b.WriteString(onlyFull + "#include \"tl_graph.h\"\n" + endFull + "\n")
	}
	b.WriteString("/* Ids of the public functions of both libraries, for the entry guard and for error messages. */\nenum " +
		"{\n\tTL_FN_NONE = 0,\n")
	for _, e := range s.whole().functions() {
		b.WriteString("\tTL_FN_" + e.name + ",\n")
	}
	b.WriteString("\tTL_FN_COUNT\n};\n\n")
	b.WriteString("/* The Go twins. The first argument is the calling thread's context; they are\n" +
		" * called between tlc_entry_begin and tlc_entry_end only. */\n")
	for _, e := range s.functions() {
		if e.twin != nil {
			b.WriteString(s.twinPrototype(e) + ";\n")
		}
	}
	s.inFull(&b, func(e *entry) {
		if e.twin != nil {
			b.WriteString(s.twinPrototype(e) + ";\n")
		}
	})
	b.WriteString(tableDeclarations)
	b.WriteString("/* Where a fast path ends when it cannot answer: entry guard, Go twin, entry guard. Out of line\n" +
		" * and cold, so that the fast path keeps its registers and its cache lines. */\n")
	for _, e := range s.functions() {
		if e.path() == "fast" {
			b.WriteString("__attribute__((cold)) " + signature(e, "slow_"+e.stem()) + ";\n")
		}
	}
	s.inFull(&b, func(e *entry) {
		if e.path() == "fast" {
			b.WriteString("__attribute__((cold)) " + signature(e, "slow_"+e.stem()) + ";\n")
		}
	})
	b.WriteString("\n#pragma GCC visibility pop\n\n#endif\n")
	return b.String(), nil
}

// The calls and tables of the full library are compiled with TL_FULL (cshim/cshim.go). The rooms of cshim are not: what
// they see of this header is the same in both libraries.
const (
	onlyFull = "#ifdef TL_FULL\n"
	endFull  = "#endif\n"
)

// inFull writes something for each function that the full library alone has.
func (s *source) inFull(b *strings.Builder, body func(*entry)) {
	if s.full == nil {
		return
	}
	b.WriteString(onlyFull)
	for _, e := range s.more().functions() {
		body(e)
	}
	b.WriteString(endFull)
}

const tableDeclarations = `
#pragma GCC visibility push(hidden)

/* Names by TL_FN_ id; "" for TL_FN_NONE. */
extern const char* const tlc_function_names[TL_FN_COUNT];

/* Every public function of this library, sorted by name: what tl_symbols returns. */
extern const tl_symbol tlc_symbols[];
extern const size_t tlc_symbol_count;

`

// renderCalls defines the slow functions, public and not.
func renderCalls(s *source) (string, error) {
	return s.renderCalls("/* The slow path: entry guard, Go twin, entry guard. " + notice + " */\n")
}

// renderGraphCalls defines those that the full library alone has.
func renderGraphCalls(s *source) (string, error) {
	return s.more().renderCalls("//go:build " + fullTag + "\n\n/* The slow path of what the full library alone has. " +
		notice + " */\n")
}

func (s *source) renderCalls(head string) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("#include \"base/frames.h\"\n#include \"guard/guard.h\"\n\n#include \"base/generated_slow.h\"\n\n")
	for _, e := range s.functions() {
		switch e.path() {
		case "slow":
			s.writeSlow(&b, e, e.name)
		case "fast":
			s.writeSlow(&b, e, "slow_"+e.stem())
		}
	}
	return b.String(), nil
}

func (s *source) writeSlow(b *strings.Builder, e *entry, name string) {
	args := []string{"(uintptr_t)context"}
	for _, p := range e.proto.params {
		args = append(args, s.toGo(p))
	}
	twin, _ := s.scalar(e.proto.result)
	fmt.Fprintf(b, "%s {\n", signature(e, name))
	begin := "tlc_entry_begin"
	if e.mayWantMemory() {
		begin = "tlc_entry_begin_for_memory"
	}
	b.WriteString("\ttl_status why = TL_OK;\n" + e.withoutGo())
	fmt.Fprintf(b, "\ttl_context* context = %s(TL_FN_%s, &why);\n", begin, e.name)
	fmt.Fprintf(b, "\tif (context == NULL) return %s;\n", e.refusal())
	call := fmt.Sprintf("tlgo_%s(%s)", e.stem(), strings.Join(args, ", "))
	if failed := e.shortOfMemory(); failed != "" {
		fmt.Fprintf(b, "\t%s result;\n\tdo {\n\t\tresult = %s;\n\t} while (%s && tlc_entry_again(context));\n",
			twin.slow, call, failed)
	} else {
		fmt.Fprintf(b, "\t%s result = %s;\n", twin.slow, call)
	}
	fmt.Fprintf(b, "\ttlc_entry_end(context);\n\treturn %s;\n}\n\n", fromGo(e.proto.result))
}

// withoutGo answers what C knows of the pointer that a function validates first.
func (e *entry) withoutGo() (code string) {
	p := e.value("Refuses")
	if null := e.value("Null"); null != "" {
		if null == "NULL" { // means nothing, which is no failure
			null = "tlc_null(tlc_tls)"
		}
		code = fmt.Sprintf("\tif (%s == NULL && tlc_is_fast(tlc_tls)) return %s;\n", p, null)
	}
	if p != "" {
		code += fmt.Sprintf("\tif (tlc_refuse(TL_FN_%s, %s, &why)) return %s;\n", e.name, p, e.refusal())
	}
	return code
}

// mayWantMemory tells whether memory may be what a call fails for.
func (e *entry) mayWantMemory() bool {
	return strings.Contains(e.labels["Errors"], "TL_E_OUT_OF_MEMORY")
}

// shortOfMemory is the condition under which a call may be repeated when the program has
// released memory for it; "" when it never is.
func (e *entry) shortOfMemory() string {
	r := e.proto.result
	switch {
	case !e.mayWantMemory() || e.labels["Fails"] != "":
		return ""
	case r.stars > 0:
		return "result == 0"
	case r.base == "tl_status":
		return "result != TL_OK"
	}
	return ""
}

// refusal is what a function returns when the entry guard lets nobody through.
func (e *entry) refusal() string {
	r := e.proto.result
	switch {
	case e.labels["Fails"] != "" && r.stars > 0 && !strings.HasSuffix(e.value("Fails"), ")"):
		return "(" + r.text + ")" + e.value("Fails")
	case e.labels["Fails"] != "":
		return e.value("Fails")
	case r.base == "tl_status" && r.stars == 0:
		return "why"
	case r.stars > 0:
		return "NULL"
	case r.base == "bool":
		return "false"
	}
	return "0"
}

// toGo is a parameter as the Go twin takes it.
func (s *source) toGo(p param) string {
	t, _ := s.scalar(p.ctype)
	if p.stars > 0 || t.slow == "uintptr_t" {
		return "(uintptr_t)" + p.name
	}
	return p.name
}

// fromGo is the twin's result as the public function returns it.
func fromGo(r ctype) string {
	switch {
	case r.stars > 0:
		return "(" + r.text + ")result"
	case r.base == "bool":
		return "result != 0"
	case r.base == "tl_status":
		return "tlc_found(context, result)"
	}
	return "result"
}

// signature is the C prototype of e under another name.
func signature(e *entry, name string) string {
	var params []string
	for _, p := range e.proto.params {
		params = append(params, p.text+" "+p.name)
	}
	if params == nil {
		params = []string{"void"}
	}
	return e.proto.result.text + " " + name + "(" + strings.Join(params, ", ") + ")"
}

func (s *source) twinPrototype(e *entry) string {
	params := []string{"uintptr_t context"}
	for _, p := range e.proto.params {
		t, _ := s.scalar(p.ctype)
		params = append(params, t.slow+" "+p.name)
	}
	r, _ := s.scalar(e.proto.result)
	return "extern " + r.slow + " tlgo_" + e.stem() + "(" + strings.Join(params, ", ") + ")"
}

// renderTables defines the tables of functions, in a file that knows the public header alone.
func renderTables(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("/* Tables of the public functions. " + notice + " */\n#include \"base/generated_slow.h\"\n\n")
	b.WriteString("const char* const tlc_function_names[TL_FN_COUNT] = {\n\t\"\",\n")
	for _, e := range s.functions() {
		fmt.Fprintf(&b, "\t%q,\n", e.name)
	}
	s.inFull(&b, func(e *entry) { fmt.Fprintf(&b, "\t%q,\n", e.name) })
	all, full := s.whole().functions(), s.more().functions()
	slices.SortFunc(all, func(x, y *entry) int { return strings.Compare(x.name, y.name) })
	b.WriteString("};\n\nconst tl_symbol tlc_symbols[] = {\n")
	inside := false
	for _, e := range all {
		if isFull := slices.Contains(full, e); isFull != inside {
			inside = isFull
			b.WriteString(map[bool]string{true: onlyFull, false: endFull}[inside])
		}
		fmt.Fprintf(&b, "\t{%q, (void*)(uintptr_t)%s},\n", e.name, e.name)
	}
	if inside {
		b.WriteString(endFull)
	}
	b.WriteString("};\n\nconst size_t tlc_symbol_count = sizeof tlc_symbols / sizeof *tlc_symbols;\n")
	return b.String(), nil
}

// renderStatuses writes the statuses of tl_status_code for Go.
func renderStatuses(s *source) (string, error) {
	var constants, names strings.Builder
	for _, m := range s.types["tl_status_code"].enum {
		name := "OK"
		if short, ok := strings.CutPrefix(m.name, "TL_E_"); ok {
			name = camel(strings.ToLower(short))
		}
		fmt.Fprintf(&constants, "%s Status = %d\n", name, m.value)
		fmt.Fprintf(&names, "%s: %q,\n", name, m.name)
	}
	text, err := format.Source([]byte("// Code generated by tools/gen from capi/*.go. DO NOT EDIT.\n\npackage status\n\n// The statuses of C.\n" +
		"const (\n" + constants.String() + ")\n\nvar names = [...]string{\n" + names.String() + "}\n"))
	return string(text), err
}

// renderFunctionNames gives Go the names behind the ids in error records.
func renderFunctionNames(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("// Code generated by tools/gen from capi/. DO NOT EDIT.\n\npackage status\n\n")
	b.WriteString("var functions = []string{\n\t\"\",\n")
	for _, e := range s.functions() {
		fmt.Fprintf(&b, "\t%q,\n", e.name)
	}
	b.WriteString("}\n\n// Function returns the name of the public function with a TL_FN_ id, \"\" for\n" +
		"// ids that do not exist.\nfunc Function(id uint32) string {\n" +
		"\tif int(id) >= len(functions) {\n\t\treturn \"\"\n\t}\n\treturn functions[id]\n}\n")
	return b.String(), nil
}

// renderFullFunctionNames adds the names of what the full library alone has.
func renderFullFunctionNames(s *source) (string, error) {
	var b strings.Builder
	b.WriteString("// Code generated by tools/gen from capi/. DO NOT EDIT.\n\n//go:build " + fullTag + "\n\npackage status\n\n" +
		"func init() {\n\tfunctions = append(functions,\n")
	for _, e := range s.more().functions() {
		fmt.Fprintf(&b, "\t\t%q,\n", e.name)
	}
	b.WriteString("\t)\n}\n")
	return b.String(), nil
}
