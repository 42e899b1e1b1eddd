package llvm

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

var update = flag.Bool("update", false, "write what the tests compare with")

func operandOf(buffer int, shape ...int64) plan.Operand {
	return plan.Operand{Name: fmt.Sprint("v", buffer), Buffer: buffer, View: view.Contiguous(shape)}
}

func bufferOf(kind plan.Kind, offset int64, shape ...int64) plan.Buffer {
	return plan.Buffer{Name: "b", Kind: kind, DType: graph.F32, Shape: shape, Bytes: 4 * graph.Elements(shape),
		Offset: offset}
}

// tinyPlan computes relu(x * w) + relu(x * w), with two buffers in a frame of 192
// bytes, of which the second begins where the first one does not.
func tinyPlan() *plan.ExecutionPlan {
	w := bufferOf(plan.Constant, -1, 5)
	for i := range 5 {
		w.Constant = &graph.Tensor{DType: graph.F32, Shape: []int64{5},
			Data: append(constantData(w), encode(graph.F32, float64(i)-1)...)}
	}
	p := &plan.ExecutionPlan{
		Name: "tiny model",
		Buffers: []plan.Buffer{bufferOf(plan.Input, -1, 2, 5), w, bufferOf(plan.Activation, 0, 2, 5),
			bufferOf(plan.Activation, 64, 2, 5), bufferOf(plan.Output, -1, 2, 5)},
		Frame:   plan.Frame{Bytes: 192, Alignment: 64},
		Inputs:  []plan.Operand{operandOf(0, 2, 5)},
		Outputs: []plan.Operand{operandOf(4, 2, 5)},
	}
	step := func(op string, out int, in ...int) {
		i := plan.Instruction{Node: fmt.Sprint("n", len(p.Instructions)), Op: op,
			Outputs: []plan.Operand{operandOf(out, 2, 5)}}
		for _, b := range in {
			i.Inputs = append(i.Inputs, operandOf(b, p.Buffers[b].Shape...))
		}
		p.Instructions = append(p.Instructions, i)
	}
	step("Mul", 2, 0, 1)
	step("Relu", 3, 2)
	step("Add", 4, 3, 3)
	return p
}

func constantData(b plan.Buffer) []byte {
	if b.Constant == nil {
		return nil
	}
	return b.Constant.Data
}

func tinyInput() (input []byte, want []float64) {
	for i := range 10 {
		input = append(input, encode(graph.F32, float64(i)-4)...)
		want = append(want, 2*max(0, (float64(i)-4)*(float64(i%5)-1)))
	}
	return input, want
}

func tinyJob(name string, o Options) *job {
	p := tinyPlan()
	input, want := tinyInput()
	j := &job{name: name, plan: p, opts: o, inputs: [][]byte{input, p.Buffers[1].Constant.Data}}
	j.check = func(t *testing.T, status int32, outputs [][]byte) {
		require.Zero(t, status, name)
		for i, v := range want {
			require.Equal(t, v, decode(graph.F32, outputs[0][4*i:4*i+4]), name)
		}
	}
	return j
}

// variants are ways to lay out what the function takes.
func variants() []*job {
	placed := tinyJob("placed", Options{})
	placed.plan.Frame.Bytes = 384
	placed.plan.Buffers[0].Offset, placed.plan.Buffers[4].Offset = 192, 256
	twice := tinyJob("twice", Options{})
	twice.plan.Outputs = append(twice.plan.Outputs, twice.plan.Outputs[0], twice.plan.Inputs[0])
	return []*job{
		tinyJob("plain", Options{}), tinyJob("slots", Options{Memory: Slots}), tinyJob("embedded",
			Options{EmbedBytes: 20}),
		tinyJob("narrow", Options{VectorBits: 64}), placed, twice, tinyJob("caller", Options{Memory: Caller}),
	}
}

func TestMemory(t *testing.T) {
	run(t, variants())
}

