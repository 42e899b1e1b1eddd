package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fill makes a cache of N rows; use changes one and adds up all. Its weight is a constant,
// which learn changes.
const (
	fill = `{"tl_graph": 1, "inputs": [{"name": "prompt", "dtype": "f32", "shape": ["N", 2]}],
 "outputs": ["present"], "nodes": [{"op": "Relu", "inputs": ["prompt"], "outputs": ["present"]}]}`
	use = `{"tl_graph": 1, "inputs": [{"name": "past", "dtype": "f32", "shape": ["M", 2]},
  {"name": "row", "dtype": "i64", "shape": [1, 2]}, {"name": "token", "dtype": "f32", "shape": [1, 2]}],
 "outputs": ["present", "sum"],
 "constants": [{"name": "w", "dtype": "f32", "shape": [1, 2], "data": [[2, 3]]},
               {"name": "axes", "dtype": "i64", "shape": [2], "data": [0, 1]}],
 "nodes": [{"op": "ScatterElements", "inputs": ["past", "row", "token"], "outputs": ["present"], "attrs": {"axis": 0}},
           {"op": "Mul", "inputs": ["w", "w"], "outputs": ["ww"]},
           {"op": "Mul", "inputs": ["present", "ww"], "outputs": ["product"]},
           {"op": "ReduceSum", "inputs": ["product", "axes"], "outputs": ["sum"]}]}`
	learn = `{"tl_graph": 1, "inputs": [{"name": "w", "dtype": "f32", "shape": [1, 2]},
  {"name": "step", "dtype": "f32", "shape": [1, 2]}],
 "outputs": ["w_next"], "nodes": [{"op": "Sub", "inputs": ["w", "step"], "outputs": ["w_next"]}]}`
)

func threeModels(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	var paths []string
	for _, m := range [][2]string{{"fill", fill}, {"use", use}, {"learn", learn}} {
		path := filepath.Join(folder, m[0]+".json")
		require.NoError(t, os.WriteFile(path, []byte(m[1]), 0o600))
		paths = append(paths, path)
	}
	return paths
}

// findClang returns a compiler and its major version.
func findClang() (path, version string) {
	for _, name := range []string{"clang", "clang-14", "clang-16", "clang-18", "clang-20"} {
		if path, err := exec.LookPath(name); err == nil {
			said, _ := exec.Command(path, "-dumpversion").Output()
			version, _, _ = strings.Cut(strings.TrimSpace(string(said)), ".")
			return path, version
		}
	}
	return "", ""
}

