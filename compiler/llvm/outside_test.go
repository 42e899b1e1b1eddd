package llvm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// thereAndBack is a chain whose values are needed again in the opposite order, in part through a view.
func thereAndBack(t *testing.T, length int) *graph.Checked {
	shape := []graph.Dim{{Size: 12}, {Size: 20}}
	g := &graph.Graph{Name: "chain", Inputs: []graph.Value{{Name: "v0", DType: graph.F32, Shape: shape}}}
	node := func(op, out string, in ...string) string {
		n := graph.Node{Name: out, Op: op, Inputs: in, Outputs: []string{out}}
		if op == "Transpose" {
			n.Attrs = graph.Attrs{"perm": []int64{1, 0}}
		}
		g.Nodes = append(g.Nodes, n)
		return out
	}
	for i := range length {
		node("Tanh", fmt.Sprint("v", i+1), fmt.Sprint("v", i))
	}
	back := node("Transpose", "top", fmt.Sprint("v", length))
	for i := length - 1; i > 0; i-- {
		back = node("Add", fmt.Sprint("b", i), back, node("Transpose", fmt.Sprint("t", i), fmt.Sprint("v", i)))
	}
	g.Outputs = []string{back}
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	return c
}

// A function that moves values to a second space gives the same to the last bit as one that keeps them.
func TestASecondSpace(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	x := random(rand.New(rand.NewPCG(1, 1)), graph.F32, -2, 2, 12, 20)
	content := laid(&x, given.Inputs[0].View, 240, 0)
	var want [][]byte
	jobs := []*job{{name: "kept", plan: given, inputs: [][]byte{content},
		check: func(t *testing.T, status int32, outputs [][]byte) {
			require.Zero(t, status)
			want = outputs
		}}}
	for _, percent := range []int64{70, 45} {
		r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes * percent / 100,
			Outside: &remat.Outside{Bandwidth: 1e9}, NoAgain: true})
		require.NoError(t, err)
		require.NotEmpty(t, r.Moved)
		info, err := Describe(r.Plan, Options{Name: "chain"})
		require.NoError(t, err)
		assert.Equal(t, r.Plan.Outside, info.Outside)
		jobs = append(jobs, &job{name: fmt.Sprint("moved", percent), plan: r.Plan, inputs: [][]byte{content},
			check: func(t *testing.T, status int32, outputs [][]byte) {
				require.Zero(t, status)
				assert.Equal(t, want, outputs)
			}})
	}
	run(t, jobs)
}

// Buffers that do not lie in the second space are refused.
func TestASecondSpaceThatIsTooSmall(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes / 2, Outside: &remat.Outside{}, NoAgain: true})
	require.NoError(t, err)
	r.Plan.Outside--
	_, err = Module(r.Plan, Options{})
	require.ErrorContains(t, err, "and the second space at")
}

// The caller brings the second space as well: here a file that is mapped. The results are the same to the last bit.
func TestASecondSpaceInAFile(t *testing.T) {
	c := thereAndBack(t, 9)
	given, err := plan.Build(c, plan.Options{})
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Capacity: given.Frame.Bytes / 2, Outside: &remat.Outside{}, NoAgain: true})
	require.NoError(t, err)
	require.NotEmpty(t, r.Moved)
	jobs := []*job{{name: "kept", plan: given, opts: Options{Memory: Caller}},
		{name: "moved", plan: r.Plan, opts: Options{Memory: Caller}}}
	dir := t.TempDir()
	for _, j := range jobs {
		assert.NotContains(t, j.text(t), "@tl_", "nothing of the runtime is called")
		text, err := Header(j.plan, j.opts)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, j.name+".h"), []byte(text), 0o600))
	}
	library := compiled(t, dir, jobs)
	program := filepath.Join(dir, "program.c")
	require.NoError(t, os.WriteFile(program, []byte(`
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "kept.h"
#include "moved.h"
int main(int argc, char** argv) {
    float x[240], want[240], got[240];
    const void *in[] = {x};
    void *first[] = {want}, *second[] = {got};
    for (int i = 0; i < 240; i++) x[i] = (float)(i * 37 % 101) / 50 - 1;
    memset(got, 0xA5, sizeof got);
    int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, moved_OUTSIDE_BYTES + 4096) != 0) return 1;
    unsigned char* file = mmap(NULL, moved_OUTSIDE_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED) return 2;
    memset(file, 0xEE, moved_OUTSIDE_BYTES + 4096);
    void *kept_frame = aligned_alloc(kept_FRAME_ALIGNMENT, kept_FRAME_BYTES);
    void *moved_frame = aligned_alloc(moved_FRAME_ALIGNMENT, moved_FRAME_BYTES);
    if (moved_info.memory != 2 || moved_info.outside_bytes != moved_OUTSIDE_BYTES || kept_info.outside_bytes != 0)
        return 3;
    if (moved_info.size != (int64_t)sizeof moved_info || moved_FRAME_BYTES * 2 > kept_FRAME_BYTES) return 4;
    if (moved(in, second, NULL, moved_frame, NULL) != 1) return 5;
    if (moved(in, second, NULL, moved_frame, file + 1) != 1) return 6;
    if (moved(in, second, NULL, NULL, file) != 1) return 7;
    for (int i = 0; i < (int)sizeof got; i++) if (((unsigned char*)got)[i] != 0xA5) return 8;
    for (int i = 0; i < moved_OUTSIDE_BYTES + 4096; i++) if (file[i] != 0xEE) return 9;
    if (kept(in, first, NULL, kept_frame) != 0 || moved(in, second, NULL, moved_frame, file) != 0) return 10;
    if (memcmp(want, got, sizeof want) != 0) return 11;
    int changed = 0;
    for (int i = 0; i < moved_OUTSIDE_BYTES; i++) changed += file[i] != 0xEE;
    if (changed < 960) return 12; /* a tensor went there */
    for (int i = moved_OUTSIDE_BYTES; i < moved_OUTSIDE_BYTES + 4096; i++) if (file[i] != 0xEE) return 13;
    free(kept_frame);
    free(moved_frame);
    return munmap(file, moved_OUTSIDE_BYTES + 4096) != 0 || close(fd) != 0 ? 14 : 0;
}
`), 0o600))
	// No library of the runtime is linked, and none of its functions is here.
	command(t, "cc", "-o", filepath.Join(dir, "program"), program, library, "-Wl,-rpath,"+dir, "-Wl,--no-undefined")
	command(t, filepath.Join(dir, "program"), filepath.Join(dir, "spilled"))
}

// An arena has no second space.
func TestASecondSpaceInAnArena(t *testing.T) {
	p := tinyPlan()
	p.Name, p.Outside = "tiny", 64
	_, err := ArenaModule(&plan.Arena{Name: "arena", Alignment: 64, Entries: []*plan.ExecutionPlan{p}}, Options{})
	require.ErrorContains(t, err, "moves values to a second space, and an arena has none")
}
