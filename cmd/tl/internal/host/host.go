// Package host runs compiled plans in a process of their own.
package host

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// source is the C program that runs a compiled plan. It needs nothing but the
// system's libraries.
//
//go:embed program/host.c
var source []byte

// Section is a file of tensors. Offsets tells where each begins in a sample of
// Bytes bytes; the samples follow each other.
type Section struct {
	Path    string
	Bytes   int64
	Offsets []int64
}

// Job is what the host program is asked to do.
type Job struct {
	Runtime  string // path of libtl_runtime.so
	Module   string // path of the compiled plan
	Function string
	// Constants and Inputs exist; Outputs has its final size and is written.
	Constants, Inputs, Outputs Section
	Samples, Repeat            int
	// Spill is the file of the second space, which has its size; then FrameBytes is how much the function needs beside
	// it. "": the function takes its memory from the runtime.
	Spill      string
	FrameBytes int64
}

// Report is what the host program found.
type Report struct {
	Runs              int    `json:"runs"`
	FirstNs           int64  `json:"first_ns"`
	MedianNs          int64  `json:"median_ns"`
	MinimumNs         int64  `json:"minimum_ns"`
	Allocations       uint64 `json:"allocations"` // of the runtime's objects, during all runs
	Mallocs           uint64 `json:"mallocs"`     // of the C library, by the thread that ran the model
	LiveBytes         uint64 `json:"live_bytes"`  // of the runtime's objects, afterwards
	PeakResidentBytes uint64 `json:"peak_resident_bytes"`
}

// CheckPath refuses a path that a job cannot hold, whose words and lines end at tabs and line breaks.
func CheckPath(path string) error {
	if strings.ContainsAny(path, "\t\n") {
		return fmt.Errorf("the path %q has a tab or a line break, which the program that runs the model cannot read", path)
	}
	return nil
}

// Run starts the host program and returns its report. An error holds what the
// program said.
func Run(program string, j *Job) (*Report, error) {
	for _, path := range []string{j.Runtime, j.Module, j.Constants.Path, j.Inputs.Path, j.Outputs.Path, j.Spill} {
		if err := CheckPath(path); err != nil {
			return nil, err
		}
	}
	folder, err := os.MkdirTemp("", "tl-run-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "job")
	if err := os.WriteFile(path, j.encode(), 0o600); err != nil {
		return nil, err
	}
	var out, failed bytes.Buffer
	c := exec.Command(program, path)
	c.Stdout, c.Stderr = &out, &failed
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("the run of %s failed: %s (%w)", j.Module, strings.TrimSpace(failed.String()), err)
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("the host program printed %q: %w", out.String(), err)
	}
	return &r, nil
}

func (j *Job) encode() []byte {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	line := func(key string, values ...any) {
		fmt.Fprint(w, key)
		for _, v := range values {
			fmt.Fprintf(w, "\t%v", v)
		}
		fmt.Fprintln(w)
	}
	line("runtime", j.Runtime)
	line("module", j.Module)
	line("function", j.Function)
	section := func(key string, s *Section) {
		line(key+"s", s.Path, s.Bytes)
		for _, offset := range s.Offsets {
			line(key, offset)
		}
	}
	section("constant", &j.Constants)
	section("input", &j.Inputs)
	section("output", &j.Outputs)
	if j.Spill != "" {
		line("spill", j.Spill, j.FrameBytes)
	}
	line("samples", j.Samples)
	line("repeat", j.Repeat)
	w.Flush()
	return b.Bytes()
}
