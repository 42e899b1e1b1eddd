// Command capacity measures what less memory costs training steps: the curve of time against memory of package remat,
// beside re-implementations of what others do, with the same rates:
//
//	go run ./bench/planner/capacity [-python PYTHON] [-seconds 20] -json FILE
//
// The models are the training steps of bench/planner/training. Time is the sum of the rates of
// package remat over all nodes, over that without a capacity; memory is a share of the frame without a capacity.
package main

import (
	"errors"
	"flag"
	"log"
	"maps"
	"slices"

	"tlruntime/bench/planner/records"
	"tlruntime/bench/planner/training"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
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
	Least    float64 `json:"least,omitempty"`    // no plan in this order takes less
	None     bool    `json:"none,omitempty"`     // no plan fits: proved
	Believed float64 `json:"believed,omitempty"` // the time of the cheapest whose live bytes fit
	Needs    int64   `json:"needs,omitempty"`    // the frame of that one
	Simple   int64   `json:"simple,omitempty"`   // its frame by an allocator that does not know what comes
}

type bench struct{ records []record }

func main() {
	lines := flag.String("json", "", "file for one line of JSON for each point")
	flag.Parse()
	var b bench
	for _, name := range slices.Sorted(maps.Keys(training.Models)) {
		if err := b.model(name, training.Models[name]()); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
	}
	if err := records.Write(*lines, b.records); err != nil {
		log.Fatal(err)
	}
}

func (b *bench) model(name string, g *graph.Graph) error {
	c, err := check.Check(g, check.Options{})
	if err != nil {
		return err
	}
	p, err := newProblem(c)
	if err != nil {
		return err
	}
	if err := b.ours(name, "TL", p, remat.Options{}); err != nil {
		return err
	}
	if err := b.ours(name, "TL, moves too", p, remat.Options{Outside: &remat.Outside{}}); err != nil {
		return err
	}
	for _, h := range heuristics {
		if err := b.peer(name, h, p); err != nil {
			log.Print("skipped: ", err)
		}
	}
	return nil
}

func (b *bench) ours(name, who string, p *problem, o remat.Options) error {
	for _, percent := range percents {
		r := record{Model: name, Steps: len(p.steps), Frame: p.frame, Who: who, Percent: percent}
		o.Capacity = p.frame * percent / 100
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
			r.Time, r.Least = fit.Cost/fit.Given, fit.LeastCost/fit.Given
		}
		b.records = append(b.records, r)
	}
	return nil
}

// peer takes for each capacity the cheapest of a peer's schedules: of those whose frame fits, and of those whose live
// bytes fit, which is what their author looks at.
func (b *bench) peer(name string, h heuristic, p *problem) error {
	schedules, err := h.schedules(p)
	if err != nil {
		return err
	}
	var answers []answer
	for _, s := range schedules {
		a, err := p.evaluate(s)
		if err != nil {
			return err
		}
		answers = append(answers, a)
	}
	for _, percent := range percents {
		r := record{Model: name, Steps: len(p.steps), Frame: p.frame, Who: h.name, Percent: percent}
		capacity := p.frame * percent / 100
		for _, a := range answers {
			if x := a.cost / p.base; a.frame <= capacity && (r.Time == 0 || x < r.Time) {
				r.Time = x
			}
			if x := a.cost / p.base; a.sum <= capacity && (r.Believed == 0 || x < r.Believed) {
				r.Believed, r.Needs, r.Simple = x, a.frame, a.simple
			}
		}
		b.records = append(b.records, r)
	}
	return nil
}
