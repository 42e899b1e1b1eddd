package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A header shares what it calls tl_NAME and TL_NAME with Go; tlc_NAME and TLC_NAME are C's alone.
type header struct {
	path  string // below cshim
	decls []sharedDecl
}

// stem is what the Go file is called by: table of cshim/registry/table.h is registry_table, what lies in base has no
// prefix.
func (h header) stem() string {
	folder, name := filepath.Base(filepath.Dir(h.path)), strings.TrimSuffix(filepath.Base(h.path), ".h")
	if folder == "base" || folder == name {
		return name
	}
	return folder + "_" + name
}

// sharedDecl is a struct, a table of numbers, or constants that stand together.
type sharedDecl struct {
	doc       []string
	name      string // of a struct (tl_context) or a table (tl_rooms); "" of constants
	table     *sharedTable
	members   []member
	constants []sharedConstant
}

// sharedTable is the type, the length and the numbers of a table.
type sharedTable struct{ base, length, numbers string }

// member is a line of a struct: names of one type.
type member struct {
	before  []string
	names   []string
	lengths []string // of the names that are arrays, "" of others
	cType   string   // without _Atomic and struct
	goType  string
	comment string
}

type sharedConstant struct {
	before               []string
	name, value, comment string
}

var (
	defineLine  = regexp.MustCompile(`^#define (TL_\w+) ([^/]+?)\s*(?:/\* (.*) \*/)?$`)
	structStart = regexp.MustCompile(`^typedef struct (tl_\w+) \{$`)
	enumOneLine = regexp.MustCompile(`^enum \{ (.*) \};\s*(?:/\* (.*) \*/)?$`)
	tableLine   = regexp.MustCompile(`^static const (\w+) (tl_\w+)\[(\w+)\] = \{(.*)\};$`)
	enumerated  = regexp.MustCompile(`^(TL_\w+) = (.+)$`)
	withComment = regexp.MustCompile(`^(.*?)\s*/\* (.*) \*/$`)
	declared    = regexp.MustCompile(`^(?:struct )?(\w+)(\*?) (\w.*)$`)
	declarator  = regexp.MustCompile(`^(\w+)(?:\[(.+)\])?$`)
	fixedWidth  = regexp.MustCompile(`^u?int(8|16|32|64)_t$`)
	anyStruct   = regexp.MustCompile(`(?m)^(?:typedef )?(?:struct|union) tl_\w+ \{`)
)

// readHeaders reads the headers of cshim that declare structs for both languages.
func readHeaders(root string) ([]header, error) {
	paths, err := headersOf(root)
	if err != nil {
		return nil, err
	}
	var headers []header
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		structs := len(anyStruct.FindAll(text, -1))
		if structs == 0 {
			continue
		}
		decls, err := readShared(strings.Split(string(text), "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		if found := countStructs(decls); found != structs {
			return nil, fmt.Errorf("%s: %d of %d structs tl_* are understood", filepath.Base(path), found, structs)
		}
		inside, err := filepath.Rel(filepath.Join(root, "cshim"), path)
		if err != nil {
			return nil, err
		}
		headers = append(headers, header{inside, decls})
	}
	return headers, nil
}

// headersOf returns the headers in the rooms of cshim.
func headersOf(root string) ([]string, error) {
	return filepath.Glob(filepath.Join(root, "cshim", "*", "*.h"))
}

func countStructs(decls []sharedDecl) int {
	n := 0
	for _, d := range decls {
		if d.members != nil {
			n++
		}
	}
	return n
}

// readShared reads declarations line by line. A comment explains what follows it with no blank line between;
// so do constants that follow each other.
func readShared(lines []string) ([]sharedDecl, error) {
	var out []sharedDecl
	var doc []string
	together := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "/*") {
			doc, i = takeComment(lines, i)
			together = false
			continue
		}
		d, last, err := readDecl(lines, i)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		switch i = last; {
		case d == nil:
			together = false
		case d.constants != nil && together:
			previous := &out[len(out)-1]
			previous.constants = append(previous.constants, d.constants...)
		default:
			d.doc = doc
			out, together = append(out, *d), d.constants != nil
		}
		doc = nil
	}
	return out, nil
}

