package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A header with a list of what another compiler declares, and a page.
func listed(t *testing.T, header, list, page string) []string {
	t.Helper()
	dir := fixture(t, map[string]string{"include/tl_runtime.ll": header, declarationsPath: list})
	return checkDeclarations(&document{compilerPage, page}, dir)
}

func TestDeclarationsAreCompared(t *testing.T) {
	const ours = "; a comment\ndeclare noalias ptr @tl_make(i64, i8 zeroext) nounwind\n"
	for _, c := range []struct{ list, fault string }{
		{"same compiler 123 ptr @tl_make(i64, i8)", ""},
		{"same compiler 1 void @tl_make(i64, i8)", ""}, // the caller ignores the result
		{"same compiler 1 ptr @tl_make(i64)", "`ptr @tl_make(i64)` is \"differs\", not \"same\""},
		{"same compiler 1 double @tl_make(i64, i8)", "is \"differs\", not \"same\" (here: `ptr @tl_make(i64, i8)`)"},
		{"same compiler 1 ptr @tl_made(i64, i8)", "is \"absent\""},
		{"differs compiler 1 ptr @tl_make(i64, i8)", "is \"same\""},
		{"differs runtime 2 ptr @tl_make(i64)", "does not show `ptr @tl_make(i64)`"},
		{"differs runtime 2 ptr @tl_make(i32)", "does not show `ptr @tl_make(i64, i8)`"},
		{"absent runtime 2 ptr @tl_make(i64, i8)", "is \"same\""},
		{"absent runtime 2 ptr @tl_make(i32)", "is \"differs\""},
		{"absent runtime 2 ptr @tl_made(i32)", ""},
		{"absent family 123 @tl_mak_*", ""},
		{"absent family 123 @tl_mak*", "is \"differs\", not \"absent\" (here: `ptr @tl_make(i64, i8)`)"},
		{"missing compiler 1 ptr @tl_make(i64)", "is no entry"},
		{"same compiler 4 ptr @tl_make(i64)", "is no entry"},
		{"same compiler 1 @tl_make(i64)", "is no entry"},
		{"same compiler 1 pointer @tl_make(i64)", "is no entry"},
		{"# a comment\n\nsame compiler 1 ptr @tl_make(i64, i8)", ""},
	} {
		faults := listed(t, ours, c.list, "")
		if c.fault != "" {
			wantFault(t, faults, c.fault)
		} else if len(faults) > 0 {
			t.Errorf("%s: %q", c.list, faults)
		}
	}
	faults := listed(t, ours, "differs runtime 2 ptr @tl_make(i32)",
		"| `ptr @tl_make(i32)` | `ptr @tl_make(i64, i8)` |")
	if len(faults) > 0 {
		t.Errorf("a page that shows both: %q", faults)
	}
}

// The declarations of this repository, with one function more: each name that the compiler
// has and this library lacks is found when it comes back.
func TestANewCollisionIsFound(t *testing.T) {
	theirs, faults := theirDeclarations(root)
	if len(faults) > 0 || len(theirs) < 100 {
		t.Fatalf("%d entries, %q", len(theirs), faults)
	}
	header, err := os.ReadFile(filepath.Join(root, "include", "tl_runtime.ll"))
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(root, declarationsPath))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, compilerPage))
	require.NoError(t, err)
	for _, e := range theirs {
		if e.verdict != "absent" {
			continue
		}
		name := strings.Replace(e.name, "*", "new", 1)
		faults := listed(t, string(header)+"declare i32 @"+name+"(ptr, i64)\n", string(list), string(page))
		wantFault(t, faults, "here: `i32 @"+name+"(ptr, i64)`")
	}
}