// The same with the frames of the runtime itself.
func TestRuntimeFrames(t *testing.T) {
	folder, err := filepath.Abs("../../build")
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(folder, "libtl_runtime.so")); err != nil {
		fmt.Println("skip: build/libtl_runtime.so is not there; make lib builds it")
		t.Skip("no library")
	}
	run(t, variants(), "-DWITH_RUNTIME", "-L"+folder, "-ltl_runtime", "-Wl,-rpath,"+folder)
}

func TestNullArgumentsAreRefused(t *testing.T) {
	j := tinyJob("refused", Options{})
	j.inputs[1] = append([]byte{}, j.inputs[1]...)
	info, err := Describe(j.plan, Options{})
	require.NoError(t, err)
	assert.Equal(t, Info{
		Name: "tiny_model", FrameBytes: 192, Memory: "frame", Alignment: 64,
		Inputs:    []TensorInfo{{Name: "v0", DType: "f32", Shape: []int64{2, 5}, Bytes: 40}},
		Outputs:   []TensorInfo{{Name: "v4", DType: "f32", Shape: []int64{2, 5}, Bytes: 40}},
		Constants: []TensorInfo{{Name: "b", DType: "f32", Shape: []int64{5}, Bytes: 20}},
	}, info)
	dir := t.TempDir()
	library := compiled(t, dir, []*job{j})
	program := filepath.Join(dir, "null.c")
	require.NoError(t, os.WriteFile(program, []byte(`
#include <stdint.h>
#include <stddef.h>
int32_t refused(const void *const *, void *const *, const void *const *);
int32_t tl_last_status(void) { return 11; }
void *tl_mem_frame_enter(size_t n) { return NULL; }
int32_t tl_mem_frame_exit(void) { return 8; }
int main(void) {
    static float x[10], w[5], y[10];
    const void *in[] = {x}, *c[] = {w}, *none[] = {NULL};
    void *out[] = {y}, *nowhere[] = {NULL};
    if (refused(none, out, c) != 1) return 1;
    if (refused(in, nowhere, c) != 2 - 1) return 2;
    if (refused(in, out, none) != 1) return 3;
    return refused(in, out, c) == 11 ? 0 : 4;
}
`), 0o600))
	command(t, "cc", "-rdynamic", "-o", filepath.Join(dir, "null"), program, library, "-Wl,-rpath,"+dir)
	command(t, filepath.Join(dir, "null"))
}

// The texts of the tiny plan, for each dialect and each kind of memory.
func TestGolden(t *testing.T) {
	for name, o := range map[string]Options{
		"tiny.14.ll": {Version: 14}, "tiny.16.ll": {Version: 20}, "tiny.slots.ll": {Memory: Slots, EmbedBytes: 64,
			Version: 15}, "tiny.caller.ll": {Memory: Caller, Version: 16},
	} {
		text, err := Module(tinyPlan(), o)
		require.NoError(t, err)
		golden(t, name, text)
	}
	text, err := Header(tinyPlan(), Options{})
	require.NoError(t, err)
	golden(t, "tiny.h", text)
}

func golden(t *testing.T, name, text string) {
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "write it with -update")
	assert.Equal(t, string(want), text,
		"%s is not what the package writes; look at the difference and run with -update", name)
}

