package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// engineJob is what python/tl_runtime/_run_on.py is asked to do.
type engineJob struct {
	Model        string            `json:"model"`
	On           string            `json:"on"`
	Bind         map[string]int64  `json:"bind"`
	Freeze       map[string]string `json:"freeze"`
	Options      []string          `json:"options"` // flags of `tl compile`
	Inputs       map[string]string `json:"inputs"`
	OutputFolder string            `json:"output_folder"`
	OutputNames  []string          `json:"output_names"`
	JSON         bool              `json:"json"`
}

// runOn hands the run to Python, which has the clients of engines, and does not return unless that fails. Input files
// that are missing and flags that are wrong are told before.
func (r *running) runOn(path string) error {
	if address, dask := strings.CutPrefix(r.on, "dask://"); r.on != "mpi" && (!dask || address == "") {
		return fmt.Errorf("--on %s: an engine is dask://HOST:PORT, or mpi under mpiexec", r.on)
	}
	if r.repeat != 1 {
		return fmt.Errorf("--repeat %d: with --on all samples are run once", r.repeat)
	}
	c, err := r.check(path)
	if err != nil {
		return err
	}
	for name, file := range r.inputs {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("--input %s: %w", name, err)
		}
	}
	job := engineJob{Model: path, On: r.on, Bind: c.options.Bind, Freeze: r.freeze, Options: r.compileFlags(),
		Inputs: r.inputs, OutputFolder: r.outputFolder, JSON: r.json}
	for _, id := range c.Outputs {
		job.OutputNames = append(job.OutputNames, c.Values[id].Name)
	}
	job.OutputNames = fileNames(job.OutputNames)
	if err := spare(append(r.read(path), c.graph.Files...), r.inFolder(job.OutputNames)...); err != nil {
		return err
	}
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	return r.python3("-m", "tl_runtime._run_on", string(text))
}

// compileFlags are the flags of this call that `tl compile` has as well.
func (r *running) compileFlags() []string {
	o := &r.options
	flags := []string{"--max-steps=" + strconv.FormatInt(o.MaxSteps, 10), "--seed=" + strconv.FormatUint(o.Seed, 10),
		"--alignment=" + strconv.FormatInt(o.Alignment, 10), "--budget=" + o.Budget.String(),
		"--compiler=" + r.compiler, "--python=" + r.python}
	for _, name := range slices.Concat(r.thaw, slices.Sorted(maps.Keys(r.inputs))) {
		flags = append(flags, "--thaw="+name)
	}
	for flag, set := range map[string]bool{"--no-views": o.NoViews, "--no-in-place": o.NoInPlace,
		"--no-concat": o.NoConcat, "--no-reorder": o.NoReorder, "--slots": r.slots} {
		if set {
			flags = append(flags, flag)
		}
	}
	return flags
}

// python3 becomes the interpreter, which has to have the package tl_runtime.
func (r *running) python3(arguments ...string) error {
	name := r.python
	if name == "" {
		name = "python3"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("--on %s: engines are reached through Python: %w", r.on, err)
	}
	if said, err := exec.Command(path, "-c", "import tl_runtime, numpy").CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return fmt.Errorf("--on %s: %s cannot import tl_runtime and numpy (%s); install them there (pip install "+
			"./python in the sources), or name another interpreter by --python", r.on, path, cmp.Or(lines[len(lines)-1], err.Error()))
	}
	environment := os.Environ()
	if library, err := r.findRuntime(); err == nil && filepath.IsAbs(library) {
		environment = append(environment, "TL_RUNTIME_LIBRARY="+library)
	}
	return errors.Join(errors.New(path), syscall.Exec(path, append([]string{path}, arguments...), environment))
}
