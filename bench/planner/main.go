// Command planner measures the placement of buffers at offsets on the instances of
// a folder, beside simple re-implementations of what others do, and prints a
// Markdown table:
//
//	go run ./bench/planner [-budget 10s] [-seed 1] [-generate 1000000] FOLDER
//
// Every *.csv below FOLDER is an instance: a header, then id,lower,upper,size with
// half-open lifetimes. A number in its name, as in A.1048576.csv, is the capacity
// that its authors ask for. The real minimalloc is run too when it is on the PATH.
package main

import (
	"encoding/csv"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tlruntime/runtime/plan/offsets"
	"tlruntime/runtime/plan/offsets/check"
	"tlruntime/runtime/plan/offsets/generate"
)

func main() {
	budget := flag.Duration("budget", 10*time.Second, "time for each instance")
	seed := flag.Uint64("seed", 1, "seed of the search")
	large := flag.Int("generate", 0, "measure a generated instance of so many buffers too")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := report(flag.Arg(0), offsets.Options{Seed: *seed, Budget: *budget}, *large); err != nil {
		fmt.Fprintln(os.Stderr, "planner:", err)
		os.Exit(1)
	}
}

// instance is one file.
type instance struct {
	name     string
	problem  offsets.Problem
	capacity int64 // 0 when none is asked for
}

func report(folder string, o offsets.Options, large int) error {
	list, err := instances(folder)
	if err != nil {
		return err
	}
	heading()
	for _, in := range list {
		if err := row(in, o); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	for _, line := range minimalloc(folder, list, o.Budget) {
		fmt.Println(line)
	}
	if large > 0 {
		return generated(large)
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
	for _, row := range rows[1:] {
		b, err := buffer(row)
		if err != nil {
			return in, fmt.Errorf("%s: %v: %w", path, row, err)
		}
		in.problem.Buffers = append(in.problem.Buffers, b)
	}
	return in, nil
}

func buffer(row []string) (offsets.Buffer, error) {
	b := offsets.Buffer{Name: row[0]}
	if len(row) < 4 {
		return b, fmt.Errorf("%d fields, want id,lower,upper,size", len(row))
	}
	for k, field := range []*int64{&b.First, &b.End, &b.Bytes} {
		value, err := strconv.ParseInt(row[k+1], 10, 64)
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

func heading() {
	columns := []string{"instance", "buffers", "lower bound", "unasked", "time", "with budget", "ratio", "proof", "time", "to capacity"}
	for _, p := range peers {
		columns = append(columns, p.name)
	}
	fmt.Printf("| %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)-1))
}

// row measures one instance.
func row(in instance, o offsets.Options) error {
	unasked, unaskedTime, err := solve(in, offsets.Options{Seed: o.Seed})
	if err != nil {
		return err
	}
	best, bestTime, err := solve(in, o)
	if err != nil {
		return err
	}
	reached, err := reach(in, o)
	if err != nil {
		return err
	}
	bound := best.LowerBound()
	cells := []string{in.name, strconv.Itoa(len(in.problem.Buffers)), strconv.FormatInt(bound, 10),
		ratio(unasked.FrameBytes(), bound), short(unaskedTime),
		strconv.FormatInt(best.FrameBytes(), 10), ratio(best.FrameBytes(), bound), proof(best), short(bestTime), reached}
	for _, p := range peers {
		cells = append(cells, ratio(p.place(in.problem.Buffers), bound))
	}
	fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	return nil
}

func solve(in instance, o offsets.Options) (*offsets.Solution, time.Duration, error) {
	start := time.Now()
	s, err := offsets.Solve(in.problem, o)
	took := time.Since(start)
	if err == nil {
		err = check.Solution(in.problem, s)
	}
	return s, took, err
}

// reach is the median time to the capacity over five seeds.
func reach(in instance, o offsets.Options) (string, error) {
	if in.capacity == 0 {
		return "", nil
	}
	times := []time.Duration{}
	for range 5 {
		o.Target = in.capacity
		o.Seed++
		s, took, err := solve(in, o)
		if err != nil {
			return "", err
		}
		if s.FrameBytes() > in.capacity {
			took = o.Budget
		}
		times = append(times, took)
	}
	slices.Sort(times)
	if times[2] >= o.Budget {
		return "not reached", nil
	}
	return fmt.Sprintf("%s (worst of 5: %s)", short(times[2]), short(times[4])), nil
}

func ratio(bytes, bound int64) string {
	return fmt.Sprintf("%.4f", float64(bytes)/float64(max(1, bound)))
}

func proof(s *offsets.Solution) string {
	if s.Optimal {
		return "optimal"
	}
	return fmt.Sprintf("gap %.2f %%", 100*s.Gap())
}

func short(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// generated measures one large instance, heuristics alone.
func generated(buffers int) error {
	in := instance{problem: generate.Wide(buffers).Problem(1)}
	start := time.Now()
	s, err := offsets.Solve(in.problem, offsets.Options{})
	took := time.Since(start)
	if err != nil {
		return err
	}
	fmt.Printf("\ngenerated, %d buffers: %d bytes, ratio %s, %s; %s resident at most\n", buffers, s.FrameBytes(),
		ratio(s.FrameBytes(), s.LowerBound()), short(took), resident())
	return check.Solution(in.problem, s)
}

// resident is the largest resident set of this process, as the system says.
func resident() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return "unknown"
}