// The header compiles alone, and is what the module defines.
func TestHeader(t *testing.T) {
	text, err := Header(tinyPlan(), Options{})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tiny.h"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "use.c"), []byte(`
#include "tiny.h"
#include <string.h>
extern int strcmp(const char *, const char *);
int32_t tl_last_status(void) { return 0; }
void *tl_mem_frame_enter(uint64_t n) { return 0; }
int32_t tl_mem_frame_exit(void) { return 0; }
int main(void) {
    const struct tl_plan_info *i = &tiny_model_info;
    if (i->size != sizeof *i || strcmp(i->name, "tiny_model") || strcmp(i->json, tiny_model_json)) return 1;
    if (i->frame_bytes != tiny_model_FRAME_BYTES || i->slots || i->input_count != tiny_model_INPUTS) return 2;
    if (i->memory || i->frame_alignment != tiny_model_FRAME_ALIGNMENT) return 6;
    if (i->output_count != 1 || i->constant_count != 1 || i->inputs[0].bytes != tiny_model_INPUT0_BYTES) return 3;
    if (i->inputs[0].rank != 2 || i->inputs[0].shape[1] != 5 || i->constants[0].dtype || i->constants[0].embedded) return 4;
    return strcmp(i->outputs[0].name, "v4") ? 5 : tiny_model == 0;
}
`), 0o600))
	for _, standard := range []string{"-std=c99", "-std=c11", "-xc++"} {
		command(t, "cc", standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", filepath.Join(dir, "tiny.h"))
	}
	j := tinyJob("tiny_model", Options{})
	library := compiled(t, dir, []*job{j})
	command(t, "cc", "-rdynamic", "-o", filepath.Join(dir, "use"), filepath.Join(dir, "use.c"), library,
		"-Wl,-rpath,"+dir)
	command(t, filepath.Join(dir, "use"))
	var info Info
	require.NoError(t, json.Unmarshal([]byte(jsonOf(t, j.text(t))), &info))
	described, err := Describe(j.plan, j.opts)
	require.NoError(t, err)
	described.Inputs[0].dtype, described.Outputs[0].dtype, described.Constants[0].dtype = 0, 0, 0
	assert.Equal(t, described, info)
}

// llvmPython is an interpreter with llvmlite, which brings a newer LLVM along.
func llvmPython(t *testing.T) string {
	venv, _ := filepath.Abs("../../build/venv/bin/python")
	for _, path := range []string{os.Getenv("TL_PYTHON"), venv, "python3"} {
		if path != "" && exec.Command(path, "-c", "import llvmlite.binding").Run() == nil {
			return path
		}
	}
	fmt.Println("skip: no Python with llvmlite (TL_PYTHON, build/venv, python3)")
	t.Skip("no llvmlite")
	return ""
}

// Each dialect is read by the tools of its version that are here: opt and llvm-as
// of LLVM 14, and llvmlite, of whatever version it is.
func TestTools(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	var jobs []*job
	for _, s := range samples {
		args := make([]tensor, s.args)
		for i := range args {
			args[i] = random(r, s.types[0], 0, 1, 3, 9)
		}
		result := s.types[0]
		if s.truth {
			result = graph.Bool
		}
		jobs = append(jobs, newSpec(s.op, s.attrs, args, zeros(result, 3, 9)).plain(len(jobs)))
	}
	jobs = append(jobs, convJob(len(jobs), 6, 14, 8, 3, 2, 2).job, gemmJob(len(jobs)+1, 5, 7, 9, 0).job,
		gemmJob(len(jobs)+2, 5, 7, 9, 1).job,
		elementJob(len(jobs)+3, "Softmax", 100).job)
	jobs = append(jobs, variants()...)
	dir := t.TempDir()
	for version := range map[int]bool{14: true, 15: true, 20: true} {
		var texts []string
		for _, j := range jobs {
			j.opts.Version = version
			texts = append(texts, j.text(t))
		}
		path := filepath.Join(dir, fmt.Sprintf("plans%d.ll", version))
		require.NoError(t, os.WriteFile(path, []byte(joinedModules(texts)), 0o600))
	}
	for _, tool := range [][]string{{"llvm-as-14", "-o", "/dev/null"}, {"opt-14", "-O2", "-disable-output"}} {
		if _, err := exec.LookPath(tool[0]); err != nil {
			fmt.Println("skip:", tool[0], "is not here")
			continue
		}
		command(t, append(tool, filepath.Join(dir, "plans14.ll"))...)
	}
	command(t, llvmPython(t), "testdata/verify.py", filepath.Join(dir, "plans15.ll"), filepath.Join(dir, "plans20.ll"))
}

// jsonOf takes the JSON text out of a module.
func jsonOf(t *testing.T, module string) string {
	_, rest, ok := strings.Cut(module, `_json = constant [`)
	require.True(t, ok)
	_, rest, _ = strings.Cut(rest, `c"`)
	text, _, _ := strings.Cut(rest, `\00"`)
	return strings.ReplaceAll(text, `\22`, `"`)
}
