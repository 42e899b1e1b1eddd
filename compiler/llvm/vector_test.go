package llvm

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

// byLibrary are operators that call C's library for each element.
var byLibrary = []string{"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
	"Mod"}

// oneByOne tells of samples whose loops LLVM leaves alone: few targets divide
// integers in vectors, powers of integers are loops themselves, and C's library has no vectors.
func (s sample) oneByOne() bool {
	ofIntegers := (s.op == "Div" || s.op == "Pow") && !elems[s.types[0]].float()
	return ofIntegers || slices.Contains(byLibrary, s.op)
}

// Loops of elementwise kernels over a long axis become vectors.
func TestLoopsVectorise(t *testing.T) {
	compiler := clang(t)
	r := rand.New(rand.NewPCG(3, 4))
	var texts []string
	var jobs []*job
	for _, s := range samples {
		d := s.types[0]
		if s.oneByOne() {
			continue
		}
		args := make([]tensor, s.args)
		for i := range args {
			args[i] = random(r, d, s.low, s.high, 4096)
		}
		result := d
		if s.truth {
			result = graph.Bool
		}
		j := newSpec(s.op, s.attrs, args, zeros(result, 4096)).plain(len(jobs))
		jobs = append(jobs, j)
		texts = append(texts, j.text(t))
	}
	path := filepath.Join(t.TempDir(), "plans")
	require.NoError(t, os.WriteFile(path+".ll", []byte(joinedModules(texts)), 0o600))
	said, err := exec.Command(compiler, "-O2", "-mavx2", "-mfma", "-S", "-fsave-optimization-record",
		"-foptimization-record-file="+path+".yaml",
		"-Wno-override-module", "-o", path+".s", path+".ll").CombinedOutput()
	require.NoError(t, err, "%s", said)
	record, err := os.ReadFile(path + ".yaml")
	require.NoError(t, err)
	for i, j := range jobs {
		op := j.plan.Instructions[0].Op
		vectorised := regexp.MustCompile(`Pass: +loop-vectorize\nName: +Vectorized\nFunction: +` + j.name + "_0_" + op +
			"\n")
		require.True(t, vectorised.Match(record), "sample %d: the loop of %s on %s is not vectorised", i, op,
			j.plan.Buffers[0].DType)
	}
}
