package main

import (
	"fmt"
	"slices"
	"strings"
)

// tensorNames is how the static library's tensor functions are called in a host that has
// functions of the same names: the committed list renames them so.
const tensorNames = "tl_tensor_=tlrt_tensor_"

// renderRedefine writes that list, for objcopy --redefine-syms.
func renderRedefine(s *source) (string, error) {
	list := strings.Join(s.redefine(tensorNames), "")
	return "# Other names for the tensor functions of libtl_runtime.a: docs/static.md. " + notice + "\n" + list, nil
}

// redefine lists all public functions that begin with a prefix, under another one:
// "tl_vec_=my_vec_".
func (s *source) redefine(prefixes string) (lines []string) {
	from, to, _ := strings.Cut(prefixes, "=")
	for _, e := range s.functions() {
		if rest, has := strings.CutPrefix(e.name, from); has && from != "" && to != "" {
			lines = append(lines, e.name+" "+to+rest+"\n")
		}
	}
	slices.Sort(lines)
	return lines
}

// printRedefine prints the list for prefixes of the user's.
func printRedefine(root, prefixes string) []string {
	src, faults := load(root)
	if len(faults) > 0 {
		return faults
	}
	lines := src.redefine(prefixes)
	if lines == nil {
		return []string{fmt.Sprintf("%q renames nothing: it has to be old_prefix=new_prefix, as tl_vec_=my_vec_", prefixes)}
	}
	fmt.Print(strings.Join(lines, ""))
	return nil
}
