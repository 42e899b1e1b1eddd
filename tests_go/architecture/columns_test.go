package architecture

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	mostColumns = 120
	tabColumns  = 4
)

// exemptLines returns the lines of a Go file that cannot be broken without changing what they say: texts,
// directives, and prototypes of C, which the generator reads as one line.
func exemptLines(source []byte) map[int]bool {
	files, exempt := token.NewFileSet(), map[int]bool{}
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	for {
		at, kind, text := s.Scan()
		if kind == token.EOF {
			return exempt
		}
		comment := strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//\t") || strings.HasPrefix(text, "/*")
		if kind == token.STRING || kind == token.COMMENT && comment {
			first := file.Line(at)
			for line := first; line <= first+strings.Count(text, "\n"); line++ {
				exempt[line] = true
			}
		}
	}
}

func columns(line string) int {
	n := 0
	for _, r := range line {
		if r == '\t' {
			n += tabColumns - n%tabColumns
		} else {
			n++
		}
	}
	return n
}

func TestLinesFitTheScreen(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			if entry != nil && entry.IsDir() && (entry.Name() == "build" || entry.Name() == ".git") {
				return filepath.SkipDir
			}
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(source), "// Code generated") {
			return err
		}
		exempt := exemptLines(source)
		for n, line := range strings.Split(string(source), "\n") {
			if columns(line) > mostColumns && !exempt[n+1] {
				t.Errorf("%s:%d has %d columns", path, n+1, columns(line))
			}
		}
		return nil
	})
	require.NoError(t, err)
}
