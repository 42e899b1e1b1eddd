package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/bugs.md shows what each program of examples/bugs prints. `go test ./tools/doccheck -run Bugs -update` writes it.

const (
	bugsPage = "docs/bugs.md"
	bugsPath = "examples/bugs/"
)

var update = flag.Bool("update", false, "write what the programs of examples/bugs print into "+bugsPage)

var (
	systemFrame = regexp.MustCompile(`(?m)^ {4}#\d+ 0x[0-9a-f]+ (in \S+ )?\(.*\)\n`) // of the C library, which is not shown
	process     = regexp.MustCompile(`==\d+==`)
)

func TestBugsAreFoundAsThePageShows(t *testing.T) {
	cc, lib := tool(t, os.Getenv("CC"), "cc", "gcc", "clang"), library(t)
	sources, err := filepath.Glob(filepath.Join(root, bugsPath, "*.c"))
	if err != nil || len(sources) < 14 {
		t.Fatal(len(sources), "programs", err)
	}
	page := filepath.Join(root, bugsPage)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	blocks, files := shown(t, "output"), shown(t, "file")
	for _, source := range sources {
		path := bugsPath + filepath.Base(source)
		got := printed(t, lib, cc, path)
		if _, isShown := files[path]; !isShown {
			t.Errorf("%s does not show %s", bugsPage, path)
		}
		if masked(got) == masked(blocks[path]) {
			continue
		}
		if !*update {
			t.Errorf("%s prints\n%s\nthe page says\n%s", path, got, blocks[path])
		}
		text = block.ReplaceAllFunc(text, func(old []byte) []byte {
			if m := block.FindSubmatch(old); string(m[1]) != "output" || string(m[2]) != path {
				return old
			}
			return fmt.Appendf(nil, "<!-- output: %s -->\n```text\n%s```", path, got)
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(page, text, 0o644))
	}
}

// printed compiles and runs a program, and returns what it writes, frames of the system left out, and its status.
func printed(t *testing.T, lib, compiler, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "bug")
	at, err := filepath.Abs(root)
	require.NoError(t, err)
	must(t, nil, compiler, "-g", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fdebug-prefix-map="+at+"=.",
		"-Iinclude", source, "-o", program, "-L"+lib, "-ltl_runtime", "-Wl,-rpath,"+lib)
	command := exec.Command(program)
	command.Env = append(os.Environ(), "TL_ON_ERROR=fail", "TL_LEAK_CHECK=fail", "TL_DEBUG=1")
	out, err := command.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	text := process.ReplaceAllString(systemFrame.ReplaceAllString(string(out), ""), "==4711==")
	return strings.TrimLeft(text, "\n") + fmt.Sprintf("exit status %d\n", command.ProcessState.ExitCode())
}
