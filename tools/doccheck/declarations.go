package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The TL compiler declares functions under names that begin as ours do. A linker binds
// them to ours whatever the arguments are, so compiler_declarations.txt lists what three states of
// that compiler declare, and whether a function of ours is the same, differs or is absent.
const (
	declarationsPath = "tools/doccheck/compiler_declarations.txt"
	compilerPage     = "docs/start-tl-compiler.md"
)

// declaration is a function by name and types: `ptr @tl_mem_new(i64)`.
type declaration struct {
	name, result string
	arguments    []string
}

func (d declaration) String() string {
	return fmt.Sprintf("%s @%s(%s)", d.result, d.name, strings.Join(d.arguments, ", "))
}

// replaces tells whether a caller that declares theirs may be bound to d.
func (d declaration) replaces(theirs declaration) bool {
	return slices.Equal(d.arguments, theirs.arguments) && (d.result == theirs.result || theirs.result == "void")
}

// entry is a row of the list. In that of a family the name ends with a star and nothing
// else is known.
type entry struct {
	verdict string
	declaration
}

func (e entry) isFamily() bool { return strings.HasSuffix(e.name, "*") }

// has tells whether a name is the entry's, or one of the family.
func (e entry) has(name string) bool {
	prefix, isFamily := strings.CutSuffix(e.name, "*")
	return name == e.name || isFamily && strings.HasPrefix(name, prefix)
}

var (
	declared = regexp.MustCompile(`^(?:declare )?((?:\w+ )*)@(\w+\*?)(?:\(([^)]*)\))?`)
	listRow  = regexp.MustCompile(`^(same|differs|absent) +(?:compiler|runtime|family) +[123]+ +(.*)$`)
)

// parseDeclaration reads a line of LLVM IR. Attributes stand between result and name, and
// behind the type of an argument.
func parseDeclaration(line string) (d declaration, ok bool) {
	m := declared.FindStringSubmatch(line)
	if m == nil {
		return d, false
	}
	d.name = m[2]
	for _, word := range strings.Fields(m[1]) {
		if typeName.MatchString(word) {
			d.result = word
		}
	}
	for _, argument := range strings.Split(m[3], ",") {
		if words := strings.Fields(argument); len(words) > 0 {
			d.arguments = append(d.arguments, words[0])
		}
	}
	return d, true
}

var typeName = regexp.MustCompile(`^(void|ptr|float|double|i\d+)$`)

// theirDeclarations reads the list; nothing when the repository has none.
func theirDeclarations(root string) (all []entry, faults []string) {
	text, err := os.ReadFile(filepath.Join(root, declarationsPath))
	if err != nil {
		return nil, nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := listRow.FindStringSubmatch(line)
		var e entry
		read := m != nil
		if read {
			e.verdict = m[1]
			e.declaration, read = parseDeclaration(m[2])
		}
		if !read || !e.isFamily() && e.result == "" {
			faults = append(faults, fmt.Sprintf("%s:%d is no entry: %s", declarationsPath, i+1, line))
			continue
		}
		all = append(all, e)
	}
	return all, faults
}

// ourDeclarations reads what `make gen` has written.
func ourDeclarations(root string) (map[string]declaration, error) {
	text, err := os.ReadFile(filepath.Join(root, "include", "tl_runtime.ll"))
	if err != nil {
		return nil, err
	}
	ours := map[string]declaration{}
	for _, line := range strings.Split(string(text), "\n") {
		if d, ok := parseDeclaration(line); ok && strings.HasPrefix(line, "declare ") {
			ours[d.name] = d
		}
	}
	return ours, nil
}

// checkDeclarations wants the first column of the list to be true, and the page to show both
// declarations of what differs.
func checkDeclarations(page *document, root string) []string {
	theirs, faults := theirDeclarations(root)
	if len(theirs) == 0 {
		return faults
	}
	ours, err := ourDeclarations(root)
	if err != nil {
		return append(faults, err.Error())
	}
	for _, e := range theirs {
		verdict, our := compare(e, ours)
		if verdict != e.verdict {
			faults = append(faults, fmt.Sprintf("%s: `%s` is %q, not %q (here: `%s`)", declarationsPath, e.declaration,
				verdict, e.verdict, our))
		}
		for _, shown := range []declaration{e.declaration, our} {
			if verdict == "differs" && (page == nil || !strings.Contains(page.text, "`"+shown.String()+"`")) {
				faults = append(faults, compilerPage+" does not show `"+shown.String()+"`")
			}
		}
	}
	return faults
}

// compare returns what the list should say of an entry, and the function of ours.
func compare(e entry, ours map[string]declaration) (verdict string, our declaration) {
	for _, d := range ours {
		switch {
		case e.has(d.name) && !e.isFamily() && d.replaces(e.declaration):
			return "same", d
		case e.has(d.name):
			return "differs", d
		}
	}
	return "absent", our
}

// withDeclarations adds the names of the list to those that a page may have.
func withDeclarations(known map[string]bool, root string) map[string]bool {
	all := map[string]bool{}
	for name := range known {
		all[name] = true
	}
	theirs, _ := theirDeclarations(root)
	for _, e := range theirs {
		all[strings.TrimSuffix(e.name, "*")] = true
	}
	return all
}
