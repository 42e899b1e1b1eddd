package export

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// pair is an arena of two plans that never ran.
func pair() *plan.Arena {
	first, second := small(), small()
	first.Name, second.Name = "fill", "use/it"
	for _, p := range []*plan.ExecutionPlan{first, second} {
		p.Buffers = append(p.Buffers, plan.Buffer{Name: "cache", Kind: plan.State, DType: graph.F32, Shape: []int64{2, 3},
			Bytes: 24, First: -1, Last: 3, Values: []string{"cache"}})
	}
	return &plan.Arena{Name: "fill_use/it", Bytes: 192, Alignment: 64, StateBytes: 64, SeparateBytes: 304,
		States:  []plan.StateTensor{{Name: "cache", DType: graph.F32, Shape: []int64{2, 3}, Bytes: 24}},
		Entries: []*plan.ExecutionPlan{first, second}}
}

func TestArenaAsJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteArenaJSON(&b, pair(), WithoutContent))
	var form struct {
		Version  int               `json:"tl_arena"`
		Bytes    int64             `json:"bytes"`
		Separate int64             `json:"separate_bytes"`
		States   []stateForm       `json:"states"`
		Entries  []json.RawMessage `json:"entries"`
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &form))
	assert.Equal(t, ArenaVersion, form.Version)
	assert.EqualValues(t, 192, form.Bytes)
	assert.EqualValues(t, 304, form.Separate)
	assert.Equal(t, []stateForm{{"cache", "f32", []int64{2, 3}, 24, 0}}, form.States)
	require.Len(t, form.Entries, 2)
	assert.Equal(t, "state", read(t, string(form.Entries[1])).Buffers[5].Kind, "an entry is a plan")
	require.ErrorContains(t, WriteArenaJSON(&b, nil, WithContent), "no arena")
	require.ErrorContains(t, WriteArenaJSON(broken{}, pair(), WithContent), "disk full")
}

func TestArenaAsHeader(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteArenaHeader(&b, pair(), ""))
	found := macros(t, b.String())
	for name, value := range map[string]int64{
		"FILL_USE_IT_ARENA_BYTES": 192, "FILL_USE_IT_ARENA_ALIGNMENT": 64, "FILL_USE_IT_STATE_BYTES": 64,
		"FILL_USE_IT_STATE_CACHE_OFFSET": 0, "FILL_USE_IT_STATE_CACHE_BYTES": 24, "FILL_H_0_OFFSET": 0,
		"USE_IT_CACHE_OFFSET": 0, "USE_IT_FRAME_BYTES": 128,
	} {
		assert.Equal(t, value, found[name], name)
	}
	b.Reset()
	require.NoError(t, WriteArenaHeader(&b, pair(), "chat"))
	assert.Contains(t, macros(t, b.String()), "CHAT_FILL_H_0_OFFSET")
	path := filepath.Join(t.TempDir(), "arena.h")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	said, err := exec.Command("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path).CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.ErrorContains(t, WriteArenaHeader(&b, nil, ""), "no arena")
	require.ErrorContains(t, WriteArenaHeader(broken{}, pair(), ""), "disk full")
}
