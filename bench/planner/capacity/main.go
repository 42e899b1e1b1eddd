// Command capacity measures what less memory costs training steps: the curve of time against memory of package remat,
// beside re-implementations of what others do, with the same rates:
//
//	go run ./bench/planner/capacity [-rates FILE] [-python PYTHON] [-seconds 20] [-json FILE] [MODEL...]
//
// A MODEL is a training step of bench/planner/training; without one all are measured. Time is the sum of the rates of
// package remat over all nodes, over that without a capacity; memory is a share of the frame without a capacity.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"tlruntime/bench/planner/records"
	"tlruntime/bench/planner/training"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

var percents = []int64{80, 60, 50, 40, 30}

// record is one point of a curve. Without a Time nothing was found.
type record struct {
	Model    string  `json:"model"`
	Steps    int     `json:"steps"`
	Frame    int64   `json:"frame"` // without a capacity
	Who      string  `json:"who"`
	Percent  int64   `json:"percent"`
	Time     float64 `json:"time,omitempty"`     // where the addresses fit
	Reached  int64   `json:"reached,omitempty"`  // the frame then
	Least    float64 `json:"least,omitempty"`    // no plan in this order takes less
	None     bool    `json:"none,omitempty"`     // no plan fits: proved
	Believed float64 `json:"believed,omitempty"` // the time of the cheapest whose live bytes fit
	Needs    int64   `json:"needs,omitempty"`    // the frame of that one
	Simple   int64   `json:"simple,omitempty"`   // its frame by an allocator that does not know what comes
	Seconds  float64 `json:"seconds"`            // to find it; of a peer: all its schedules
}

type bench struct {
	rates   *remat.Rates
	peers   bool
	records []record
}

func main() {
	rates := flag.String("rates", "", "file with rates (default: those of package remat)")
	lines := flag.String("json", "", "file for one line of JSON for each point")
	peers := flag.Bool("peers", true, "measure what others do as well")
	flag.Parse()
	b := bench{rates: remat.Measured, peers: *peers}
	err := b.run(*rates, flag.Args())
	if err == nil && *lines != "" {
		err = records.Write(*lines, b.records)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

func (b *bench) run(rates string, names []string) error {
	if rates != "" {
		content, err := os.ReadFile(rates)
		if err != nil {
			return err
		}
		if b.rates, err = remat.ReadRates(bytes.NewReader(content)); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(training.Models))
	}
	for _, name := range names {
		build, ok := training.Models[name]
		if !ok {
			return fmt.Errorf("there is no training step %q; there are %q", name,
				slices.Sorted(maps.Keys(training.Models)))
		}
		if err := b.model(name, build()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) model(name string, g *graph.Graph) error {
	c, err := graph.Check(g, graph.CheckOptions{})
	if err != nil {
		return err
	}
	p, err := newProblem(c, b.rates)
	if err != nil {
		return err
	}
	fmt.Printf("\n%s: %d steps, %d bytes, %.2f ms estimated\n\n| |", name, len(p.steps), p.frame, 1e3*p.base)
	for _, percent := range percents {
		fmt.Printf(" %d %% |", percent)
	}
	fmt.Print("\n|---|---:|---:|---:|---:|---:|\n")
	for _, way := range []struct {
		who string
		o   remat.Options
	}{
		{"TL", remat.Options{}},
		{"TL, moves too", remat.Options{Outside: &remat.Outside{}}},
	} {
		way.o.Cost = b.rates.Node
		if err := b.ours(name, way.who, p, way.o); err != nil {
			return err
		}
	}
	for _, h := range heuristics {
		if !b.peers {
			break
		}
		if err := b.peer(name, h, p); err != nil {
			fmt.Fprintln(os.Stderr, "skipped:", err)
		}
	}
	return nil
}

func (b *bench) ours(name, who string, p *problem, o remat.Options) error {
	var list []record
	for _, percent := range percents {
		r := record{Model: name, Steps: len(p.steps), Frame: p.frame, Who: who, Percent: percent}
		o.Capacity = p.frame * percent / 100
		start := time.Now()
		fit, err := remat.Fit(p.c, o)
		var full *remat.CapacityError
		switch {
		case errors.As(err, &full):
			r.None = full.LowerBound > o.Capacity
		case err != nil:
			return err
		default:
			if err := plan.Verify(fit.Plan, fit.Graph); err != nil {
				return err
			}
			r.Time, r.Least, r.Reached = fit.Cost/fit.Given, fit.LeastCost/fit.Given, fit.Plan.Frame.Bytes
		}
		r.Seconds = time.Since(start).Seconds()
		list = append(list, r)
	}
	b.note(list)
	return nil
}

// peer takes for each capacity the cheapest of a peer's schedules: of those whose frame fits, and of those whose live
// bytes fit, which is what their author looks at.
func (b *bench) peer(name string, h heuristic, p *problem) error {
	start := time.Now()
	schedules, err := h.schedules(p)
	if err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	var answers []answer
	for _, s := range schedules {
		a, err := p.evaluate(s)
		if err != nil {
			return err
		}
		answers = append(answers, a)
	}
	var list []record
	for _, percent := range percents {
		r := record{Model: name, Steps: len(p.steps), Frame: p.frame, Who: h.name, Percent: percent, Seconds: took}
		capacity := p.frame * percent / 100
		for _, a := range answers {
			if x := a.cost / p.base; a.frame <= capacity && (r.Time == 0 || x < r.Time) {
				r.Time, r.Reached = x, a.frame
			}
			if x := a.cost / p.base; a.sum <= capacity && (r.Believed == 0 || x < r.Believed) {
				r.Believed, r.Needs, r.Simple = x, a.frame, a.simple
			}
		}
		list = append(list, r)
	}
	b.note(list)
	return nil
}

// note prints a curve: the time where the addresses fit, "none" where it is proved that none can; behind it the time
// that is proved to be needed, or what a peer would have believed and the memory that this takes at addresses.
func (b *bench) note(list []record) {
	fmt.Printf("| %s |", list[0].Who)
	for _, r := range list {
		cell := "-"
		switch {
		case r.Time > 0:
			cell = fmt.Sprintf("%.3f", r.Time)
		case r.None:
			cell = "none"
		}
		if r.Least > 0 {
			cell += fmt.Sprintf(" (>= %.3f)", r.Least)
		}
		if r.Believed > 0 {
			share := func(n int64) float64 { return 100 * float64(n) / float64(r.Frame) }
			cell += fmt.Sprintf(" (%.3f needs %.0f %%, %.0f %%)", r.Believed, share(r.Needs), share(r.Simple))
		}
		fmt.Printf(" %s |", cell)
	}
	fmt.Println()
	b.records = append(b.records, list...)
}
