package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

// standard is how users name standard input, or standard output.
const standard = "-"

// spare refuses to write to a file that is read: the user meant another one, and would lose what stands there.
func spare(read []string, written ...string) error {
	for _, output := range written {
		for _, input := range read {
			if same(input, output) {
				return fmt.Errorf("%s is read, and the output %s would replace it; name another file to write", input, output)
			}
		}
	}
	return nil
}

// same reports whether two paths lead to one regular file that there is. A device or a pipe holds nothing to lose.
func same(read, written string) bool {
	if read == "" || written == "" || written == standard {
		return false
	}
	if read == standard {
		read = "/dev/stdin" // which may be a file
	}
	x, err := os.Stat(read)
	if err != nil || !x.Mode().IsRegular() {
		return false
	}
	y, err := os.Stat(written)
	return err == nil && os.SameFile(x, y)
}

// read returns the files that a model is planned from, beside those that hold its constants: they show when it is read.
func (m *model) read(paths ...string) []string {
	return slices.Concat(paths, slices.Sorted(maps.Values(m.inputs)), slices.Sorted(maps.Values(m.freeze)),
		[]string{m.cost})
}
