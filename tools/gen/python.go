package main

import (
	"fmt"
	"strings"
)

const pythonPrologue = `"""The C interface as ctypes sees it: types, constants and one row per function.

` + notice + `
"""

from __future__ import annotations

import ctypes
import enum
from typing import Any, NamedTuple


class Function(NamedTuple):
    """One public function of the library."""

    name: str
    restype: Any
    argtypes: tuple[Any, ...]
    argnames: tuple[str, ...]
    errors: tuple[str, ...]

`

// renderPython writes the ctypes table.
func renderPython(s *source) (string, error) {
	var b strings.Builder
	b.WriteString(pythonPrologue)
	s.writePython(&b)
	return b.String(), nil
}

const graphPythonPrologue = `"""What the full library alone has, as ctypes sees it.

` + notice + `
"""

from __future__ import annotations

import ctypes
import enum

from .._abi import Function

`

// renderGraphPython writes the table of what the full library alone has.
func renderGraphPython(s *source) (string, error) {
	var b strings.Builder
	b.WriteString(graphPythonPrologue)
	s.more().writePython(&b)
	return b.String(), nil
}

func (s *source) writePython(b *strings.Builder) {
	for _, sec := range s.sections {
		for _, e := range sec.entries {
			s.writePythonType(b, e)
		}
	}
	b.WriteString("\nFUNCTIONS: tuple[Function, ...] = (\n")
	for _, sec := range s.sections {
		for _, e := range sec.entries {
			if e.proto != nil {
				s.writePythonFunction(b, e)
			}
		}
	}
	b.WriteString(")\n")
}

func (s *source) writePythonType(b *strings.Builder, e *entry) {
	switch {
	case e.macro != "":
		fmt.Fprintf(b, "\n%s = %s\n\n", strings.TrimPrefix(e.name, "TL_"), strings.TrimSuffix(e.macro, "u"))
	case e.enum != nil:
		fmt.Fprintf(b, "\nclass %s(enum.IntEnum):\n    %s\n\n", camel(e.stem()), docstring(e.prose, "    "))
		for _, m := range e.enum {
			fmt.Fprintf(b, "    %s = %d\n", memberName(e, m), m.value)
		}
		b.WriteString("\n")
		if e.name == dtypeEnum {
			writePythonDtypes(b, e)
		}
	case e.alias == "callback":
		types := make([]string, len(e.fields))
		for i, f := range e.fields {
			types[i] = s.callbackType(f.ctype)
		}
		fmt.Fprintf(b, "\n%s = ctypes.CFUNCTYPE(%s)\n\n", e.name, strings.Join(types, ", "))
	case len(e.fields) > 0:
		fmt.Fprintf(b, "\nclass %s(ctypes.Structure):\n    %s\n\n    _fields_ = [\n", e.name,
			docstring(e.prose, "    "))
		for _, f := range e.fields {
			t, _ := s.scalar(f.ctype)
			if f.count != 0 {
				t.ctypes = fmt.Sprintf("%s * %d", t.ctypes, f.count)
			}
			fmt.Fprintf(b, "        (%q, %s),\n", f.name, t.ctypes)
		}
		b.WriteString("    ]\n\n")
	}
}

// callbackType is a type in a callback's signature: strings and structs arrive
// there as addresses, since ctypes would otherwise copy them.
func (s *source) callbackType(t ctype) string {
	if t.stars > 0 && t.base != "char" {
		return "ctypes.c_void_p"
	}
	known, _ := s.scalar(t)
	return known.ctypes
}

// memberName shortens TL_DTYPE_F32 to F32 and TL_E_BUSY to BUSY.
func memberName(e *entry, m enumerator) string {
	for _, prefix := range []string{"TL_" + strings.ToUpper(e.stem()) + "_", "TL_E_", "TL_"} {
		if short, ok := strings.CutPrefix(m.name, prefix); ok {
			return short
		}
	}
	return m.name
}

func (s *source) writePythonFunction(b *strings.Builder, e *entry) {
	var types, names []string
	for _, p := range e.proto.params {
		t, _ := s.scalar(p.ctype)
		types = append(types, t.ctypes)
		names = append(names, fmt.Sprintf("%q", p.name))
	}
	var errors []string
	for _, name := range errorName.FindAllString(e.labels["Errors"], -1) {
		errors = append(errors, fmt.Sprintf("%q", name))
	}
	r, _ := s.scalar(e.proto.result)
	fmt.Fprintf(b, "    Function(%q, %s, %s,\n             %s,\n             %s),\n", e.name, r.ctypes,
		tuple(types), tuple(names), tuple(errors))
}

func tuple(items []string) string {
	if len(items) == 1 {
		return "(" + items[0] + ",)"
	}
	return "(" + strings.Join(items, ", ") + ")"
}

func docstring(lines []string, indent string) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(strings.ReplaceAll(l, `\`, `\\`), " "))
	}
	text := strings.ReplaceAll(strings.Join(out, "\n"+indent), "\n"+indent+"\n", "\n\n")
	if len(out) == 1 && !strings.HasSuffix(text, `"`) {
		return `"""` + text + `"""`
	}
	return `"""` + text + "\n" + indent + `"""`
}

// ctypesPointer is the ctypes type of a pointer. Objects and tensors are plain
// addresses; strings, arrays of numbers and structs keep their type.
func (s *source) ctypesPointer(t ctype) string {
	if t.stars == 1 {
		if t.base == "char" {
			return "ctypes.c_char_p"
		}
		if e := s.types[t.base]; e != nil && len(e.fields) > 0 && e.alias == "" {
			return "ctypes.POINTER(" + t.base + ")"
		}
		base := t.base
		if e := s.types[base]; e != nil && e.alias != "" {
			base = e.alias
		}
		if known, ok := scalars[base]; ok && base != "void" && base != "callback" {
			return "ctypes.POINTER(" + known.ctypes + ")"
		}
	}
	return "ctypes.c_void_p"
}
