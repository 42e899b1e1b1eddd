package main

import (
	"fmt"
	"slices"
	"strings"
)

// writeNames puts the operations behind the ordinary names. Where tracking wants the lines of calls, those that
// allocate stay calls.
func (in *inlined) writeNames(b *strings.Builder) {
	var plain, allocating strings.Builder
	for _, op := range in.operations {
		if op.believes {
			continue
		}
		e := op.e
		writeOperation(b, op, "TL_INL_STEP", "tl_inl_call_"+e.stem(), "", "tl_inl_here()"+op.search("NULL"), "", "")
		to := &plain
		if isTracked(e.stem()) {
			to = &allocating
		}
		fmt.Fprintf(to, "#define %s(...) tl_inl_call_%s(__VA_ARGS__)\n", e.name, e.stem())
	}
	b.WriteString("\n" + plain.String() + "#ifndef TL_TRACK_ALLOCATIONS\n" + allocating.String() + "#endif\n")
}

func isTracked(stem string) bool {
	for _, t := range tracked {
		if slices.Contains(t.names, stem) {
			return true
		}
	}
	return false
}

// leftOver wants every name of the text to be one that programs have.
func (in *inlined) leftOver(text string) error {
	known := map[string]bool{"tl_context_address": true, "TL_INLINE": true, "TL_INLINE_H": true, "TL_TRACK_ALLOCATIONS": true}
	for _, sec := range in.src.sections {
		for _, e := range sec.entries {
			known[e.name] = true
			for _, m := range e.enum {
				known[m.name] = true
			}
		}
	}
	for _, name := range identifier.FindAllString(text, -1) {
		if !known[name] && !strings.HasPrefix(strings.ToLower(name), "tl_inl_") && name != "tl_runtime" &&
			name != "tl_inline" {
			return fmt.Errorf("programs do not have %s", name)
		}
	}
	return nil
}
