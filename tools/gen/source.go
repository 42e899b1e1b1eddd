package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sectionOrder is the order of sections everywhere: header, tables, tests.
// A file of capi/ that declares something public has to be listed.
var sectionOrder = []string{
	"library", "scopes", "objects", "references", "refs", "cells", "vec", "shapes", "frames", "arena",
	"tensors", "tensor_properties", "tensor_growth", "tensor_views", "tensor_pool", "tensor_devices", "sharing", "sparse", "devices",
	"memory_pool",
	"limits", "registry", "workspace", "planning", "planning_search", "dlpack", "torch", "python",
	"deferred", "diagnostics", "tracking", "profiles", "inlining",
	"graphs", "executions", "execution_bodies", "graph_arenas",
}

// fullTag is the build tag of files whose sections the full library alone has.
const fullTag = "full"

// source is the interface as capi/ declares it.
type source struct {
	root     string
	version  string   // of packaging/VERSION
	essay    []string // opens the header
	sections []*section
	full     []*section        // those of the full library, behind the others
	types    map[string]*entry // by C name
}

// section is one file of capi/.
type section struct {
	name    string // of the file
	title   string
	essay   []string
	entries []*entry
	full    bool // its file has fullTag
}

// entry is one public declaration: a function or a type.
type entry struct {
	name    string
	where   string // file:line, for messages
	prose   []string
	labels  map[string]string
	c       string     // the C declaration, as written
	proto   *prototype // of a function
	enum    []enumerator
	fields  []field       // of a struct
	alias   string        // typedef'd scalar
	macro   string        // value of a #define
	foreign bool          // a struct of somebody else's header, declared and no more
	twin    *ast.FuncDecl // of a function with a slow path
}

// path is the way into a function: its line Path, or what follows from its cost. Without a Go twin it is a shim.
func (e *entry) path() string {
	switch kind := e.kind(); {
	case e.value("Path") != "":
		return e.value("Path")
	case e.twin == nil:
		return "shim"
	case kind == "fast" || kind == "grows":
		return "fast"
	}
	return "slow"
}

// kind is what the steady state of a function may cost: one of kinds, or "".
func (e *entry) kind() string {
	if m := costs.FindStringSubmatch(e.labels["Cost"]); m != nil {
		return m[1]
	}
	return ""
}

// stem is the name without its prefix, as in slow_STEM and tlgo_STEM.
func (e *entry) stem() string { return strings.TrimPrefix(e.name, "tl_") }

// functions returns the public functions in the order of the header.
func (s *source) functions() []*entry {
	var all []*entry
	for _, sec := range s.sections {
		for _, e := range sec.entries {
			if e.proto != nil {
				all = append(all, e)
			}
		}
	}
	return all
}

// more is the interface that the full library has beside the other one.
func (s *source) more() *source {
	other := *s
	other.sections, other.full = s.full, nil
	return &other
}

// whole is the interface of the full library.
func (s *source) whole() *source {
	other := *s
	other.sections, other.full = slices.Concat(s.sections, s.full), nil
	return &other
}

// load reads and verifies capi/.
func load(root string) (*source, []string) {
	src := &source{root: root, types: map[string]*entry{}}
	paths, err := filepath.Glob(filepath.Join(root, "capi", "*.go"))
	if err != nil || len(paths) == 0 {
		return nil, []string{"no capi/*.go under " + root}
	}
	version, err := os.ReadFile(filepath.Join(root, "packaging", "VERSION"))
	if err != nil {
		return nil, []string{err.Error()}
	}
	src.version = strings.TrimSpace(string(version))
	found := map[string]*section{}
	var faults []string
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "generated_") {
			continue
		}
		faults = append(faults, src.readFile(path, found)...)
	}
	for _, name := range sectionOrder {
		sec := found[name]
		delete(found, name)
		switch {
		case sec == nil:
		case sec.full:
			src.full = append(src.full, sec)
		default:
			src.sections = append(src.sections, sec)
		}
	}
	for name := range found {
		faults = append(faults, "capi/"+name+".go declares public names but is not in sectionOrder")
	}
	faults = append(faults, src.share()...)
	slices.Sort(faults)
	return src, append(faults, verify(src)...)
}

// readFile adds one file to found when it declares anything public.
func (s *source) readFile(path string, found map[string]*section) []string {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	base := strings.TrimSuffix(filepath.Base(path), ".go")
	if base == "main" {
		s.essay = skipPackageParagraph(file.Doc)
		return nil
	}
	sec := &section{name: base, full: hasTag(file, fullTag)}
	var faults []string
	for _, decl := range file.Decls {
		e, err := readEntry(decl)
		if err == nil && e == nil {
			continue
		}
		at := set.Position(decl.Pos())
		where := fmt.Sprintf("capi/%s:%d", filepath.Base(at.Filename), at.Line)
		if err != nil {
			faults = append(faults, where+": "+err.Error())
			continue
		}
		e.where = where
		sec.entries = append(sec.entries, e)
		if e.proto == nil {
			s.types[e.name] = e
		}
	}
	if len(sec.entries) > 0 {
		sec.title, sec.essay = splitTitle(file.Doc)
		if sec.title == "" {
			faults = append(faults, "capi/"+base+".go: the package comment has to begin with `# Title`")
		}
		found[base] = sec
	}
	return faults
}

// hasTag tells whether a file is part of builds with a tag alone.
func hasTag(file *ast.File, tag string) bool {
	return slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() < file.Package && c.List[0].Text == "//go:build "+tag
	})
}

// readEntry returns what a declaration makes public, nil when that is nothing.
func readEntry(decl ast.Decl) (*entry, error) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !strings.HasPrefix(d.Name.Name, "tlgo_") {
			return nil, nil
		}
		name := "tl_" + strings.TrimPrefix(d.Name.Name, "tlgo_")
		if d.Doc == nil || !slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool {
			return c.Text == "//export "+d.Name.Name
		}) {
			return nil, fmt.Errorf("%s: no line //export %s", name, d.Name.Name)
		}
		e, err := parseDoc(name, d.Doc)
		if err == nil {
			e.twin = d
		}
		return e, err
	case *ast.GenDecl:
		return readGenDecl(d)
	}
	return nil, nil
}

// readGenDecl reads `const _ = "tl_name"`.
func readGenDecl(d *ast.GenDecl) (*entry, error) {
	if len(d.Specs) != 1 {
		return nil, nil
	}
	spec, ok := d.Specs[0].(*ast.ValueSpec)
	if !ok || spec.Names[0].Name != "_" || len(spec.Values) != 1 {
		return nil, nil
	}
	lit, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return nil, nil
	}
	return parseDoc(strings.Trim(lit.Value, `"`), d.Doc)
}
