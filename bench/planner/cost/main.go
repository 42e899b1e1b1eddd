// Command cost measures kernels on this machine, fits the rates of package remat to them, and compares what the rates
// say of whole models with the time that these take:
//
//	go run ./bench/planner/cost -tl build/tl [-rates FILE] [-json FILE] [MODEL...]
//
// Kernels and models are compiled and run by `tl run`; a time is the best of many runs in one process. A MODEL is an
// .onnx file beside the training steps of bench/planner/training.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tlruntime/bench/planner/records"
	"tlruntime/bench/planner/training"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	graphjson "tlruntime/compiler/graph/json"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

func main() {
	var b bench
	flag.StringVar(&b.tl, "tl", "build/tl", "the program tl")
	rates := flag.String("rates", "", "file for the rates")
	lines := flag.String("json", "", "file for one line of JSON for each class and model")
	flag.Parse()
	err := b.run(*rates, flag.Args())
	if err == nil && *lines != "" {
		err = records.Write(*lines, b.records)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// record is a class that was fitted, or a model that was run. Times in seconds.
type record struct {
	Class     remat.Class `json:"class,omitempty"`
	Kernels   int         `json:"kernels,omitempty"`
	Typical   float64     `json:"typical,omitempty"` // the median of how far predictions are off, as a share
	Worst     float64     `json:"worst,omitempty"`
	Model     string      `json:"model,omitempty"`
	Percent   int64       `json:"percent,omitempty"` // of the frame that the model has without a capacity
	Again     int         `json:"again,omitempty"`
	Moved     int         `json:"moved,omitempty"`
	Predicted float64     `json:"predicted,omitempty"`
	Measured  float64     `json:"measured,omitempty"`
}

type bench struct {
	tl      string
	folder  string
	rates   *remat.Rates
	records []record
}

func (b *bench) run(output string, models []string) (err error) {
	if b.folder, err = os.MkdirTemp("", "tl-cost-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.folder)
	if err := b.measure(); err != nil {
		return err
	}
	if output != "" {
		if err := write(output, b.rates.WriteJSON); err != nil {
			return err
		}
	}
	return b.compare(models)
}

func write(path string, content func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return content(f)
}

// measure times the kernels and fits the rates.
func (b *bench) measure() error {
	b.rates = &remat.Rates{Machine: machine(), Near: near, Classes: map[remat.Class]remat.Rate{}}
	samples := map[remat.Class][]sample{}
	for _, g := range kernels() {
		c, err := check.Check(g, check.Options{})
		if err != nil {
			return err
		}
		if len(c.Nodes) != len(g.Nodes) {
			return fmt.Errorf("%s: %d nodes became %d; a kernel is one", g.Name, len(g.Nodes), len(c.Nodes))
		}
		w := remat.WorkOf(c, &c.Nodes[0])
		seconds, err := b.graph(g)
		if err != nil {
			return err
		}
		seconds /= float64(len(g.Nodes))
		samples[w.Class] = append(samples[w.Class], sample{b.rates.Features(w), seconds})
	}
	for _, class := range remat.Classes {
		if len(samples[class]) == 0 {
			return fmt.Errorf("no kernel of class %q was measured", class)
		}
		rate, typical, worst := fit(samples[class])
		b.rates.Classes[class] = rate
		b.records = append(b.records, record{Class: class, Kernels: len(samples[class]), Typical: typical,
			Worst: worst})
	}
	return nil
}

// graph runs a graph and returns its time.
func (b *bench) graph(g *graph.Graph, flags ...string) (float64, error) {
	path := filepath.Join(b.folder, g.Name+".json")
	if err := write(path, func(w io.Writer) error { return graphjson.Write(w, g) }); err != nil {
		return 0, err
	}
	return b.file(path, flags...)
}

// file runs a model and returns its time, the best over three processes that run it for about a fifth of a second each.
func (b *bench) file(path string, flags ...string) (float64, error) {
	best := 0.0
	for repeat, round := 3, 0; round < 4; round++ {
		arguments := append([]string{"run", path, "--json", "--repeat", fmt.Sprint(repeat)}, flags...)
		var said, failed bytes.Buffer
		c := exec.Command(b.tl, arguments...)
		c.Stdout, c.Stderr = &said, &failed
		if err := c.Run(); err != nil {
			return 0, fmt.Errorf("tl %s: %w: %s", strings.Join(arguments, " "), err, failed.String())
		}
		var report struct {
			Run struct {
				Minimum int64 `json:"minimum_ns"`
			} `json:"run"`
		}
		if err := json.Unmarshal(said.Bytes(), &report); err != nil {
			return 0, err
		}
		if seconds := float64(max(report.Run.Minimum, 1)) / 1e9; best == 0 || seconds < best {
			best = seconds
		}
		repeat = min(2000, max(5, int(0.2/best)))
	}
	return best, nil
}

func machine() string {
	name := "a processor without a name"
	content, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(content)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.HasPrefix(key, "model name") {
			name = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, one thread, %s", name, time.Now().UTC().Format(time.DateOnly))
}

// compare runs whole models, and the training steps at several capacities.
func (b *bench) compare(models []string) error {
	for _, path := range models {
		if err := b.model(path); err != nil {
			fmt.Fprintln(os.Stderr, "skipped:", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(training.Models)) {
		if err := b.training(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// model compares for a file, planned as `tl plan` plans it.
func (b *bench) model(path string) error {
	g, err := models.Load(path, nil)
	if err != nil {
		return err
	}
	c, err := check.Check(g, check.Options{})
	if err != nil {
		return err
	}
	planned, err := models.Plan(c, remat.Options{})
	if err != nil {
		return err
	}
	e := planned.Plan
	seconds, err := b.file(path)
	if err == nil {
		b.records = append(b.records, record{Model: e.Name, Percent: 100, Predicted: b.rates.Plan(e),
			Measured: seconds})
	}
	return err
}

func (b *bench) training(name string) error {
	g := training.Models[name]()
	c, err := check.Check(g, check.Options{})
	if err != nil {
		return err
	}
	given, err := plan.Build(c, plan.Options{})
	if err != nil {
		return err
	}
	cost := filepath.Join(b.folder, "rates.json")
	if err := write(cost, b.rates.WriteJSON); err != nil {
		return err
	}
	for _, way := range []struct {
		percent int64
		outside *remat.Outside
	}{{percent: 100}, {percent: 60}, {percent: 40}, {60, &remat.Outside{}}} {
		capacity := given.Frame.Bytes * way.percent / 100
		r, err := remat.Fit(c, remat.Options{Capacity: capacity, Cost: b.rates.Node, Outside: way.outside})
		if err != nil {
			fmt.Fprintf(os.Stderr, "skipped: %s at %d %%: %v\n", name, way.percent, err)
			continue
		}
		flags := []string{"--capacity", fmt.Sprint(capacity), "--cost", cost}
		if way.outside != nil {
			flags = append(flags, "--spill")
		}
		seconds, err := b.graph(g, flags...)
		if err != nil {
			return err
		}
		b.records = append(b.records, record{Model: name, Percent: way.percent, Again: len(r.Again),
			Moved: len(r.Moved), Predicted: b.rates.Plan(r.Plan), Measured: seconds})
	}
	return nil
}