// readDecl reads the declaration that starts at lines[i] and returns the index of its last line; nil: Go need
// not know it.
func readDecl(lines []string, i int) (*sharedDecl, int, error) {
	line := lines[i]
	if m := defineLine.FindStringSubmatch(line); m != nil {
		return &sharedDecl{constants: []sharedConstant{{nil, m[1], m[2], m[3]}}}, i, nil
	}
	if m := enumOneLine.FindStringSubmatch(line); m != nil {
		d, err := readEnum([]codeLine{{code: m[1], comment: m[2]}})
		return d, i, err
	}
	if m := tableLine.FindStringSubmatch(line); m != nil {
		return &sharedDecl{name: m[2], table: &sharedTable{m[1], m[3], m[4]}}, i, nil
	}
	m := structStart.FindStringSubmatch(line)
	if m == nil && line != "enum {" {
		return nil, i, nil
	}
	end := i + slices.IndexFunc(lines[i:], func(s string) bool { return strings.HasPrefix(s, "}") })
	if end < i {
		return nil, i, fmt.Errorf("%q does not end", line)
	}
	body, err := codeLines(lines[i+1 : end])
	if err != nil {
		return nil, i, err
	}
	if m == nil {
		d, err := readEnum(body)
		return d, end, err
	}
	members, err := readMembers(body)
	return &sharedDecl{name: m[1], members: members}, end, err
}

// codeLine is a line of a body, with the comment that stands before it and the one behind it.
type codeLine struct {
	before        []string
	code, comment string
}

func codeLines(lines []string) ([]codeLine, error) {
	var out []codeLine
	var before []string
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(line, "/*") {
			before, i = takeComment(lines, i)
			continue
		}
		if line == "" {
			continue
		}
		one := codeLine{before: before, code: line}
		if m := withComment.FindStringSubmatch(line); m != nil {
			one.code, one.comment = m[1], m[2]
		}
		if strings.ContainsAny(one.code, "/") && !strings.Contains(one.code, " / ") {
			return nil, fmt.Errorf("not understood: %q", line)
		}
		out, before = append(out, one), nil
	}
	return out, nil
}

// takeComment returns the text of the comment that starts at lines[i], and the index of its last line.
func takeComment(lines []string, i int) ([]string, int) {
	var text []string
	for ; i < len(lines); i++ {
		line, ends := strings.CutSuffix(strings.TrimSpace(lines[i]), "*/")
		line = strings.TrimPrefix(strings.TrimPrefix(line, "/*"), "*")
		text = append(text, strings.TrimRight(strings.TrimPrefix(line, " "), " "))
		if ends {
			break
		}
	}
	return text, i
}

// readEnum returns nil for enumerators that are C's alone.
func readEnum(body []codeLine) (*sharedDecl, error) {
	var out []sharedConstant
	for _, line := range body {
		if strings.HasPrefix(line.code, "TLC_") {
			continue
		}
		for _, one := range strings.Split(strings.TrimSuffix(line.code, ","), ",") {
			m := enumerated.FindStringSubmatch(strings.TrimSpace(one))
			if m == nil {
				return nil, fmt.Errorf("an enumerator without a value of its own: %q", one)
			}
			out = append(out, sharedConstant{name: m[1], value: m[2]})
		}
		out[len(out)-1].before, out[len(out)-1].comment = line.before, line.comment
	}
	if out == nil {
		return nil, nil
	}
	return &sharedDecl{constants: out}, nil
}

func readMembers(body []codeLine) ([]member, error) {
	var out []member
	for _, line := range body {
		code, atomic := strings.CutPrefix(line.code, "_Atomic ")
		code, ok := strings.CutSuffix(code, ";")
		m := declared.FindStringSubmatch(code)
		if !ok || m == nil || strings.Contains(code, ";") {
			return nil, fmt.Errorf("not a member that Go can have: %q", line.code)
		}
		goType, err := memberType(m[1], m[2])
		if err != nil {
			return nil, err
		}
		one := member{before: line.before, comment: line.comment, cType: m[1] + m[2]}
		if atomic && m[2] == "" {
			one.comment = strings.TrimSuffix("atomic; "+line.comment, "; ")
		}
		for _, d := range strings.Split(m[3], ", ") {
			part := declarator.FindStringSubmatch(d)
			if part == nil {
				return nil, fmt.Errorf("not a member that Go can have: %q", line.code)
			}
			full := goType
			if part[2] != "" {
				full = "[" + goExpression(part[2]) + "]" + goType
			}
			if one.goType != "" && one.goType != full {
				return nil, fmt.Errorf("members of two types: %q", line.code)
			}
			one.goType, one.names = full, append(one.names, part[1])
			one.lengths = append(one.lengths, part[2])
		}
		out = append(out, one)
	}
	return out, nil
}

// memberType returns the Go type of a member. The garbage collector must not see what C points to.
func memberType(base, star string) (string, error) {
	if star != "" || base == "uintptr_t" {
		return "uintptr", nil
	}
	if name, ok := strings.CutPrefix(base, "tl_"); ok {
		return camel(name), nil
	}
	if base == "char" {
		return "byte", nil
	}
	if fixedWidth.MatchString(base) {
		return strings.TrimSuffix(base, "_t"), nil
	}
	return "", fmt.Errorf("not a type that Go can have: %q", base)
}
