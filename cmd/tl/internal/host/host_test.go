package host

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

// A runtime of the tests' own: statistics that grow, and a last error.
const runtimeSource = `
#include <stdint.h>
static uint64_t calls;
int32_t tl_stats_get(uint64_t *s) { s[1] = 0; s[2] = 0; s[3] = 10 * calls++; return 0; }
const char *tl_last_error(void) { return "no memory left"; }
`

// A model that adds a constant to its input, refuses 7, and calls malloc for 9.
const moduleSource = `
#include <stdint.h>
#include <stdlib.h>
void *volatile kept;
int32_t model(int32_t *const *in, int32_t *const *out, const int32_t *const *constants)
{
	if (*in[0] == 7) return 12;
	if (*in[0] == 9) kept = malloc(8);
	*out[0] = *in[0] + *constants[1];
	return 0;
}
`

// made compiles a shared object.
func made(t *testing.T, cc, folder, name, source string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path+".c", []byte(source), 0o600))
	out, err := exec.Command(cc, "-shared", "-fPIC", "-o", path, path+".c").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func job(t *testing.T, folder, cc string, inputs []byte) *Job {
	t.Helper()
	section := func(name string, content []byte, bytes int64, offsets ...int64) Section {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return Section{Path: path, Bytes: bytes, Offsets: offsets}
	}
	return &Job{
		Runtime: made(t, cc, folder, "runtime.so", runtimeSource), Module: made(t, cc, folder, "module.so",
			moduleSource), Function: "model",
		Constants: section("constants", []byte{1, 0, 0, 0, 2, 0, 0, 0}, 0, 0, 4),
		Inputs:    section("inputs", inputs, 4, 0), Outputs: section("outputs", make([]byte, len(inputs)), 4, 0),
		Samples: len(inputs) / 4, Repeat: 3,
	}
}

func compiler(t *testing.T) string {
	cc, err := exec.LookPath("cc")
	if err != nil {
		fmt.Println("skip: there is no cc")
		t.Skip("no cc")
	}
	return cc
}

func TestRun(t *testing.T) {
	cc, folder := compiler(t), t.TempDir()
	program, err := Build(cc, folder)
	require.NoError(t, err)
	again, err := Build("no compiler is needed", folder)
	require.NoError(t, err)
	assert.Equal(t, program, again)
	j := job(t, folder, cc, []byte{5, 0, 0, 0, 9, 0, 0, 0})
	r, err := Run(program, j)
	require.NoError(t, err)
	assert.Equal(t, 6, r.Runs)
	assert.EqualValues(t, 10, r.Allocations)
	assert.EqualValues(t, 3, r.Mallocs, "those of the model alone")
	assert.Positive(t, r.FirstNs)
	assert.LessOrEqual(t, r.MinimumNs, r.MedianNs)
	assert.Greater(t, r.PeakResidentBytes, uint64(100<<10))
	got, err := os.ReadFile(j.Outputs.Path)
	require.NoError(t, err)
	assert.Equal(t, []byte{7, 0, 0, 0, 11, 0, 0, 0}, got)
}

func TestErrors(t *testing.T) {
	cc, folder := compiler(t), t.TempDir()
	program, err := Build(cc, folder)
	require.NoError(t, err)
	good := job(t, folder, cc, []byte{1, 0, 0, 0, 7, 0, 0, 0})
	_, err = Run(program, good)
	assert.ErrorContains(t, err, "sample 1: status 12: no memory left")
	refusing := strings.Replace(runtimeSource, "return 0;", "return 1;", 1)
	for says, spoil := range map[string]func(*Job){
		"failed: no memory left":  func(j *Job) { j.Runtime = made(t, cc, folder, "refusing.so", refusing) },
		"no-runtime.so":           func(j *Job) { j.Runtime = filepath.Join(folder, "no-runtime.so") },
		"no-module.so":            func(j *Job) { j.Module = filepath.Join(folder, "no-module.so") },
		"no_function":             func(j *Job) { j.Function = "no_function" },
		"a tab or a line break":   func(j *Job) { j.Module = folder + "/a\tb.so" },
		"no-inputs: No such file": func(j *Job) { j.Inputs.Path = filepath.Join(folder, "no-inputs") },
	} {
		j := *good
		spoil(&j)
		_, err := Run(program, &j)
		assert.ErrorContains(t, err, says)
	}
	_, err = Build("no-such-compiler", t.TempDir())
	assert.ErrorContains(t, err, "cannot build the host program")
}

// A function whose memory is the caller's gets a frame and the file of the second space, both at a page.
func TestRunWithASpillFile(t *testing.T) {
	cc, folder := compiler(t), t.TempDir()
	program, err := Build(cc, folder)
	require.NoError(t, err)
	j := job(t, folder, cc, []byte{5, 0, 0, 0})
	j.Module = made(t, cc, folder, "spilling.so", `
#include <stdint.h>
#include <string.h>
int32_t model(int32_t *const *in, int32_t *const *out, const int32_t *const *constants, void *scratch, char *outside)
{
	if ((uintptr_t)scratch % 4096 || (uintptr_t)outside % 4096) return 12;
	memset(scratch, 1, 10000);
	memcpy(outside, in[0], 4);
	*out[0] = outside[0] + constants[1][0];
	return 0;
}
`)
	j.Spill, j.FrameBytes = filepath.Join(folder, "spilled"), 10000
	require.NoError(t, os.WriteFile(j.Spill, make([]byte, 64), 0o600))
	_, err = Run(program, j)
	require.NoError(t, err)
	content, err := os.ReadFile(j.Outputs.Path)
	require.NoError(t, err)
	assert.Equal(t, []byte{7, 0, 0, 0}, content)
	content, err = os.ReadFile(j.Spill)
	require.NoError(t, err)
	assert.Equal(t, []byte{5, 0, 0, 0}, content[:4])
	j.Spill = filepath.Join(folder, "line\nbreak")
	require.NoError(t, os.WriteFile(j.Spill, make([]byte, 64), 0o600))
	_, err = Run(program, j)
	require.ErrorContains(t, err, "a tab or a line break")
	j.Spill = filepath.Join(folder, "none")
	_, err = Run(program, j)
	require.ErrorContains(t, err, "none: No such file")
}
