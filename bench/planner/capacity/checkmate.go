package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

var (
	python  = flag.String("python", "python3", "interpreter that has scipy, for Checkmate")
	program = flag.String("checkmate", "bench/planner/capacity/checkmate.py", "the program that solves Checkmate's problem")
	seconds = flag.Int("seconds", 20, "for each of Checkmate's problems")
)

// coarse is a problem of whole layers, as Checkmate has them: a step whose result only one other takes is part of that
// one.
type coarse struct {
	Cost    []float64 `json:"cost"`
	Bytes   []int64   `json:"bytes"`
	Work    []int64   `json:"work"` // bytes that a layer needs while it runs, beside its results
	Needs   [][]int   `json:"needs"`
	Shares  []float64 `json:"shares"` // capacities, of what takes no repetition
	Seconds int       `json:"seconds"`
	members [][]int
}

func (p *problem) coarsen() *coarse {
	takers := make([][]int, len(p.steps))
	for k := range p.steps {
		for _, s := range p.steps[k].needs {
			takers[s] = append(takers[s], k)
		}
	}
	head := make([]int, len(p.steps)) // by step: the last step of its layer
	for k := len(p.steps) - 1; k >= 0; k-- {
		head[k] = k
		if len(takers[k]) == 0 {
			continue
		}
		one := head[takers[k][0]]
		alone := !slices.ContainsFunc(takers[k], func(t int) bool { return head[t] != one })
		if alone && p.steps[one].forward == p.steps[k].forward {
			head[k] = one
		}
	}
	c, number := &coarse{Seconds: *seconds}, map[int]int{}
	for k := range p.steps {
		if head[k] == k {
			number[k] = len(c.members)
			c.members = append(c.members, nil)
		}
	}
	for k := range p.steps {
		c.members[number[head[k]]] = append(c.members[number[head[k]]], k)
	}
	for l, members := range c.members {
		cost, needs := 0.0, []int{}
		for _, k := range members {
			cost += p.steps[k].cost
			for _, s := range p.steps[k].needs {
				if from := number[head[s]]; from != l && !slices.Contains(needs, from) {
					needs = append(needs, from)
				}
			}
		}
		slices.Sort(needs)
		result := p.steps[members[len(members)-1]].bytes
		c.Cost, c.Bytes, c.Needs = append(c.Cost, cost), append(c.Bytes, result), append(c.Needs, needs)
		c.Work = append(c.Work, max(0, p.inner(members)-result))
	}
	return c
}

// inner is the most bytes of a layer's own results that are alive at once.
func (p *problem) inner(members []int) int64 {
	last := map[int]int{}
	for at, k := range members {
		last[k] = at
		for _, s := range p.steps[k].needs {
			if _, ok := last[s]; ok {
				last[s] = at
			}
		}
	}
	highest, sum := int64(0), int64(0)
	for at, k := range members {
		sum += p.steps[k].bytes
		highest = max(highest, sum)
		for _, s := range members[:at+1] {
			if last[s] == at && s != members[len(members)-1] {
				sum -= p.steps[s].bytes
			}
		}
	}
	return highest
}

// checkmate solves Checkmate's integer program (Jain et al., "Checkmate", MLSys 2020) for many capacities: shares
// of the peak that the program has without repetitions: it knows no results in place, so its bytes are not ours. Where
// the solver finds nothing in time, the relaxation is rounded, as the paper does.
func checkmate(p *problem) ([][]int, error) {
	c := p.coarsen()
	for percent := 90; percent >= 30; percent -= 10 {
		c.Shares = append(c.Shares, float64(percent)/100)
	}
	question, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	var said, failed bytes.Buffer
	run := exec.Command(*python, *program)
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(question), &said, io.MultiWriter(&failed, os.Stderr)
	if err := run.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", *python, *program, err, failed.String())
	}
	var answers [][]int
	if err := json.Unmarshal(said.Bytes(), &answers); err != nil {
		return nil, err
	}
	var list [][]int
	for _, layers := range answers {
		var schedule []int
		for _, l := range layers {
			schedule = append(schedule, c.members[l]...)
		}
		list = append(list, schedule)
	}
	return list, nil
}
