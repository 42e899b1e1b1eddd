package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

func TestDocumentation(t *testing.T) {
	for _, fault := range check(root) {
		t.Error(fault)
	}
}

// fixture is a repository of the given files.
func fixture(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range files {
		full := filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
		require.NoError(t, os.WriteFile(full, []byte(text), 0o644))
	}
	return dir
}

func wantFault(t *testing.T, faults []string, part string) {
	t.Helper()
	if !slices.ContainsFunc(faults, func(f string) bool { return strings.Contains(f, part) }) {
		t.Errorf("no fault says %q; there are %q", part, faults)
	}
}

func TestFaultsAreFound(t *testing.T) {
	const readme = `# Title

<!-- file: a.c -->
` + "```c\nint old;\n```" + `

[here](a.c) [there](missing.md) [section](#title) [no section](#else) ` + "`[not a link](x)`" + `
tl_known, tl_kno*, tl_unknown, tl_unk*
`
	const options = `| option | default | fixed |
|---|---|---|
| ` + "`TL_ON_ERROR` | `log` | any time |" + `
| ` + "`TL_FASTPATH` | `1` | any time |" + `
| ` + "`TL_NOPE` | `1` | any time |\n"
	const start = "<!-- file: a.c -->\n```c\nint new;\n```\n```sh\nuntried\n```\n"
	dir := fixture(t, map[string]string{
		"README.md": readme, "a.c": "int new;\n", "docs/options.md": options, "docs/start-a.md": start,
		"docs/start-b.md": "<!-- file: a.c -->\n```c\nint new;\n```\n<!-- run -->\n```sh\ncc b.c\n```\n",
		"include/x.h":     "int tl_known(void); int TL_ON_ERROR, TL_FASTPATH, TL_NOPE;",
		"docs/errors.md":  "| 0 | `TL_OK` |  |  |\n| 1 | `TL_E_WRONG` | | `NoError` |\n",
	})
	faults := check(dir)
	for _, part := range []string{"another a.c", "missing.md leads nowhere", "#else: no such heading",
		"there is no tl_unknown",
		"there is no tl_unk*", "default of TL_ON_ERROR is ignore", `TL_FASTPATH is read "first use"`,
		"no option TL_NOPE", "lacks the option TL_ARENA_BYTES", "row 1 TL_E_WRONG", "Python has no \"NoError\"",
		"lacks TL_E_UNKNOWN_POINTER",
		"start-a.md has no commands", "the block that begins with untried", "no command of the page uses a.c"} {
		wantFault(t, faults, part)
	}
	for _, f := range faults {
		for _, fine := range []string{"tl_known", "tl_kno*", "(a.c)", "#title", "no x"} {
			if strings.HasSuffix(f, " "+fine) {
				t.Errorf("a fault where there is none: %s", f)
			}
		}
	}
}

