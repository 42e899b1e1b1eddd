package export

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/plan"
)

// growing is a plan whose sizes grow with N, with a batch, with both and with nothing.
func growing(t *testing.T) *plan.ExecutionPlan {
	g, err := json.Read(strings.NewReader(`{"tl_graph": 1, "name": "growing",
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["N", 5]}, {"name": "k", "dtype": "f32", "shape": ["batch size", 5]}],
 "outputs": ["y"],
 "nodes": [{"op": "Transpose", "inputs": ["k"], "outputs": ["t"], "attrs": {"perm": [1, 0]}},
           {"op": "MatMul", "inputs": ["x", "t"], "outputs": ["s"]},
           {"op": "Softmax", "inputs": ["s"], "outputs": ["a"], "attrs": {"axis": 1}},
           {"op": "MatMul", "inputs": ["a", "k"], "outputs": ["o"]},
           {"op": "MatMul", "inputs": ["t", "k"], "outputs": ["c"]},
           {"op": "MatMul", "inputs": ["o", "c"], "outputs": ["m"]},
           {"op": "Add", "inputs": ["m", "x"], "outputs": ["y"]}]}`))
	require.NoError(t, err)
	p, err := plan.BuildSymbolic(func(bind map[string]int64) (*graph.Checked, error) {
		return check.Check(g, check.Options{Bind: bind})
	}, map[string]int64{"N": 12, "batch size": 7}, plan.Options{PlaceInputs: true, PlaceOutputs: true})
	require.NoError(t, err)
	require.Equal(t, []plan.Symbol{{Name: "N", From: 0, To: 12}, {Name: "batch size", From: 1, To: 7}}, p.Symbolic.Symbols)
	return p
}

// The functions of the header give what plan.Places does, for every number.
func TestHeaderOfSymbols(t *testing.T) {
	p := growing(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "print.c")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan.h"), []byte(header(t, p, "")), 0o600))
	require.NoError(t, os.WriteFile(program, []byte(`
#include <stdio.h>
#include "plan.h"
int main(void) {
    int64_t at[GROWING_FRAME_PLACES];
    for (int64_t n = 0; n <= 12; n++)
        for (int64_t b = 0; b <= 7; b++) {
            printf("%lld", (long long)growing_offsets(n, b, at));
            for (int i = 0; i < GROWING_FRAME_PLACES; i++) printf(" %lld", (long long)at[i]);
            if (growing_frame_bytes(n, b) != growing_offsets(n, b, at)) return 1;
            printf("\n");
        }
    if (growing_frame_bytes(12, 7) != GROWING_FRAME_BYTES) return 2;
    growing_offsets(12, 7, at);
    return at[GROWING_S_PLACE] == GROWING_S_OFFSET && at[GROWING_O_PLACE] == GROWING_O_OFFSET ? 0 : 3;
}
`), 0o600))
	for _, standard := range []string{"-xc++", "-std=c99"} {
		said, err := exec.Command("cc", standard, "-Wall", "-Wextra", "-Werror", "-o", filepath.Join(dir, "print"),
			program).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	said, err := exec.Command("cc", "-E", "-xassembler-with-cpp", filepath.Join(dir, "plan.h")).CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.NotContains(t, string(said), "int64_t", "assembly sees macros alone")
	got, err := exec.Command(filepath.Join(dir, "print")).Output()
	require.NoError(t, err)
	var want bytes.Buffer
	for n := range int64(13) {
		for b := range int64(8) {
			frame, offsets, err := p.Places([]int64{n, b})
			require.NoError(t, err)
			fmt.Fprint(&want, frame)
			for _, i := range p.FromBelow() {
				fmt.Fprintf(&want, " %d", offsets[i])
			}
			fmt.Fprintln(&want)
		}
	}
	assert.Equal(t, want.String(), string(got))
}

func TestSymbolsAreWritten(t *testing.T) {
	p := growing(t)
	written := text(t, p, WithContent)
	assert.Contains(t, written, `"symbols":[{"name":"N","from":0,"to":12},{"name":"batch size","from":1,"to":7}],"proved":true`)
	assert.Contains(t, written, `"sizes":[[[20,1,0]]`)
}
