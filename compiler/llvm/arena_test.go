package llvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/plan"
)

// Three computations over one cache and one matrix of weights: one fills the cache, one
// changes a row of it and attends to all rows, one learns.
var chat = map[string]string{
	"prefill": `{"tl_graph": 1, "name": "prefill",
 "inputs": [{"name": "prompt", "dtype": "f32", "shape": [4, 8]}, {"name": "w", "dtype": "f32", "shape": [8, 8]}],
 "outputs": ["last", "present"],
 "constants": [{"name": "axes", "dtype": "i64", "shape": [1], "data": [0]}],
 "nodes": [{"op": "Tanh", "inputs": ["prompt"], "outputs": ["h"]},
           {"op": "MatMul", "inputs": ["h", "w"], "outputs": ["present"]},
           {"op": "ReduceSum", "inputs": ["h", "axes"], "outputs": ["last"]}]}`,
	"decode": `{"tl_graph": 1, "name": "decode",
 "inputs": [{"name": "token", "dtype": "f32", "shape": [1, 8]}, {"name": "row", "dtype": "i64", "shape": [1, 8]},
            {"name": "past", "dtype": "f32", "shape": [4, 8]}, {"name": "w", "dtype": "f32", "shape": [8, 8]}],
 "outputs": ["out", "present"],
 "nodes": [{"op": "Tanh", "inputs": ["token"], "outputs": ["h"]},
           {"op": "MatMul", "inputs": ["h", "w"], "outputs": ["k"]},
           {"op": "ScatterElements", "inputs": ["past", "row", "k"], "outputs": ["present"], "attrs": {"axis": 0}},
           {"op": "Transpose", "inputs": ["present"], "outputs": ["t"], "attrs": {"perm": [1, 0]}},
           {"op": "MatMul", "inputs": ["h", "t"], "outputs": ["s"]},
           {"op": "Softmax", "inputs": ["s"], "outputs": ["a"], "attrs": {"axis": 1}},
           {"op": "MatMul", "inputs": ["a", "present"], "outputs": ["out"]}]}`,
	"learn": `{"tl_graph": 1, "name": "learn",
 "inputs": [{"name": "x", "dtype": "f32", "shape": [8, 8]}, {"name": "target", "dtype": "f32", "shape": [8, 8]},
            {"name": "w", "dtype": "f32", "shape": [8, 8]}],
 "outputs": ["w_next", "loss"],
 "constants": [{"name": "rate", "dtype": "f32", "shape": [1, 1], "data": [[0.125]]},
               {"name": "axes", "dtype": "i64", "shape": [2], "data": [0, 1]}],
 "nodes": [{"op": "MatMul", "inputs": ["x", "w"], "outputs": ["y"]},
           {"op": "Sub", "inputs": ["y", "target"], "outputs": ["d"]},
           {"op": "Transpose", "inputs": ["x"], "outputs": ["xt"], "attrs": {"perm": [1, 0]}},
           {"op": "MatMul", "inputs": ["xt", "d"], "outputs": ["g"]},
           {"op": "Mul", "inputs": ["g", "rate"], "outputs": ["step"]},
           {"op": "Sub", "inputs": ["w", "step"], "outputs": ["w_next"]},
           {"op": "Mul", "inputs": ["d", "d"], "outputs": ["dd"]},
           {"op": "ReduceSum", "inputs": ["dd", "axes"], "outputs": ["loss"]}]}`,
}

var chatStates = map[string]string{"past": "cache", "present": "cache", "w": "weights", "w_next": "weights"}

func chatEntries(t *testing.T) (entries []plan.Entry) {
	for _, name := range []string{"prefill", "decode", "learn"} {
		g, err := json.Read(strings.NewReader(chat[name]))
		require.NoError(t, err)
		c, err := check.Check(g, check.Options{})
		require.NoError(t, err)
		states := map[string]string{}
		for _, list := range [][]int{c.Inputs, c.Outputs} {
			for _, v := range list {
				if state := chatStates[c.Values[v].Name]; state != "" {
					states[c.Values[v].Name] = state
				}
			}
		}
		entries = append(entries, plan.Entry{Name: name, Graph: c, States: states})
	}
	return entries
}

// turns runs the entries in turns, in one arena and apart: apart each function is one of
// a module of its own, and the program carries the states from one call to the next. All
// results have to be the same, bit by bit, and nothing else in the arena may change.
const turns = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arena.h"
#include "apart.h"

static int status = 11;
int32_t tl_last_status(void) { return status; }
void *tl_mem_frame_enter(uint64_t n) { return aligned_alloc(64, (n + 63) / 64 * 64); }
int32_t tl_mem_frame_exit(void) { return 0; }

static const float rate = 0.125f;
static unsigned seed = 7;
static float next(void) { seed = seed * 1664525u + 1013904223u; return (float)(seed >> 8) / 8388608.0f - 1.0f; }
static void fill(float *to, int n) { for (int i = 0; i < n; i++) to[i] = next(); }

#define CHECK(what) do { if (!(what)) { printf("line %d: %s\n", __LINE__, #what); return 1; } } while (0)