func TestStepsAreReadInOrder(t *testing.T) {
	page := &document{"docs/start-a.md", "<!-- run -->\n```sh\none\n```\n\n<!-- prints -->\n```text\n1\n```\n" +
		"<!-- run where which cc -->\n```sh\ntwo\n```\n<!-- file: a.c -->\n```c\nint a;\n```\n"}
	want := []step{{"one\n", "", "1\n", true}, {commands: "two\n", where: "which cc"}}
	if got := page.steps(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestWhatIsPrintedIsCompared(t *testing.T) {
	for _, c := range []struct {
		text, wanted string
		equal        bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"at 0x12\n", "at 0xff\n", true},
		{"a\nb\nc\n", "a\n...\nc\n", true},
		{"a\nc\n", "a\n...\nc\n", true},
		{"a\nb\n", "a\n...\n", true},
		{"a b\n", "a ...\n", true},
		{"b a\n", "a ...\n", false},
		{"a\nb\n", "a\n", false},
		{"a\n", "a\nb\n", false},
		{"a\nb\nd\n", "a\n...\nc\n", false},
	} {
		if got := matches(c.text, c.wanted); got != c.equal {
			t.Errorf("%q and %q: %v", c.text, c.wanted, got)
		}
	}
}

func TestRefreshCopiesFilesAndFigures(t *testing.T) {
	results, err := os.ReadFile(filepath.Join(root, "bench", "RESULTS.md"))
	require.NoError(t, err)
	dir := fixture(t, map[string]string{
		"README.md": "<!-- file: a.c -->\n```c\nint old; // $1\n```\n" + places[1].begin + "old\n" + places[1].end +
			"\n" +
			places[0].begin + "old\n" + places[0].end + "\nrest\n",
		"a.c":              "int new; // $1\n",
		"bench/RESULTS.md": string(results),
	})
	require.NoError(t, refresh(dir))
	docs, err := load(dir)
	require.NoError(t, err)
	readme := docs["README.md"]
	if got := readme.blocks("file")["a.c"]; got != "int new; // $1\n" {
		t.Errorf("the block holds %q", got)
	}
	if strings.Contains(readme.text, "\nold\n") || !strings.HasSuffix(readme.text, places[0].end+"\nrest\n") {
		t.Errorf("figures were not replaced, or more than they: %s", readme.text)
	}
	if faults := checkFigures(readme, dir); faults != nil {
		t.Error(faults)
	}
}

func TestFiguresOfAMissingPeerAreLeftOut(t *testing.T) {
	r := &results{sections: map[string]map[string][]string{
		"Counting": {"ours": {"ours", "4.35", "", "7"}}, "Counting twice": {"peer": {"peer", "1"}},
	}}
	if text, found := r.fill("Counting", "about {ours} ns"); !found || text != "about 4.35 ns" {
		t.Errorf("got %q, %v", text, found)
	}
	if text, found := r.fill("Counting", "{ours@3} ns"); !found || text != "7 ns" {
		t.Errorf("got %q, %v", text, found)
	}
	for _, empty := range []string{"{ours@2}", "{ours@4}"} {
		if _, found := r.fill("Counting", empty); found {
			t.Errorf("%s is no figure", empty)
		}
	}
	if text, found := r.fill("Counting", "none"); !found || text != "none" {
		t.Errorf("got %q, %v", text, found)
	}
	if _, found := r.fill("Counting", "{peer} ns"); found {
		t.Error("a peer that was not measured has a figure")
	}
}

func TestCostsAreTheRowsInWhichOursIsDearer(t *testing.T) {
	r := &results{sections: map[string]map[string][]string{"Counting": {
		"ours": {"ours", "1,004.35"}, "peer": {"peer", "1,004.36"}, "more": {"more", "9"},
	}}}
	p := place{isDearer: true, figures: []figure{
		{"cheaper", "Counting", "{ours} ns", []string{"{peer} ns"}},
		{"dearer", "Counting", "{ours} ns", []string{"{more} ns"}},
		{"beside nothing", "Counting", "{ours} ns", []string{"none"}},
	}}
	got, err := r.table(p)
	require.NoError(t, err)
	if strings.Contains(got, "| cheaper |") || !strings.Contains(got, "| dearer | 1,004.35 ns | 9 ns |") ||
		!strings.Contains(got, "| beside nothing |") {
		t.Error(got)
	}
}

// TestAnyFunctionReturnsTheSameStatuses compares what the header and docs/errors.md say of statuses that functions do
// not list.
func TestAnyFunctionReturnsTheSameStatuses(t *testing.T) {
	statuses := func(file, from, to string) []string {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		_, after, found := strings.Cut(string(text), from)
		require.True(t, found, file)
		part, _, found := strings.Cut(after, to)
		require.True(t, found, file)
		all := regexp.MustCompile(`TL_E_[A-Z_]+`).FindAllString(part, -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	header := statuses("include/tl_runtime.h", "The lists of errors below are complete, except for seven",
		"NULL is a valid object")
	require.Len(t, header, 7)
	require.Equal(t, header, statuses("docs/errors.md", "Seven statuses are not repeated there", "## What is checked"))
}
