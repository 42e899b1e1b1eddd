package llvm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/plan"
)

// job is a plan that is compiled and run.
type job struct {
	name   string
	plan   *plan.ExecutionPlan
	opts   Options
	inputs [][]byte // inputs and then constants
	module string   // "" : what Module gives
	check  func(t *testing.T, status int32, outputs [][]byte)
}

// clang finds a compiler that reads the modules.
func clang(t testing.TB) string {
	path, _ := findClang()
	if path == "" {
		fmt.Println("skip: no clang from 14 on is here to compile modules")
		t.Skip("no clang")
	}
	return path
}

// findClang returns a compiler and its major version.
var findClang = sync.OnceValues(func() (string, int) {
	for _, name := range []string{"clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19",
		"clang-20"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		said, _ := exec.Command(path, "-dumpversion").Output()
		major, _, _ := strings.Cut(string(said), ".")
		if version, err := strconv.Atoi(major); err == nil && version >= oldest {
			return path, version
		}
	}
	return "", 0
})

func command(t testing.TB, argv ...string) string {
	var out bytes.Buffer
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	require.NoError(t, err, "%s\n%s", strings.Join(argv, " "), out.String())
	return out.String()
}

// buildDriver compiles the program that runs plans.
func buildDriver(t testing.TB, dir string, flags ...string) string {
	path := filepath.Join(dir, "driver")
	argv := append([]string{"cc", "-O1", "-g", "-rdynamic", "-o", path, "testdata/driver.c"}, flags...)
	command(t, append(argv, "-ldl")...)
	return path
}

// compiled makes one shared library of the modules of all jobs, which it joins to
// two: starting a compiler takes longer than compiling one of them.
func compiled(t testing.TB, dir string, jobs []*job) string {
	compiler := clang(t)
	var objects []string
	var failed [2]error
	var group sync.WaitGroup
	for i := range failed {
		var texts []string
		for n := i; n < len(jobs); n += len(failed) {
			texts = append(texts, jobs[n].text(t))
		}
		path := filepath.Join(dir, fmt.Sprintf("plans%d", i))
		require.NoError(t, os.WriteFile(path+".ll", []byte(joinedModules(texts)), 0o600))
		objects = append(objects, path+".o")
		group.Go(func() {
			said, err := exec.Command(compiler, "-O2", "-march=native", "-c", "-fPIC", "-Wno-override-module", "-o",
				path+".o", path+".ll").CombinedOutput()
			if err != nil {
				failed[i] = fmt.Errorf("%s.ll: %w\n%s", path, err, said)
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(failed[:]...))
	library := filepath.Join(dir, "plans.so")
	command(t, slices.Concat([]string{"cc", "-shared", "-o", library}, objects, []string{"-lm"})...)
	return library
}

// joinedModules is one module with the functions of all: what modules share stands
// in lines of its own.
func joinedModules(texts []string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			shared := strings.HasPrefix(line, "%") || strings.HasPrefix(line, "declare") ||
				strings.HasPrefix(line, "attributes") || strings.HasPrefix(line, "!")
			if shared && seen[line] {
				continue
			}
			seen[line] = shared
			b.WriteString(line)
		}
	}
	return b.String()
}

func (j *job) text(t testing.TB) string {
	if j.module != "" {
		return j.module
	}
	j.opts.Name = j.name
	if j.opts.Version == 0 {
		_, j.opts.Version = findClang()
	}
	text, err := Module(j.plan, j.opts)
	require.NoError(t, err, j.name)
	return text
}

// run compiles and runs the jobs and hands their outputs to them.
func run(t *testing.T, jobs []*job, flags ...string) string {
	dir := t.TempDir()
	library := compiled(t, dir, jobs)
	driver := buildDriver(t, dir, flags...)
	var cases bytes.Buffer
	for _, j := range jobs {
		in := filepath.Join(dir, j.name+".in")
		require.NoError(t, os.WriteFile(in, bytes.Join(j.inputs, nil), 0o600))
		fmt.Fprintf(&cases, "%s %s %s\n", j.name, in, filepath.Join(dir, j.name+".out"))
	}
	c := exec.Command(driver, library)
	c.Stdin = &cases
	said, err := c.CombinedOutput()
	require.NoError(t, err, "%s\nthe plan behind the last of these", said)
	for _, j := range jobs {
		out, err := os.ReadFile(filepath.Join(dir, j.name+".out"))
		require.NoError(t, err)
		j.check(t, int32(binary.LittleEndian.Uint32(out)), j.split(t, out[4:]))
	}
	return string(said)
}

func (j *job) split(t testing.TB, out []byte) (list [][]byte) {
	info, err := Describe(j.plan, j.opts)
	require.NoError(t, err)
	for _, o := range info.Outputs {
		list = append(list, out[:o.Bytes])
		out = out[o.Bytes:]
	}
	return list
}
