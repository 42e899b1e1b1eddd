package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ways to write to a descriptor. Each would bring back what its only places keep from programs:
// signals of a pipe without a reader or a file at its limit, lines that are lost without a word,
// files that are lost when they cannot be replaced.
var (
	writesInGo = regexp.MustCompile(`\b(os\.(Stderr|Stdout|WriteFile|Create|CreateTemp|OpenFile|NewFile)|` +
		`(syscall|unix)\.(Write|Pwrite|Writev)|println|fmt\.Print(f|ln)?|log\.(Print|Fatal|Panic)\w*)\b`)
	writesInC = regexp.MustCompile(`\b(stderr|stdout|STDERR_FILENO|STDOUT_FILENO)\b|` +
		`\b(perror|v?dprintf|v?printf|puts|putchar|psignal|p?writev?|backtrace_symbols_fd)\(`)
)

// Standard error and files have one writer in C and one package in Go.
func TestOneWriterOfDescriptors(t *testing.T) {
	writers := []string{"cshim/host/output.c", "runtime/output/output.go", "runtime/output/replace.go",
		"runtime/output/tell.go"}
	seen := 0
	for _, pattern := range []string{"capi/*.go", "cshim/*.[ch]", "cshim/*/*.[ch]", "cshim/*.go", "cshim/*/*.go", "runtime/*/*.go", "runtime/*/*/*.go",
		"runtime/*/*/*/*.go"} {
		files, err := filepath.Glob("../../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			own, err := filepath.Rel("../..", file)
			require.NoError(t, err)
			if contains(writers, own) || isTest(own) {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			forbidden := writesInC
			if filepath.Ext(own) == ".go" {
				forbidden = writesInGo
			}
			assert.Empty(t, forbidden.FindAllString(string(text), -1), "%s: tlc_tell and package output write", own)
			seen++
		}
	}
	require.Greater(t, seen, 250)
}

func isTest(file string) bool {
	matched, err := filepath.Match("*_test.go", filepath.Base(file))
	return err == nil && matched
}
