package main

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// requiredLabels stand in the doc comment of every public function, in this order, or in that of the function which
// the line `As: tl_X.` names. Those with a usual text may be left out.
var (
	requiredLabels = []string{"Ownership", "Threads", "Returns", "Errors", "Cost"}
	usual          = map[string]string{"Threads": "any thread.", "Cost": "slow call."}
	hiddenLabels   = []string{"As", "Path", "Fails", "Refuses", "Null", "Trusts", "LLVM"}
	labelLine      = regexp.MustCompile(`^([A-Z][A-Za-z]+): (.*)$`)
)

// parseDoc reads the doc comment of a public name.
func parseDoc(name string, doc *ast.CommentGroup) (*entry, error) {
	if doc == nil {
		return nil, fmt.Errorf("%s: no doc comment", name)
	}
	e := &entry{name: name, labels: map[string]string{}}
	label := ""
	lines := strings.Split(strings.TrimRight(doc.Text(), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch m := labelLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "\tC: "):
			i = e.takeDeclaration(lines, i)
		case m != nil && isLabel(m[1]):
			label = m[1]
			if e.labels[label] != "" {
				return nil, fmt.Errorf("%s: two lines %s", name, label)
			}
			e.labels[label] = m[2]
		case line == "":
			label = ""
			e.prose = append(e.prose, line)
		case label != "":
			e.labels[label] += " " + line
		default:
			e.prose = append(e.prose, line)
		}
	}
	e.prose = trimBlank(e.prose)
	return e, e.parseDeclaration()
}

// takeDeclaration reads the indented block that starts at lines[i] and returns
// the index of its last line.
func (e *entry) takeDeclaration(lines []string, i int) int {
	text := []string{strings.TrimPrefix(lines[i], "\tC: ")}
	for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\t") {
		i++
		text = append(text, strings.TrimPrefix(lines[i], "\t"))
	}
	e.c = strings.Join(text, "\n")
	return i
}

func isLabel(s string) bool {
	for _, l := range append(append([]string{}, requiredLabels...), hiddenLabels...) {
		if s == l {
			return true
		}
	}
	return false
}

// value returns a hidden label without the full stop that ends its sentence.
func (e *entry) value(label string) string { return strings.TrimSuffix(e.labels[label], ".") }

// share gives a function with a line `As: tl_X.` the labels of tl_X that it has not, and all functions the usual ones.
func (s *source) share() (faults []string) {
	byName := map[string]*entry{}
	all := s.whole().functions()
	for _, e := range all {
		byName[e.name] = e
	}
	for _, e := range all {
		name := e.value("As")
		of := byName[name]
		delete(e.labels, "As")
		switch {
		case name == "":
		case of == nil || of.value("As") != "":
			faults = append(faults, e.where+": "+e.name+": As: there is no function "+name+" with labels of its own")
		default:
			e.complete(of.labels)
		}
	}
	for _, e := range all {
		e.complete(usual)
	}
	return faults
}

// complete adds the labels that an entry has not.
func (e *entry) complete(labels map[string]string) {
	for label, text := range labels {
		if e.labels[label] == "" {
			e.labels[label] = text
		}
	}
}

// trimBlank drops blank lines at both ends and doubled ones inside.
func trimBlank(lines []string) []string {
	var out []string
	for _, l := range lines {
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, l)
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// splitTitle splits the package comment of a section into title and essay.
func splitTitle(doc *ast.CommentGroup) (string, []string) {
	if doc == nil {
		return "", nil
	}
	lines := strings.Split(doc.Text(), "\n")
	if !strings.HasPrefix(lines[0], "# ") {
		return "", nil
	}
	return strings.TrimPrefix(lines[0], "# "), trimBlank(lines[1:])
}

// skipPackageParagraph returns a package comment from its first heading on.
func skipPackageParagraph(doc *ast.CommentGroup) []string {
	if doc == nil {
		return nil
	}
	lines := strings.Split(doc.Text(), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "# ") {
			return trimBlank(lines[i:])
		}
	}
	return nil
}
