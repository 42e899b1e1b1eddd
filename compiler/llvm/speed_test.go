package llvm

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

// timed is a job whose work is known.
type timed struct {
	*job
	gflop float64
}

func convJob(number int, channels, size, rows, kernel, stride, groups int64) timed {
	r := rand.New(rand.NewPCG(1, uint64(number)))
	pad := kernel / 2
	out := (size+2*pad-kernel)/stride + 1
	attrs := graph.Attrs{"kernel_shape": []int64{kernel, kernel}, "strides": []int64{stride, stride},
		"pads": []int64{pad, pad, pad, pad}, "dilations": []int64{1, 1}, "group": groups}
	x, w := random(r, graph.F32, -1, 1, 1, channels, size, size), random(r, graph.F32, -1, 1, rows, channels/groups,
		kernel, kernel)
	s := newSpec("Conv", attrs, []tensor{x, w}, zeros(graph.F32, 1, rows, out, out))
	return timed{s.plain(number), 2e-9 * float64(rows*out*out*channels/groups*kernel*kernel)}
}

func gemmJob(number int, m, k, n, transB int64) timed {
	r := rand.New(rand.NewPCG(1, uint64(number)))
	b := []int64{k, n}
	if transB == 1 {
		slices.Reverse(b)
	}
	attrs := graph.Attrs{"alpha": 1.0, "beta": 1.0, "transA": int64(0), "transB": transB}
	s := newSpec("Gemm", attrs, []tensor{random(r, graph.F32, -1, 1, m, k), random(r, graph.F32, -1, 1, b...)},
		zeros(graph.F32, m, n))
	return timed{s.plain(number), 2e-9 * float64(m*k*n)}
}

func elementJob(number int, op string, n int64) timed {
	r := rand.New(rand.NewPCG(1, uint64(number)))
	x := random(r, graph.F32, 0.1, 2, n)
	s := newSpec(op, graph.Attrs{"axes": []int64{0}}, []tensor{x}, zeros(graph.F32, n))
	if op == "Add" || op == "Pow" {
		s.args = append(s.args, s.args[0])
	}
	return timed{s.plain(number), 1e-9 * float64(n)}
}

func transposeJob(number int, shape []int64) timed {
	x := random(rand.New(rand.NewPCG(1, uint64(number))), graph.F32, -1, 1, shape...)
	s := newSpec("Transpose", graph.Attrs{"perm": []int64{1, 0}}, []tensor{x}, zeros(graph.F32, shape[1], shape[0]))
	return timed{s.plain(number), 1e-9 * float64(len(x.data))}
}

// BenchmarkKernels runs the convolutions of a ResNet-50 and some other kernels once
// and prints how many GFLOP/s, or elements/ns, each reaches.
func BenchmarkKernels(b *testing.B) {
	var list []timed
	for _, c := range [][6]int64{
		{3, 224, 64, 7, 2, 1}, {64, 56, 64, 1, 1, 1}, {64, 56, 64, 3, 1, 1}, {64, 56, 256, 1, 1, 1},
		{256, 56, 128, 1, 1, 1},
		{128, 56, 128, 3, 2, 1}, {256, 56, 512, 1, 2, 1}, {128, 28, 128, 3, 1, 1}, {512, 28, 128, 1, 1, 1},
		{256, 14, 256, 3, 1, 1},
		{1024, 14, 256, 1, 1, 1}, {512, 7, 512, 3, 1, 1}, {2048, 7, 512, 1, 1, 1}, {96, 56, 96, 3, 1, 96},
	} {
		list = append(list, convJob(len(list), c[0], c[1], c[2], c[3], c[4], c[5]))
	}
	list = append(list, gemmJob(len(list), 1, 2048, 1000, 1), gemmJob(len(list)+1, 128, 768, 768, 0),
		gemmJob(len(list)+2, 128, 768, 768, 1),
		gemmJob(len(list)+3, 512, 512, 512, 0))
	for _, op := range []string{"Add", "Relu", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Pow", "Softmax"} {
		list = append(list, elementJob(len(list), op, 1<<16))
	}
	for _, shape := range [][]int64{{1024, 1024}, {64, 3136}, {3136, 64}} {
		list = append(list, transposeJob(len(list), shape))
	}
	for _, line := range measure(b, list) {
		fmt.Println(line)
	}
}

// measure runs the jobs, each a few times, and tells the best of them.
func measure(b *testing.B, list []timed) (lines []string) {
	dir := b.TempDir()
	var jobs []*job
	var cases bytes.Buffer
	for _, j := range list {
		jobs = append(jobs, j.job)
		in := filepath.Join(dir, j.name+".in")
		require.NoError(b, os.WriteFile(in, bytes.Join(j.inputs, nil), 0o600))
		fmt.Fprintf(&cases, "%s %s %s\n", j.name, in, filepath.Join(dir, j.name+".out"))
	}
	c := exec.Command(buildDriver(b, dir), compiled(b, dir, jobs))
	c.Stdin, c.Env = &cases, append(os.Environ(), "DRIVER_REPEAT=10")
	said, err := c.Output()
	require.NoError(b, err)
	scanner := bufio.NewScanner(bytes.NewReader(said))
	for i := 0; scanner.Scan(); i++ {
		var name string
		var status int
		var seconds float64
		_, err := fmt.Sscan(scanner.Text(), &name, &status, &seconds)
		require.NoError(b, err)
		what := fmt.Sprint(list[i].plan.Instructions[0].Op)
		for _, t := range list[i].plan.Instructions[0].Inputs {
			what += strings.ReplaceAll(fmt.Sprint(t.View.Shape), " ", "x")
		}
		lines = append(lines, fmt.Sprintf("%-60s %9.3f ms %8.2f /ns", what, seconds*1e3, list[i].gflop/seconds))
	}
	return lines
}
