package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// The reference of C is one page of MyST Markdown for each section of the header, and one
// with the header's essay in front of them. The documentation site is made of these pages
// by Sphinx, whose C domain writes signatures and index.

// referenceIndex is the page that lists the others.
const referenceIndex = "index.md"

// renderReference returns the pages by name.
func renderReference(s *source) map[string]string {
	var index strings.Builder
	index.WriteString("# C interface\n\nWhat `#include <tl_runtime.h>` declares, by the sections of the header. The last " +
		"ones, on graphs, are of\n`#include <tl_graph.h>` and libtl_runtime_full.so.\n\n" +
		"```{toctree}\n:maxdepth: 1\n\n")
	pages := map[string]string{}
	for _, sec := range s.whole().sections {
		var page strings.Builder
		page.WriteString("# " + sec.title + "\n\n")
		writeProse(&page, sec.essay)
		var names []string
		for _, e := range sec.entries {
			names = append(names, e.name)
		}
		page.WriteString("\nDeclared here: " + strings.Join(names, ", ") + ".\n\n")
		for _, e := range sec.entries {
			writeReference(&page, e)
		}
		pages[sec.name+".md"] = page.String()
		index.WriteString(sec.name + "\n")
	}
	index.WriteString("```\n\n")
	for _, line := range s.essay {
		if strings.HasPrefix(line, "# ") {
			line = "#" + line
		}
		writeProse(&index, []string{line})
	}
	pages[referenceIndex] = index.String()
	return pages
}

// writePages writes the reference into a folder.
func writePages(root, folder string) (faults []string) {
	src, faults := load(root)
	if len(faults) > 0 {
		return faults
	}
	for name, text := range renderReference(src) {
		if err := replace(filepath.Join(folder, name), text); err != nil {
			faults = append(faults, err.Error())
		}
	}
	return faults
}

// directive is what Sphinx calls this kind of name.
func (e *entry) directive() string {
	switch {
	case e.proto != nil:
		return "function"
	case e.macro != "":
		return "macro"
	case e.enum != nil:
		return "enum"
	case e.alias != "":
		return "type"
	}
	return "struct"
}

var bodyLine = regexp.MustCompile(`^\s*([^;,/]+)[;,]?\s*(?:/\* (.*) \*/)?$`)

// writeReference writes one declaration with its documentation.
func writeReference(b *strings.Builder, e *entry) {
	fmt.Fprintf(b, "::::{c:%s} %s\n\n", e.directive(), e.referenceSignature())
	writeProse(b, e.prose)
	if e.proto != nil {
		b.WriteString("\n")
		for _, l := range requiredLabels {
			fmt.Fprintf(b, ":%s: %s\n", l, prose(e.labels[l]))
		}
	}
	lines := strings.Split(e.c, "\n")
	if len(e.enum) > 0 || len(e.fields) > 0 && e.alias == "" {
		for _, line := range lines[1 : len(lines)-1] {
			writeMember(b, e, line)
		}
	}
	b.WriteString("::::\n\n")
}

// referenceSignature is the declaration in Sphinx's form.
func (e *entry) referenceSignature() string {
	switch e.directive() {
	case "function":
		return strings.Join(strings.Fields(strings.TrimSuffix(e.c, ";")), " ")
	case "type":
		return strings.Join(strings.Fields(strings.TrimSuffix(strings.TrimPrefix(e.c, "typedef "), ";")), " ")
	}
	return e.name
}

// writeMember writes one line of a struct or enum.
func writeMember(b *strings.Builder, e *entry, line string) {
	m := bodyLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	directive := "member"
	if e.enum != nil {
		directive = "enumerator"
	}
	fmt.Fprintf(b, "\n:::{c:%s} %s\n", directive, strings.TrimSpace(m[1]))
	if m[2] != "" {
		b.WriteString("\n" + prose(m[2]) + "\n")
	}
	b.WriteString(":::\n")
}

// writeProse writes lines of a comment as Markdown. What is indented stays code.
func writeProse(b *strings.Builder, lines []string) {
	for _, line := range lines {
		if code, ok := strings.CutPrefix(line, "\t"); ok {
			b.WriteString("    " + code + "\n")
		} else {
			b.WriteString(prose(line) + "\n")
		}
	}
}

var (
	markdownSigns = regexp.MustCompile(`[*<\[\]]`)
	spanned       = regexp.MustCompile("`[^`]*`|[^`]+|`")
)

// prose is text of a comment as Markdown, in which Markdown's signs mean nothing outside of spans of code.
func prose(text string) string {
	return spanned.ReplaceAllStringFunc(text, func(part string) string {
		if strings.HasPrefix(part, "`") {
			return part
		}
		return markdownSigns.ReplaceAllString(part, `\$0`)
	})
}
