// Command planner measures the placement of buffers at offsets on the instances of
// a folder, beside simple re-implementations of what others do, and prints a
// Markdown table:
//
//	go run ./bench/planner [-budget 10s] [-seed 1] [-generate 1000000] [-shapes 1000000 [-trace FILE]]
//		[-sets FOLDER] [-packings 3] [-json FILE] [-ablation] [FOLDER]
//
// Every *.csv below FOLDER is an instance: a header, then id,lower,upper,size with
// half-open lifetimes, and perhaps a column alignment. A number in its name, as in A.1048576.csv, is the capacity
// that its authors ask for.
//
// With -ablation all these instances are placed without each part of the search in turn, and nothing else is measured.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"tlruntime/bench/planner/records"
	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

func main() {
	var b bench
	flag.DurationVar(&b.options.Budget, "budget", 10*time.Second, "CPU time for each instance")
	flag.Uint64Var(&b.options.Seed, "seed", 1, "seed of the search")
	flag.IntVar(&b.large, "generate", 0, "measure generated instances of so many buffers and of a tenth too")
	flag.IntVar(&b.shapes, "shapes", 0, "measure generated instances of every shape: of 30000 and of so many buffers")
	flag.StringVar(&b.trace, "trace", "", "measure the lifetimes of this recording beside the shapes")
	flag.StringVar(&b.sets, "sets", "", "measure the recorded lifetimes of this folder, *.csv.gz")
	flag.Uint64Var(&b.packings, "packings", 0, "measure so many perfect packings of each kind and size")
	flag.BoolVar(&b.ablation, "ablation", false, "measure what each part of the search is good for")
	output := flag.String("json", "", "file for one line of JSON for each instance")
	flag.Parse()
	if flag.NArg() > 1 || flag.NArg()+b.large+b.shapes+len(b.sets) == 0 && b.packings == 0 {
		flag.Usage()
		os.Exit(2)
	}
	err := b.run(flag.Arg(0))
	switch {
	case err != nil || *output == "":
	case b.ablation:
		err = records.Write(*output, b.ablated)
	default:
		err = records.Write(*output, b.records)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "planner:", err)
		os.Exit(1)
	}
}

// bench is one run of this program.
type bench struct {
	options  offsets.Options
	large    int
	shapes   int
	trace    string
	sets     string
	packings uint64
	records  []*record
	ablation bool
	ablated  []ablated
}

// instance is one file.
type instance struct {
	name     string
	problem  offsets.Problem
	capacity int64 // 0 when none is asked for
}

// run measures the instances of a folder, if there is one, and the generated one.
func (b *bench) run(folder string) error {
	if b.ablation {
		return b.measureAblation(folder)
	}
	for _, buffers := range []int{b.large / 10, b.large} { // first, so that the memory is theirs
		if buffers == 0 {
			continue
		}
		r, err := generated(buffers)
		if err != nil {
			return err
		}
		b.records = append(b.records, r)
	}
	for _, part := range []func() error{b.measureShapes, b.measureSets, b.measurePackings} {
		if err := part(); err != nil {
			return err
		}
	}
	if folder == "" {
		return nil
	}
	list, err := instances(folder)
	if err != nil {
		return err
	}
	heading()
	for _, in := range list {
		r, err := measure(in, b.options)
		if err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
		r.print()
		b.records = append(b.records, r)
	}
	return nil
}

func instances(folder string) ([]instance, error) {
	var list []instance
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".csv" {
			return err
		}
		in, err := read(path)
		list = append(list, in)
		return err
	})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no *.csv below %s", folder)
	}
	return list, err
}

func read(path string) (instance, error) {
	in := instance{name: strings.TrimSuffix(filepath.Base(path), ".csv"), capacity: capacity(path)}
	f, err := os.Open(path)
	if err != nil {
		return in, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		return in, fmt.Errorf("%s: no rows (%v)", path, err)
	}
	aligned := slices.Index(rows[0], "alignment")
	for _, row := range rows[1:] {
		b, err := buffer(row, aligned)
		if err != nil {
			return in, fmt.Errorf("%s: %v: %w", path, row, err)
		}
		in.problem.Buffers = append(in.problem.Buffers, b)
	}
	return in, nil
}

// buffer reads a row; aligned is the column of its alignment, -1 for none.
func buffer(row []string, aligned int) (offsets.Buffer, error) {
	b := offsets.Buffer{Name: row[0]}
	if len(row) < 4 {
		return b, fmt.Errorf("%d fields, want id,lower,upper,size", len(row))
	}
	columns := map[int]*int64{1: &b.First, 2: &b.End, 3: &b.Bytes}
	if aligned > 0 {
		columns[aligned] = &b.Alignment
	}
	for column, field := range columns {
		value, err := strconv.ParseInt(row[column], 10, 64)
		if err != nil {
			return b, err
		}
		*field = value
	}
	return b, nil
}

// capacity is the number in a file's name.
func capacity(path string) int64 {
	parts := strings.Split(filepath.Base(path), ".")
	if len(parts) < 3 {
		return 0
	}
	c, _ := strconv.ParseInt(parts[len(parts)-2], 10, 64)
	return c
}