func TestSeveralModelsInOneArena(t *testing.T) {
	clang, version := findClang()
	if clang == "" {
		fmt.Println("skip: no clang is here to compile the module")
		t.Skip("no clang")
	}
	folder := t.TempDir()
	arguments := append([]string{"plan", "--llvm", version}, threeModels(t)...)
	arguments = append(arguments, "--bind", "N=4", "--bind", "use:M=4", "--state", "cache=past,present", "--state",
		"weights=w,w_next", "--validate")
	for _, ending := range []string{"json", "h", "ll"} {
		arguments = append(arguments, "-o", filepath.Join(folder, "arena."+ending))
	}
	out, err := tl(t, arguments...)
	require.NoError(t, err)
	assert.Contains(t, out, "fill_use_learn: 3 entries in one arena")
	assert.Contains(t, out, `begins as constant "w" of use`)
	assert.Contains(t, out, "x the arena")
	text, err := os.ReadFile(filepath.Join(folder, "arena.json"))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"tl_arena": 1`)

	program := filepath.Join(folder, "run.c")
	require.NoError(t, os.WriteFile(program, []byte(`
#include <string.h>
#include "arena.h"
static _Alignas(FILL_USE_LEARN_ARENA_ALIGNMENT) unsigned char arena[FILL_USE_LEARN_ARENA_BYTES];
int main(void) {
    float *cache = (float *)(arena + FILL_USE_LEARN_STATE_CACHE_OFFSET);
    float prompt[8] = {1, -1, 2, -2, 3, -3, 4, 4}, token[2] = {10, 20}, step[2] = {1, 4}, w[2] = {2, 3}, sum = 0;
    int64_t row[2] = {1, 1};
    memcpy(arena + FILL_USE_LEARN_STATE_WEIGHTS_OFFSET, w, sizeof w);
    if (fill((const void *[]){prompt}, (void *[]){NULL}, NULL, arena)) return 1;
    if (cache[0] != 1 || cache[1] != 0 || cache[7] != 4) return 2;
    if (use((const void *[]){NULL, row, token, NULL}, (void *[]){NULL, &sum}, NULL, arena)) return 3;
    /* columns: 1 + 10 + 3 + 4 and 0 + 20 + 0 + 4; squares of weights: 4 and 9 */
    if (sum != 18 * 4 + 24 * 9) return 4;
    if (learn((const void *[]){NULL, step}, (void *[]){NULL}, NULL, arena)) return 5;
    if (use((const void *[]){NULL, row, token, NULL}, (void *[]){NULL, &sum}, NULL, arena)) return 6;
    return sum == 18 * 1 + 24 * 1 ? 0 : 7;
}
`), 0o600))
	said, err := exec.Command(clang, "-O1", "-Wno-override-module", "-o", filepath.Join(folder, "run"), program,
		filepath.Join(folder, "arena.ll"), "-lm").CombinedOutput()
	require.NoError(t, err, "%s", said)
	said, err = exec.Command(filepath.Join(folder, "run")).CombinedOutput()
	require.NoError(t, err, "%s", said)
}

func TestErrorsOfArenas(t *testing.T) {
	paths := threeModels(t)
	bound := []string{"--bind", "N=4", "--bind", "M=4"}
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{[]string{paths[0], paths[1], "--state", "cache=past,present", "--bind", "N=3", "--bind", "M=4"}, "a state has one type"},
		{append([]string{paths[0], paths[1], "--state", "stash"}, bound...), "--state stash: no model has"},
		{append([]string{paths[0], paths[1], "--state", "c=past,"}, bound...), "NAME=VALUE,... or NAME is needed"},
		{append([]string{paths[0], paths[1], "--state", "a=past", "--state", "b=past"}, bound...), `"past" is state "a" already`},
		{append([]string{paths[0], paths[1], "--bind", "K=3"}, bound...), `no model has a symbol or an input "K"`},
		{append([]string{paths[0], paths[1], "--capacity", "1MiB"}, bound...), "for one model without states"},
		{append([]string{paths[0], paths[1], "--symbolic"}, bound...), "for one model without states"},
		{append([]string{paths[0], paths[1], "-o", "x.svg"}, bound...), "an arena is written as .json, .h or .ll"},
		{append([]string{paths[0], paths[0]}, bound[:2]...), `each entry needs a name of its own`},
		{[]string{paths[2], "--state", "w,w_next", "--slots"}, "[slots state]"},
	} {
		_, err := tl(t, append([]string{"plan"}, c.arguments...)...)
		require.ErrorContains(t, err, c.says, c.arguments)
	}
}

// One plan serves all batches up to a bound, and smaller ones take less.
func TestSymbolicPlan(t *testing.T) {
	model, folder := write(t, "deep.json", `{"tl_graph": 1, "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", 16]}],
 "outputs": ["y"], "nodes": [{"op": "Softmax", "inputs": ["x"], "outputs": ["a"], "attrs": {"axis": 1}},
 {"op": "Transpose", "inputs": ["a"], "outputs": ["t"], "attrs": {"perm": [1, 0]}},
 {"op": "MatMul", "inputs": ["a", "t"], "outputs": ["s"]}, {"op": "MatMul", "inputs": ["s", "a"], "outputs": ["y"]}]}`),
		t.TempDir()
	header, text := filepath.Join(folder, "plan.h"), filepath.Join(folder, "plan.json")
	out, err := tl(t, "plan", model, "--bind", "batch=64", "--symbolic", "--validate", "-o", header, "-o", text)
	require.NoError(t, err)
	assert.Contains(t, out, "smallest frame")
	assert.Contains(t, out, "batch from 0 to 64 (all compared)")
	content, err := os.ReadFile(header)
	require.NoError(t, err)
	assert.Contains(t, string(content), "static inline int64_t deep_frame_bytes(int64_t n_batch)")
	content, err = os.ReadFile(text)
	require.NoError(t, err)
	assert.Contains(t, string(content), `"symbolic": {"symbols":[{"name":"batch","from":0,"to":64}]`)
	_, err = tl(t, "plan", model, "--bind", "batch=64", "--symbolic", "--capacity", "1KiB")
	require.ErrorContains(t, err, "--capacity and --symbolic")
}
