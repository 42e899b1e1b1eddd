package llvm

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/lower"
)

func cellsText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../testdata/run/cells.tl")
	require.NoError(t, err)
	return string(text)
}

func cells(t *testing.T, options Options) string {
	t.Helper()
	return emitted(t, cellsText(t), lower.Options{Cells: true}, options)
}

// TestInlinedOperationsOnCells wants those that need no thread inlined, and no other name for the rest.
func TestInlinedOperationsOnCells(t *testing.T) {
	text := cells(t, Options{Inline: true})
	for _, name := range []string{"dup", "is_unique", "drop"} {
		require.Contains(t, text, "@tl_inl_cell_"+name+"(ptr %")
		require.NotContains(t, text, "@tl_cell_"+name+"(")
	}
	require.Contains(t, text, "declare zeroext i1 @tl_inl_cell_drop(ptr)\n")
	require.Contains(t, text, "call ptr @tl_cell_new_typed(")
}

const cellHost = `
#include <stdio.h>
#include "tl_runtime.h"

tl_status module_init(void);
struct node *build(long long n), *map(struct node *list);
long long total(struct node *list);

int main(void)
{
    if (module_init() != TL_OK) return 1;
    tl_stats before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
    tl_stats_get(&before);
    struct node *list = build(3), *mapped = map(list);
    printf("%lld %lld %d\n", total(list), total(mapped), tl_cell_is_unique(list));
    if (tl_cell_drop(list)) tl_cell_free(list);
    if (tl_cell_drop(mapped)) tl_cell_free(mapped);
    tl_stats_get(&after);
    printf("%lld %d\n", (long long)(after.live_objects - before.live_objects), tl_last_status());
    return 0;
}
`

// TestCellsOfOthers calls a function that gets the reference of its parameter as everybody
// does, who keeps it; the result is a reference of the caller's.
func TestCellsOfOthers(t *testing.T) {
	tc := findToolchain(t)
	module := cells(t, Options{Version: tc.version})
	require.Contains(t, module, "define internal ptr @map$owned(")
	program := tc.build(t, module, cellHost, "-O2")
	for _, path := range []string{"1", "0"} {
		require.Equal(t, "36 54 1\n0 0", strings.Join(execute(t, program, path), "\n"), "TL_FASTPATH=%s", path)
	}
}
