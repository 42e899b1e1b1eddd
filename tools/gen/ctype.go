package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ctype is a C type as it stands in a prototype or a field.
type ctype struct {
	text  string // "const int64_t*"
	base  string // "int64_t"
	stars int
}

// param is a parameter or a field.
type param struct {
	ctype
	name  string
	count int // of a field that is an array; else 0
}

type field = param

// prototype is the C side of a public function.
type prototype struct {
	result ctype
	params []param
}

type enumerator struct {
	name  string
	value int
}

var (
	typeName    = regexp.MustCompile(`^((?:const )?(?:struct )?(\w+)((?:\*| const)*))(?: (\w+)(?:\[(\d+)\])?)?$`)
	protoText   = regexp.MustCompile(`(?s)^([^()]*[* ])(tl_\w+)\((.*)\);$`)
	aliasText   = regexp.MustCompile(`^typedef (\w+) (tl_\w+);$`)
	enumText    = regexp.MustCompile(`(?s)^enum (tl_\w+) \{(.*)\};$`)
	enumMember  = regexp.MustCompile(`^(TL_\w+) = (-?\d+)$`)
	structText  = regexp.MustCompile(`(?s)^typedef struct (tl_\w+) \{(.*)\} (tl_\w+);$`)
	foreignText = regexp.MustCompile(`^struct (DL\w+);$`)
	opaqueText  = regexp.MustCompile(`^typedef struct (tl_\w+) (tl_\w+);$`)
	functionPtr = regexp.MustCompile(`^typedef (.+) \(\*(tl_\w+)\)\((.*)\);$`)
	macroText   = regexp.MustCompile(`^#define (TL_\w+) (\d+u?)$`)
	cComment    = regexp.MustCompile(`(?s)/\*.*?\*/`)
)

// parseDeclaration understands e.c, or says why it does not.
func (e *entry) parseDeclaration() error {
	text := strings.TrimSpace(cComment.ReplaceAllString(e.c, ""))
	var err error
	declared := ""
	if m := aliasText.FindStringSubmatch(text); m != nil {
		declared, e.alias = m[2], m[1]
	} else if m := opaqueText.FindStringSubmatch(text); m != nil {
		declared = m[2]
	} else if m := foreignText.FindStringSubmatch(text); m != nil {
		declared, e.foreign = m[1], true
	} else if m := functionPtr.FindStringSubmatch(text); m != nil {
		declared, e.alias = m[2], "callback"
		e.fields, err = parseParams(m[1], m[3])
	} else if m := macroText.FindStringSubmatch(text); m != nil {
		declared, e.macro = m[1], m[2]
	} else if m := structText.FindStringSubmatch(text); m != nil {
		declared = m[3]
		e.fields, err = parseFields(m[2])
	} else if m := enumText.FindStringSubmatch(text); m != nil {
		declared = m[1]
		e.enum, err = parseEnum(m[2])
	} else if m := protoText.FindStringSubmatch(text); m != nil {
		declared = m[2]
		e.proto, err = parsePrototype(m[1], m[3])
	} else {
		err = fmt.Errorf("no line `C: ...` that declares it, or one that is not understood: %q", e.c)
	}
	if err == nil && declared != e.name {
		err = fmt.Errorf("the C line declares %s", declared)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", e.name, err)
	}
	return nil
}

func parseType(s string) (param, error) {
	m := typeName.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return param{}, fmt.Errorf("not a type this generator knows: %q", s)
	}
	count, _ := strconv.Atoi(m[5]) // digits, or none
	return param{ctype{m[1], m[2], strings.Count(m[3], "*")}, m[4], count}, nil
}

func parsePrototype(result, params string) (*prototype, error) {
	r, err := parseType(result)
	if err != nil {
		return nil, err
	}
	p := &prototype{result: r.ctype}
	if strings.TrimSpace(params) == "void" {
		return p, nil
	}
	for _, s := range strings.Split(params, ",") {
		one, err := parseType(s)
		if err != nil {
			return nil, err
		}
		if one.name == "" || one.count != 0 {
			return nil, fmt.Errorf("a parameter without a name, or an array: %q", s)
		}
		p.params = append(p.params, one)
	}
	return p, nil
}

// parseParams returns the result, unnamed, and the parameters of a callback.
func parseParams(result, params string) ([]field, error) {
	p, err := parsePrototype(result, params)
	if err != nil {
		return nil, err
	}
	return append([]field{{ctype: p.result}}, p.params...), nil
}

func parseFields(body string) ([]field, error) {
	var out []field
	for _, s := range strings.Split(body, ";") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		f, err := parseType(s)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func parseEnum(body string) ([]enumerator, error) {
	var out []enumerator
	for _, s := range strings.Split(body, ",") {
		m := enumMember.FindStringSubmatch(strings.TrimSpace(s))
		if m == nil {
			return nil, fmt.Errorf("an enumerator without a number of its own: %q", s)
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		out = append(out, enumerator{m[1], n})
	}
	return out, nil
}

// scalar tells how one C type looks in the other languages. slow is the type of
// the Go twin as C declares it.
type scalar struct{ goType, slow, llvm, ctypes string }

var scalars = map[string]scalar{
	"void":     {"", "void", "void", "None"},
	"bool":     {"bool", "uint8_t", "zeroext i1", "ctypes.c_bool"},
	"int32_t":  {"int32", "int32_t", "i32", "ctypes.c_int32"},
	"uint32_t": {"uint32", "uint32_t", "i32", "ctypes.c_uint32"},
	"int64_t":  {"int64", "int64_t", "i64", "ctypes.c_int64"},
	"uint64_t": {"uint64", "uint64_t", "i64", "ctypes.c_uint64"},
	"uint8_t":  {"uint8", "uint8_t", "zeroext i8", "ctypes.c_uint8"},
	"size_t":   {"uintptr", "uintptr_t", "i64", "ctypes.c_size_t"},
	"float":    {"float32", "float", "float", "ctypes.c_float"},
	"double":   {"float64", "double", "double", "ctypes.c_double"},
	"callback": {"uintptr", "uintptr_t", "ptr", "ctypes.c_void_p"},
}

// scalar returns how t looks elsewhere; false when it is not a type of the ABI.
func (s *source) scalar(t ctype) (scalar, bool) {
	if t.stars > 0 {
		return scalar{"uintptr", "uintptr_t", "ptr", s.ctypesPointer(t)}, s.known(t.base) || t.base == "char"
	}
	if e := s.types[t.base]; e != nil && e.alias != "" {
		known := scalars[e.alias]
		if e.alias == "callback" {
			known.ctypes = t.base
		}
		return known, true
	}
	known, ok := scalars[t.base]
	return known, ok
}

func (s *source) known(base string) bool {
	_, builtin := scalars[base]
	return builtin || s.types[base] != nil
}
