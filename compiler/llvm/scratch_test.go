package llvm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A function with the caller's memory needs no function of the runtime, runs in an
// arena that the caller has for other things too, and refuses one that cannot serve.
func TestScratchOfTheCaller(t *testing.T) {
	j := tinyJob("scratch", Options{Memory: Caller})
	text, err := Header(j.plan, Options{Memory: Caller, Name: "scratch"})
	require.NoError(t, err)
	assert.NotContains(t, j.text(t), "@tl_", "nothing of the runtime is called")
	dir := t.TempDir()
	library := compiled(t, dir, []*job{j})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scratch.h"), []byte(text), 0o600))
	program := filepath.Join(dir, "scratch.c")
	require.NoError(t, os.WriteFile(program, []byte(`
#include <stdlib.h>
#include <string.h>
#include "scratch.h"
int main(void) {
    float x[10], w[5] = {-1, 0, 1, 2, 3}, y[10];
    const void *in[] = {x}, *c[] = {w};
    void *out[] = {y};
    for (int i = 0; i < 10; i++) x[i] = (float)i - 4;
    memset(y, 0xA5, sizeof y);
    unsigned char *arena = aligned_alloc(scratch_FRAME_ALIGNMENT, 4096);
    memset(arena, 0xEE, 4096);
    if (scratch_info.memory != 2 || scratch_info.frame_bytes != scratch_FRAME_BYTES) return 1;
    if (scratch(in, out, c, NULL) != 1) return 2;
    for (int off = 1; off < scratch_FRAME_ALIGNMENT; off++)
        if (scratch(in, out, c, arena + off) != 1) return 3;
    for (int i = 0; i < 4096; i++) if (arena[i] != 0xEE) return 4;
    for (int i = 0; i < (int)sizeof y; i++) if (((unsigned char *)y)[i] != 0xA5) return 5;
    if (scratch(in, out, c, arena + 1024) != 0) return 6;
    for (int i = 0; i < 10; i++) {
        float product = x[i] * w[i % 5];
        if (y[i] != 2 * (product > 0 ? product : 0)) return 7;
    }
    for (int i = 0; i < 4096; i++)
        if ((i < 1024 || i >= 1024 + scratch_FRAME_BYTES) && arena[i] != 0xEE) return 8;
    free(arena);
    return 0;
}
`), 0o600))
	// No library of the runtime is linked, and none of its functions is here.
	command(t, "cc", "-o", filepath.Join(dir, "scratch"), program, library, "-Wl,-rpath,"+dir, "-Wl,--no-undefined")
	command(t, filepath.Join(dir, "scratch"))
}

// Who brings the memory may have it aligned to more than the runtime aligns to, and
// nothing is asked of one who has to bring none.
func TestAlignmentOfTheCallersScratch(t *testing.T) {
	p := tinyPlan()
	p.Frame.Alignment = 4096
	info, err := Describe(p, Options{Memory: Caller})
	require.NoError(t, err)
	assert.Equal(t, int64(4096), info.Alignment)
	text, err := Module(p, Options{Memory: Caller})
	require.NoError(t, err)
	assert.Regexp(t, `and i64 %v\d+, 4095`, text)

	p = tinyPlan()
	p.Frame.Bytes, p.Frame.Alignment = 0, 64
	p.Buffers[3].Bytes, p.Buffers[3].Shape, p.Buffers[3].Offset = 0, []int64{0}, 0
	p.Instructions, p.Buffers[2] = nil, p.Buffers[3]
	text, err = Module(p, Options{Memory: Caller})
	require.NoError(t, err)
	assert.NotContains(t, text, "ptrtoint")

	_, err = Module(tinyPlan(), Options{Memory: Caller + 1})
	require.ErrorContains(t, err, "memory of kind 3")
}
