package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The files of cshim/inline are compiled by the library and by programs. Programs get them in one
// header, under names that begin with tl_inl_, with as much of the layout as they use.

// inlineSurroundings stands in front of inlineSteps; inlineNames is for programs that define TL_INLINE.
const (
	inlineSurroundings = "client.h"
	inlineNames        = "names.h"
)

var inlineSteps = []string{
	"records.h", "counts.h", "refs.h", "objects.h", "cells.h", "scopes.h", "arena.h", "tensors.h",
}

var (
	identifier   = regexp.MustCompile(`\b(?:tlc|TLC|tl|TL)_\w+`)
	fieldUse     = regexp.MustCompile(`(?:->|\.)(\w+)`)
	fixedUse     = regexp.MustCompile(`TLC_FIXED\(c, (\w+)\)`)
	macroLine    = regexp.MustCompile(`(?m)^#define (TL_\w+)(\([^)]*\)) (.*)$`)
	staticInline = regexp.MustCompile(`static inline (?:__attribute__\(\(always_inline\)\) )?`)
	accessor     = regexp.MustCompile(`static inline __attribute__\(\(pure\)\) `)
	opStart      = regexp.MustCompile(`(?s)bool tlc_op_(\w+)\(([^()]*)\)\s*\{`)
	foundBefore  = regexp.MustCompile(`, (const )?tlc_search\* found`)
	probeLine    = regexp.MustCompile(`(?m)^\t+TLC_PROBE_\w+\(.*\);\n`)
	firstComment = regexp.MustCompile(`(?s)^/\*.*?\*/\n`)
	includeGuard = regexp.MustCompile(`(?s)#ifndef (TL_INLINE_\w+_H)\n#define TL_INLINE_\w+_H\n(.*)\n#endif\n$`)
)

// inlined is what tl_inline.h is made of.
type inlined struct {
	src     *source
	headers []header
	sizes   types.Sizes
	scope   *types.Scope

	surroundings, steps, names string            // text of the library
	macros                     map[string]string // of layout.h, that take arguments: their whole line
	renamed                    map[string]string // from names of the library
	operations                 []inlineOperation
}

// inlineOperation is a function tlc_op_NAME and the public function that it may answer.
type inlineOperation struct {
	e         *entry
	hasResult bool
	isApart   bool // it has no context
	finds     bool // it leaves what it found of its object to those behind it
	takes     bool // it takes what one before it found
	believes  bool // it does not check what the call does, so it is not behind the ordinary name
}

// renderInline writes include/tl_inline.h.
func renderInline(s *source) (string, error) {
	in, err := loadInlined(s)
	if err != nil {
		return "", err
	}
	text, err := in.header()
	if err != nil {
		return "", err
	}
	return text, checkInlineVersion(s, text)
}

func loadInlined(s *source) (*inlined, error) {
	headers, err := readHeaders(s.root)
	if err != nil {
		return nil, err
	}
	in := &inlined{src: s, headers: headers, macros: map[string]string{}, renamed: map[string]string{}}
	in.sizes, in.scope, err = typecheck(headers, func(name string) string { return "unsafe.Sizeof(" + name + "{})" })
	if err != nil {
		return nil, err
	}
	if in.surroundings, err = inlinePiece(s.root, inlineSurroundings); err != nil {
		return nil, err
	}
	if in.names, err = inlinePiece(s.root, inlineNames); err != nil {
		return nil, err
	}
	for _, name := range inlineSteps {
		text, err := inlinePiece(s.root, name)
		if err != nil {
			return nil, err
		}
		in.steps += text
	}
	layout, err := os.ReadFile(filepath.Join(s.root, "cshim", "base", "layout.h"))
	if err != nil {
		return nil, err
	}
	for _, m := range macroLine.FindAllSubmatch(layout, -1) {
		in.macros[string(m[1])] = string(m[0])
	}
	return in, in.readOperations()
}

// inlinePiece returns a file of cshim/inline without its first comment and its include guard, and without
// probes: a program's notes would say that they are the library's.
func inlinePiece(root, name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "cshim", "inline", name))
	if err != nil {
		return "", err
	}
	m := includeGuard.FindStringSubmatch(firstComment.ReplaceAllString(string(text), ""))
	if m == nil {
		return "", fmt.Errorf("cshim/inline/%s: a comment and an include guard around everything are wanted", name)
	}
	return probeLine.ReplaceAllString(m[2], ""), nil
}

