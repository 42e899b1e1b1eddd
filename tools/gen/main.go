// Command gen writes everything that repeats the C interface: the public
// header, the export map, the prototypes and trampolines of the slow path, the
// LLVM declarations, the ctypes table, the names of functions, and the Go
// declarations of the memory that C and Go share. Its sources are capi/, where
// each public function stands once, and the headers of cshim/.
//
//	go run ./tools/gen             writes
//	go run ./tools/gen -check      fails when a file is stale or an error untested
//	go run ./tools/gen -coverage   fails when a listed error has no test
//	go run ./tools/gen -matrix F   writes the functions of the matrix, which a build makes for itself
//	go run ./tools/gen -matrix-full F
//	                               the same for what the full library alone has
//	go run ./tools/gen -kinds F    the same for the functions that cost no slow call, which a test drives
//	go run ./tools/gen -reference D
//	                               writes the pages of the C reference, of which `make docs` makes the site
//	go run ./tools/gen -redefine tl_vec_=my_vec_
//	                               prints a list for objcopy --redefine-syms (docs/static.md)
//
// It fails rather than guess: on a missing line of documentation, on a
// signature that differs between C and Go, on an export that bypasses the
// guard.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	check := flag.Bool("check", false, "write nothing; fail when a file is stale or an error has no test")
	matrix := flag.String("matrix", "",
		"write this file alone: every function, as the matrix of the proof suite calls it")
	matrixFull := flag.String("matrix-full", "", "the same with what the full library alone has")
	kindsFile := flag.String("kinds", "", "the same with the functions whose steady state needs no slow call")
	reference := flag.String("reference", "", "write the pages of the C reference into this folder")
	onlyCoverage := flag.Bool("coverage", false, "write nothing; fail when an error has no test")
	redefine := flag.String("redefine", "", "print a list for objcopy: functions of a prefix=under another one")
	flag.Parse()
	var faults []string
	switch {
	case *matrix != "":
		faults = writeOne(*root, *matrix, matrixCalls)
	case *matrixFull != "":
		faults = writeOne(*root, *matrixFull, matrixFullCalls)
	case *kindsFile != "":
		faults = writeOne(*root, *kindsFile, kindsTable)
	case *reference != "":
		faults = writePages(*root, *reference)
	case *redefine != "":
		faults = printRedefine(*root, *redefine)
	case *onlyCoverage:
		faults = checkCoverage(*root)
	case *check:
		faults = append(checkStale(*root), checkCoverage(*root)...)
	default:
		faults = write(*root)
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "gen: "+f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
}

// output is one generated file: its path in the repository and how it is made.
type output struct {
	path   string
	render func(*source) (string, error)
}

// These are written by the build of the tests alone, and checked with the others.
const (
	matrixCalls     = "matrix_calls.c"
	matrixFullCalls = "matrix_full_calls.c"
	kindsTable      = "kinds_table.h"
)

var ofTests = []string{matrixCalls, matrixFullCalls, kindsTable}

// outputs lists the generated files, but for those of the layout.
var outputs = []output{
	{"include/tl_runtime.h", renderHeader},
	{"include/tl_runtime.ll", renderLLVM},
	{"include/tl_inline.h", renderInline},
	{"include/tl_graph.h", renderGraphHeader},
	{"capi/generated_structs.go", renderStructs},
	{"capi/generated_graph_structs.go", renderFullStructs},
	{"capi/exports.map", renderExports},
	{"capi/exports_full.map", func(s *source) (string, error) { return renderExports(s.whole()) }},
	{symbolList, func(s *source) (string, error) { return s.renderSymbols(symbolList) }},
	{fullSymbolList, func(s *source) (string, error) { return s.more().renderSymbols(fullSymbolList) }},
	{"cshim/base/generated_slow.h", renderSlowHeader},
	{"cshim/generated_calls.c", renderCalls},
	{"cshim/generated_graph_calls.c", renderGraphCalls},
	{"cshim/generated_tables.c", renderTables},
	{"cshim/base/generated_dtypes.h", renderDtypes},
	{"runtime/status/statuses.go", renderStatuses},
	{"runtime/status/functions.go", renderFunctionNames},
	{"runtime/status/functions_full.go", renderFullFunctionNames},
	{"python/tl_runtime/_abi.py", renderPython},
	{"python/tl_runtime/_graph/abi.py", renderGraphPython},
	{"packaging/tl_tensor.syms", renderRedefine},
	{matrixCalls, renderMatrix},
	{matrixFullCalls, renderFullMatrix},
	{kindsTable, renderKinds},
}

// render makes all outputs, by path.
func render(root string) (map[string]string, []string) {
	src, faults := load(root)
	if len(faults) > 0 {
		return nil, faults
	}
	files := map[string]string{}
	for _, o := range outputs {
		text, err := o.render(src)
		if err != nil {
			faults = append(faults, o.path+": "+err.Error())
		}
		files[o.path] = text
	}
	shared, err := renderLayout(src)
	if err != nil {
		faults = append(faults, err.Error())
	}
	maps.Copy(files, shared)
	if err := addSums(root, files); err != nil {
		faults = append(faults, err.Error())
	}
	return files, faults
}

func write(root string) []string {
	files, faults := render(root)
	if len(faults) > 0 {
		return faults
	}
	for path, text := range committed(files) {
		if err := replace(filepath.Join(root, path), text); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults
}

// committed are the files that the repository has.
func committed(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(path, _ string) bool { return slices.Contains(ofTests, path) })
	return files
}

func writeOne(root, path, which string) []string {
	files, faults := render(root)
	if len(faults) > 0 {
		return faults
	}
	if err := replace(path, files[which]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// replace writes a file unless it has that content already, so that builds
// which look at times do not start over.
func replace(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func checkStale(root string) []string {
	files, faults := render(root)
	for path, text := range committed(files) {
		if old, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(old) != text {
			faults = append(faults, path+" is stale; run `make gen`")
		}
	}
	slices.Sort(faults)
	return faults
}
