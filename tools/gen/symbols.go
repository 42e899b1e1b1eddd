package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// symbolList has a line for each function: its name, and the first interface version that has it. It only grows.
// fullSymbolList has the functions of the full library that are not in the other one.
const (
	symbolList     = "capi/symbols.txt"
	fullSymbolList = "capi/symbols_full.txt"
)

// renderSymbols adds new functions to the list. It refuses an interface that lacks a function of the list: programs
// that call it would not start.
func (s *source) renderSymbols(list string) (string, error) {
	version := s.types["TL_ABI_VERSION"]
	if version == nil {
		return "", fmt.Errorf("TL_ABI_VERSION is not declared")
	}
	known, err := os.ReadFile(filepath.Join(s.root, list))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	declared := map[string]bool{}
	for _, e := range s.functions() {
		declared[e.name] = true
	}
	var lines []string
	for line := range strings.Lines(string(known)) {
		name, since, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if !declared[name] {
			return "", fmt.Errorf("%s is of interface %s and is not declared; declare it again, or remove its line if no "+
				"release has had it", name, since)
		}
		delete(declared, name)
		lines = append(lines, name+" "+since+"\n")
	}
	for name := range declared {
		lines = append(lines, name+" "+strings.TrimSuffix(version.macro, "u")+"\n")
	}
	slices.Sort(lines)
	return "# Each function, and the first interface (TL_ABI_VERSION) that has it. `make gen` adds lines and never " +
		"removes one.\n" + strings.Join(lines, ""), nil
}