// readOperations finds the functions tlc_op_NAME, and holds them to the public function tl_NAME.
func (in *inlined) readOperations() error {
	for _, m := range opStart.FindAllStringSubmatch(in.steps, -1) {
		all := in.src.functions()
		i := slices.IndexFunc(all, func(e *entry) bool { return e.stem() == m[1] })
		if i < 0 || all[i].path() != "fast" {
			return fmt.Errorf("tlc_op_%s: tl_%s is no function with a fast path", m[1], m[1])
		}
		e := all[i]
		hasResult := e.proto.result.base != "tl_status" || e.proto.result.stars > 0
		got := strings.Join(strings.Fields(m[2]), " ")
		isApart := !strings.Contains(m[2], "tl_context* c")
		var want []string
		if !isApart {
			want = append(want, "tl_context* c")
		}
		given := foundBefore.FindString(got)
		got = strings.Replace(got, given, "", 1)
		for _, p := range e.proto.params {
			want = append(want, p.text+" "+p.name)
		}
		if hasResult {
			want = append(want, e.proto.result.text+"* result")
		}
		if strings.Replace(got, "const tl_context", "tl_context", 1) != strings.Join(want, ", ") {
			return fmt.Errorf("tlc_op_%s has (%s), tl_%s needs (%s)", m[1], got, m[1], strings.Join(want, ", "))
		}
		in.operations = append(in.operations, inlineOperation{
			e: e, hasResult: hasResult, isApart: isApart, believes: strings.HasPrefix(m[1], "cell_"),
			finds: given != "" && !strings.Contains(given, "const"), takes: strings.Contains(given, "const"),
		})
	}
	if in.operations == nil {
		return fmt.Errorf("no function tlc_op_ in %s", strings.Join(inlineSteps, ", "))
	}
	return nil
}

// header puts tl_inline.h together.
func (in *inlined) header() (string, error) {
	constants, structs, err := in.used()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(fmt.Sprintf(inlineHead, in.src.version, notice))
	b.WriteString("\n/* ---- constants and memory of the library ---- */\n\n")
	in.writeConstants(&b, constants)
	in.writeStructs(&b, structs)
	b.WriteString(in.asSteps(in.surroundings + in.steps))
	in.writeOperations(&b)
	b.WriteString("\n#ifdef TL_INLINE\n" + in.asSteps(in.names))
	in.writeNames(&b)
	b.WriteString("\n#endif\n\n#endif\n")
	return b.String(), in.leftOver(b.String())
}

const inlineHead = `/* TL Runtime %s: the fast path of frequent functions, to be inlined.
 * %s The code is that of cshim/inline.
 *
 * With TL_INLINE defined before tl_runtime.h is included, calls of these functions by their ordinary names are inlined.
 * Each tl_inl_NAME beside is for compilers that emit C or LLVM IR. Its first argument is the address of a variable of the
 * function that emits it, a tl_inl_thread. tl_inl_op_NAME has the context as its first argument; where it returns false it
 * has done nothing, and the program makes the call. tl_inl_NAME_unchecked has the arguments of the call, and checks nothing.
 * docs/inlining.md has the rules.
 */
#ifndef TL_INLINE_H
#define TL_INLINE_H

#include "tl_runtime.h"

#ifndef __GNUC__
#error "tl_inline.h is for gcc and clang"
#endif
#pragma GCC system_header

#define TL_INL_STEP static inline __attribute__((always_inline, unused))
#ifndef TL_INL_FUNCTION
#define TL_INL_FUNCTION TL_INL_STEP
#endif
#define TL_INL_ACCESSOR TL_INL_FUNCTION __attribute__((pure))
`

// used returns the constants and the structs that the text names, and those that they name themselves,
// in the order of their declaration.
func (in *inlined) used() (constants []string, structs []sharedDecl, err error) {
	needed := map[string]bool{}
	todo := identifier.FindAllString(in.surroundings+in.steps, -1)
	fields := in.fieldsUsed()
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if needed[name] {
			continue
		}
		needed[name] = true
		todo = append(todo, in.namedBy(name, fields)...)
	}
	for name := range in.macros {
		if needed[name] {
			constants = append(constants, name)
		}
	}
	slices.Sort(constants)
	for _, h := range in.headers {
		for _, d := range h.decls {
			for _, c := range d.constants {
				if needed[c.name] {
					constants = append(constants, c.name)
				}
			}
			if d.members != nil && needed[d.name] {
				structs = append(structs, d)
			}
		}
	}
	return constants, structs, in.nameAll(constants, structs)
}