int main(void) {
    unsigned char *arena = aligned_alloc(all_ARENA_ALIGNMENT, all_ARENA_BYTES);
    float *weights = (float *)(arena + all_STATE0_OFFSET), *cache = (float *)(arena + all_STATE1_OFFSET);
    CHECK(all_STATES == 2 && all_STATE0_BYTES == 4 * 64 && all_STATE1_BYTES == 4 * 32);
    memset(arena, 0xFF, all_ARENA_BYTES);
    float prompt[32], w[64], w2[64], past[32], present[32], last[8], last2[8], out[8], out2[8], token[8], x[64], target[64];
    float loss, loss2, first = 0;
    int64_t row[8];
    fill(w, 64);
    memcpy(weights, w, sizeof w);
    CHECK(!strcmp(all_decode_info.inputs[2].name, "past") && all_decode_info.inputs[2].embedded == 2);
    CHECK(all_decode_info.memory == 2 && all_decode_info.frame_bytes <= all_ARENA_BYTES);
    for (int round = 0; round < 20; round++) {
        fill(prompt, 32);
        CHECK(all_prefill((const void *[]){prompt, NULL}, (void *[]){last, NULL}, NULL, arena) == 0);
        CHECK(prefill((const void *[]){prompt, w}, (void *[]){last2, past}, NULL) == 0);
        CHECK(!memcmp(last, last2, sizeof last) && !memcmp(cache, past, sizeof past));
        for (int step = 0; step < 6; step++) {
            fill(token, 8);
            for (int i = 0; i < 8; i++) row[i] = step % 4;
            CHECK(all_decode((const void *[]){token, row, NULL, NULL}, (void *[]){out, NULL}, NULL, arena) == 0);
            CHECK(decode((const void *[]){token, row, past, w}, (void *[]){out2, present}, NULL) == 0);
            memcpy(past, present, sizeof past);
            CHECK(!memcmp(out, out2, sizeof out) && !memcmp(cache, past, sizeof past));
            CHECK(!memcmp(weights, w, sizeof w));
        }
        fill(x, 64);
        for (int i = 0; i < 64; i++) x[i] *= 0.5f, target[i] = x[i] * 2; /* weights become twice the identity */
        CHECK(all_learn((const void *[]){x, target, NULL}, (void *[]){NULL, &loss}, (const void *[]){&rate}, arena) == 0);
        CHECK(learn((const void *[]){x, target, w}, (void *[]){w2, &loss2}, (const void *[]){&rate}) == 0);
        memcpy(w, w2, sizeof w);
        CHECK(loss == loss2 && !memcmp(weights, w, sizeof w) && !memcmp(cache, past, sizeof past));
        if (round == 0) first = loss;
    }
    CHECK(loss < 0.5f * first);
    CHECK(all_decode((const void *[]){token, row, NULL, NULL}, (void *[]){out, NULL}, NULL, NULL) == 1);
    CHECK(all_decode((const void *[]){token, row, NULL, NULL}, (void *[]){out, NULL}, NULL, arena + 8) == 1);
    CHECK(!memcmp(cache, past, sizeof past));
    free(arena);
    return 0;
}
`

// What entries have in common stands in the module once.
func TestEntriesShareKernels(t *testing.T) {
	entries := chatEntries(t)[:1]
	alone, err := plan.Together(entries, plan.Options{})
	require.NoError(t, err)
	again := entries[0]
	again.Name = "again"
	both, err := plan.Together(append(entries, again), plan.Options{})
	require.NoError(t, err)
	one, err := ArenaModule(alone, Options{})
	require.NoError(t, err)
	two, err := ArenaModule(both, Options{})
	require.NoError(t, err)
	assert.Equal(t, strings.Count(one, "define internal"), strings.Count(two, "define internal"))
	assert.Equal(t, strings.Count(one, "define i32")+1, strings.Count(two, "define i32"))
	assert.Equal(t, 1, strings.Count(two, "%tl_plan_info = type"))
}

func TestErrorsOfArenaModules(t *testing.T) {
	a, err := plan.Together(chatEntries(t), plan.Options{})
	require.NoError(t, err)
	_, err = Module(a.Entries[0], Options{})
	require.ErrorContains(t, err, "the plan has state in an arena, which the caller brings")
	_, err = ArenaModule(&plan.Arena{}, Options{})
	require.ErrorContains(t, err, "no entries")
	a.Entries[1].Name = "prefill"
	_, err = ArenaHeader(a, Options{})
	require.ErrorContains(t, err, `entries "prefill" and "prefill" both become function prefill`)
	a.Entries[1].Name, a.Entries[1].Instructions[0].Op = "decode", "Unknown"
	_, err = ArenaModule(a, Options{})
	var missing MissingError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, `entry "decode": `)
}

func TestEntriesOfAnArena(t *testing.T) {
	entries := chatEntries(t)
	a, err := plan.Together(entries, plan.Options{})
	require.NoError(t, err)
	require.NoError(t, plan.VerifyArena(a, entries))
	require.Less(t, a.Bytes, a.SeparateBytes)
	_, version := findClang()
	text, err := ArenaModule(a, Options{Name: "all", Version: version})
	require.NoError(t, err)
	assert.NotContains(t, text, "@tl_", "nothing of the runtime is called")

	header, err := ArenaHeader(a, Options{Name: "all", Version: version})
	require.NoError(t, err)

	dir := t.TempDir()
	apart := ""
	jobs := []*job{{name: "all", module: text}}
	for _, e := range entries {
		p, err := plan.Build(e.Graph, plan.Options{})
		require.NoError(t, err)
		jobs = append(jobs, &job{name: e.Name, plan: p})
		one, err := Header(p, Options{Name: e.Name})
		require.NoError(t, err)
		apart += one
	}
	library := compiled(t, dir, jobs)
	for name, content := range map[string]string{"arena.h": header, "apart.h": apart, "turns.c": turns} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	command(t, "cc", "-rdynamic", "-o", filepath.Join(dir, "turns"), filepath.Join(dir, "turns.c"), library,
		"-Wl,-rpath,"+dir)
	command(t, filepath.Join(dir, "turns"))
	command(t, "cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", filepath.Join(dir, "arena.h"))
}