// record is what was measured of one instance; times in seconds.
type record struct {
	Instance    string             `json:"instance"`
	Buffers     int                `json:"buffers"`
	LowerBound  int64              `json:"lower_bound"`
	Quick       int64              `json:"quick_bytes"` // without a budget
	QuickTime   float64            `json:"quick_seconds"`
	QuickCPU    float64            `json:"quick_cpu_seconds,omitempty"`
	Bytes       int64              `json:"bytes"`
	Time        float64            `json:"seconds"`
	Optimal     bool               `json:"optimal"`
	Capacity    int64              `json:"capacity,omitempty"`
	Reach       float64            `json:"reach_seconds,omitempty"` // median to the capacity; 0: not reached
	ReachWorst  float64            `json:"reach_worst_seconds,omitempty"`
	Peers       map[string]float64 `json:"peers,omitempty"` // their frames over the lower bound
	ResidentKiB int64              `json:"resident_kib,omitempty"`
}

func heading() {
	columns := []string{"instance", "buffers", "lower bound", "no budget", "time", "with budget", "ratio", "proof",
		"time", "to capacity"}
	for _, p := range peers {
		columns = append(columns, p.name)
	}
	fmt.Printf("| %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)-1))
}

// measure places one instance in every way.
func measure(in instance, o offsets.Options) (*record, error) {
	quick, quickTime, err := solve(in, offsets.Options{Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	best, bestTime, err := solve(in, o)
	if err != nil {
		return nil, err
	}
	bound := best.LowerBound()
	r := &record{Instance: in.name, Buffers: len(in.problem.Buffers), LowerBound: bound, Quick: quick.FrameBytes(),
		QuickTime: quickTime.Seconds(), Bytes: best.FrameBytes(), Time: bestTime.Seconds(), Optimal: best.Optimal,
		Capacity: in.capacity, Peers: map[string]float64{}}
	r.besides(in, math.Inf(1))
	return r, r.reach(in, o)
}

func (r *record) print() {
	proof := fmt.Sprintf("gap %.2f %%", 100*float64(r.Bytes-r.LowerBound)/float64(max(1, r.LowerBound)))
	if r.Optimal {
		proof = "optimal"
	}
	capacity := ""
	switch {
	case r.Capacity > 0 && r.Reach == 0:
		capacity = "not reached"
	case r.Capacity > 0:
		capacity = fmt.Sprintf("%s (worst of 5: %s)", short(r.Reach), short(r.ReachWorst))
	}
	cells := []string{r.Instance, strconv.Itoa(r.Buffers), strconv.FormatInt(r.LowerBound, 10),
		ratio(r.Quick, r.LowerBound),
		short(r.QuickTime), strconv.FormatInt(r.Bytes, 10), ratio(r.Bytes, r.LowerBound), proof, short(r.Time),
		capacity}
	for _, p := range peers {
		cells = append(cells, fmt.Sprintf("%.4f", r.Peers[p.name])) // 0 where it would take too long
	}
	fmt.Printf("| %s |\n", strings.Join(cells, " | "))
}

func solve(in instance, o offsets.Options) (*offsets.Solution, time.Duration, error) {
	s, took, err := timed(in, o)
	if err == nil {
		err = check.Solution(in.problem, s)
	}
	return s, took, err
}

// timed measures CPU time, without that of earlier garbage, and so does a budget, since others may use the machine.
func timed(in instance, o offsets.Options) (*offsets.Solution, time.Duration, error) {
	runtime.GC()
	o.Clock = func() time.Time { return time.Unix(0, int64(processor())) }
	start := processor()
	s, err := offsets.Solve(in.problem, o)
	return s, processor() - start, err
}

// reach measures the time to the capacity, over five seeds.
func (r *record) reach(in instance, o offsets.Options) error {
	if in.capacity == 0 {
		return nil
	}
	times := []time.Duration{}
	for range 5 {
		o.Target = in.capacity
		o.Seed++
		s, took, err := solve(in, o)
		if err != nil {
			return err
		}
		if s.FrameBytes() > in.capacity {
			took = o.Budget
		}
		times = append(times, took)
	}
	slices.Sort(times)
	if times[4] < o.Budget {
		r.Reach, r.ReachWorst = times[2].Seconds(), times[4].Seconds()
	}
	return nil
}

func ratio(bytes, bound int64) string {
	return fmt.Sprintf("%.4f", float64(bytes)/float64(max(1, bound)))
}

func short(seconds float64) string {
	if seconds < 0.1 {
		return fmt.Sprintf("%.2f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// generated measures one large instance, heuristics alone.
func generated(buffers int) (*record, error) {
	in := instance{problem: problems.Wide(buffers).Problem(1)}
	s, took, err := timed(in, offsets.Options{})
	if err != nil {
		return nil, err
	}
	r := &record{Instance: "generated", Buffers: buffers, LowerBound: s.LowerBound(), Quick: s.FrameBytes(),
		Bytes:   s.FrameBytes(),
		Optimal: s.Optimal, QuickTime: took.Seconds(), ResidentKiB: resident()}
	fmt.Printf("\ngenerated, %d buffers: %d bytes, ratio %s, %s; %d KiB resident at most\n", buffers, r.Bytes,
		ratio(r.Bytes, r.LowerBound), short(r.QuickTime), r.ResidentKiB)
	return r, check.Solution(in.problem, s)
}

// resident is the largest resident set of this process, as the system says.
func resident() (kib int64) {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
	return kib
}