// namedBy returns what the declaration of a name names.
func (in *inlined) namedBy(name string, fields map[string]bool) []string {
	if line, ok := in.macros[name]; ok {
		return identifier.FindAllString(line, -1)
	}
	for _, h := range in.headers {
		for _, d := range h.decls {
			if d.name != name {
				continue
			}
			var out []string
			for _, m := range d.members {
				if slices.ContainsFunc(m.names, func(n string) bool { return fields[n] }) {
					out = append(out, identifier.FindAllString(m.cType, -1)...)
				}
			}
			return out
		}
	}
	return nil
}

func (in *inlined) fieldsUsed() map[string]bool {
	fields := map[string]bool{}
	text := in.steps + in.surroundings + in.names
	for _, line := range in.macros {
		text += line
	}
	for _, m := range fieldUse.FindAllStringSubmatch(text, -1) {
		fields[m[1]] = true
	}
	for _, m := range fixedUse.FindAllStringSubmatch(in.steps, -1) {
		fields[m[1]] = true
	}
	return fields
}

// nameAll says what each name of the library is called in programs, where two must not become one.
func (in *inlined) nameAll(constants []string, structs []sharedDecl) error {
	taken := map[string]string{}
	give := func(name string) error {
		prefix, rest, _ := strings.Cut(name, "_")
		to := "tl_inl_" + rest
		if prefix == strings.ToUpper(prefix) {
			to = "TL_INL_" + rest
		}
		if other := taken[to]; other != "" && other != name {
			return fmt.Errorf("%s and %s would both be %s in programs", other, name, to)
		}
		taken[to], in.renamed[name] = name, to
		return nil
	}
	names := constants
	for _, d := range structs {
		names = append(names, d.name)
	}
	for _, name := range identifier.FindAllString(in.surroundings+in.steps+in.names, -1) {
		if strings.HasPrefix(strings.ToLower(name), "tlc_") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if err := give(name); err != nil {
			return err
		}
	}
	return nil
}

func (in *inlined) rename(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(name string) string {
		if to := in.renamed[name]; to != "" {
			return to
		}
		return name
	})
}

// asSteps is text of the library as programs have it. Accessors are for compilers as they are.
func (in *inlined) asSteps(text string) string {
	text = accessor.ReplaceAllString(in.rename(text), "TL_INL_ACCESSOR ")
	return staticInline.ReplaceAllString(text, "TL_INL_STEP ")
}

// writeConstants writes constants as numbers, and macros as they are.
func (in *inlined) writeConstants(b *strings.Builder, names []string) {
	for _, name := range names {
		if line, ok := in.macros[name]; ok {
			b.WriteString(in.rename(line) + "\n")
			continue
		}
		value := constant.ToInt(in.scope.Lookup(goName(name)).(*types.Const).Val())
		fmt.Fprintf(b, "#define %s %su\n", in.renamed[name], value.ExactString())
	}
	b.WriteString("\n")
}

// writeStructs writes structs with the members that programs use, and gaps in place of the others.
func (in *inlined) writeStructs(b *strings.Builder, structs []sharedDecl) {
	fields := in.fieldsUsed()
	for _, d := range structs {
		fmt.Fprintf(b, "typedef struct %s %s;\n", in.renamed[d.name], in.renamed[d.name])
	}
	for _, d := range structs {
		st := in.scope.Lookup(goName(d.name)).Type().Underlying().(*types.Struct)
		all := make([]*types.Var, st.NumFields())
		for i := range all {
			all[i] = st.Field(i)
		}
		offsets := in.sizes.Offsetsof(all)
		fmt.Fprintf(b, "\nstruct %s {\n", in.renamed[d.name])
		at, gaps, i := int64(0), 0, 0
		gap := func(to int64) {
			if to > at {
				fmt.Fprintf(b, "\tchar gap%d[%d];\n", gaps, to-at)
				gaps++
			}
			at = to
		}
		for _, m := range d.members {
			for k, name := range m.names {
				if fields[name] {
					gap(offsets[i])
					length := ""
					if m.lengths[k] != "" {
						array := all[i].Type().Underlying().(*types.Array)
						length = fmt.Sprintf("[%d]", array.Len())
					}
					fmt.Fprintf(b, "\t%s %s%s;\n", in.rename(m.cType), name, length)
					at = offsets[i] + in.sizes.Sizeof(all[i].Type())
				}
				i++
			}
		}
		gap(in.sizes.Sizeof(st))
		b.WriteString("};\n")
	}
}

