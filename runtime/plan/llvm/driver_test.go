package llvm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/plan"
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

// clang finds a compiler that reads the modules, with the flags it needs.
func clang(t testing.TB) []string {
	for _, name := range []string{"clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		version, _ := exec.Command(path, "--version").Output()
		if strings.Contains(string(version), "version 14.") {
			return []string{path}
		}
		return []string{path}
	}
	fmt.Println("skip: no clang compiles the modules here")
	t.Skip("no clang")
	return nil
}

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

// compiled makes one shared library of the modules of all jobs.
func compiled(t testing.TB, dir string, jobs []*job) string {
	argv := append(clang(t), "-O2", "-march=native", "-shared", "-fPIC", "-Wno-override-module", "-o", filepath.Join(dir, "plans.so"))
	for _, j := range jobs {
		path := filepath.Join(dir, j.name+".ll")
		require.NoError(t, os.WriteFile(path, []byte(j.text(t)), 0o600))
		argv = append(argv, path)
	}
	command(t, append(argv, "-lm")...)
	return filepath.Join(dir, "plans.so")
}

func (j *job) text(t testing.TB) string {
	if j.module != "" {
		return j.module
	}
	j.opts.Name = j.name
	if j.opts.Version == 0 {
		j.opts.Version = 14
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