// arguments are the names of the parameters of e, each behind a comma.
func arguments(e *entry) string {
	var b strings.Builder
	for _, p := range e.proto.params {
		b.WriteString(", " + p.name)
	}
	return b.String()
}

func parameters(e *entry) string {
	var b strings.Builder
	for _, p := range e.proto.params {
		b.WriteString(", " + p.text + " " + p.name)
	}
	return b.String()
}

// writeOperations writes the functions for compilers.
func (in *inlined) writeOperations(b *strings.Builder) {
	b.WriteString(inlineThread)
	for _, op := range in.operations {
		if op.isApart {
			writeOperation(b, op, "TL_INL_FUNCTION", "tl_inl_"+op.e.stem(), "", "", "", "")
			continue
		}
		writeOperation(b, op, "TL_INL_FUNCTION", "tl_inl_"+op.e.stem(), "tl_inl_thread* thread, ",
			"(tl_inl_context*)thread->context"+op.search("&thread->found"), "TL_INL_LIKELY(thread->context != 0) && ",
			"\tthread->context = 0;\n")
	}
}

const inlineThread = `
/* ---- for compilers: operations of a thread ---- */

/* What a function keeps of its thread: the word in which the library has the context, and what it said last; NULL after an
 * operation that made a call. Operations make calls then, so that the code behind one that answered is reached from there
 * alone, and a compiler can join what two of them do alike, for instance their search for one object's record. What an
 * operation found is good while there is a context. */
typedef struct tl_inl_thread {
	void* const* address;
	void* context;
	tl_inl_search found;
} tl_inl_thread;

/* After a call of any other function, and where the body of a loop begins. */
TL_INL_FUNCTION void tl_inl_retake(tl_inl_thread* thread)
{
	thread->context = *thread->address;
	if (thread->context == 0) __builtin_unreachable();
	thread->found.object = 0; /* nothing is found; a release of NULL reads the context, which never has this life */
	thread->found.record = (tl_inl_record*)thread->context;
	thread->found.life = ~(uint64_t)0xFF << 32;
}

/* Where a function begins to which its caller has handed the address on. */
TL_INL_FUNCTION void tl_inl_begin_at(tl_inl_thread* thread, void* const* address)
{
	thread->address = address;
	tl_inl_retake(thread);
}

/* Where any other function begins. */
TL_INL_FUNCTION void tl_inl_begin(tl_inl_thread* thread)
{
	tl_inl_begin_at(thread, tl_context_address(TL_INLINE_VERSION));
}
`

// writeOperation writes a function that answers a call, under a condition, or makes it, and what it does after that.
func writeOperation(b *strings.Builder, op inlineOperation, linkage, name, first, context, condition, after string) {
	e, result := op.e, op.e.proto.result.text
	params := strings.TrimSuffix(first+strings.TrimPrefix(parameters(e), ", "), ", ")
	if params == "" {
		params = "void"
	}
	fmt.Fprintf(b, "\n%s %s %s(%s)\n{\n\t%s result%s;\n", linkage, result, name, params, result, initially(op))
	if op.finds && first != "" {
		fmt.Fprintf(b, "\tthread->found.object = %s;\n", e.proto.params[0].name)
	}
	fmt.Fprintf(b, "\tif (%sTL_INL_LIKELY(%s)) return result;\n\tresult = (%s)(%s);\n%s\treturn result;\n}\n",
		condition, op.attempt(context), e.name, strings.TrimPrefix(arguments(e), ", "), after)
}

func initially(op inlineOperation) string {
	if op.hasResult {
		return ""
	}
	return " = TL_OK"
}

// search is the argument of an operation that finds or takes.
func (op inlineOperation) search(found string) string {
	if op.finds || op.takes {
		return ", " + found
	}
	return ""
}

// attempt is the call of the step that may answer.
func (op inlineOperation) attempt(context string) string {
	result := ""
	if op.hasResult {
		result = ", &result"
	}
	return fmt.Sprintf("tl_inl_op_%s(%s)", op.e.stem(), strings.TrimPrefix(context+arguments(op.e)+result, ", "))
}
