package main

import "strings"

// part is a chapter of the proof.
type part struct {
	Name  string // for -only
	Title string // for the page
	What  string // for the page: what is tried, and what counts as a failure
	Runs  []run
}

// run is one program of a part. A command without a path is looked for among the
// programs of tests_c/proof first, and then among those of tests_c.
type run struct {
	Name    string
	Command []string
	Env     []string
	Whole   bool // left out of a sample
}

// sample is a scale below which a run that is Whole is left out.
const sample = 0.1

// testsOf ends what a part says that tests makes.
const testsOf = "These are programs of the test suite, and what is counted is their checks."

// tests runs programs of tests_c on both paths. A sample has the first alone: `make test` has run them.
func tests(names ...string) (runs []run) {
	for _, name := range names {
		program := []string{strings.ReplaceAll(name, " ", "_") + "_test"}
		runs = append(runs, run{Name: name, Command: program, Env: []string{"TL_FASTPATH=1"}, Whole: len(runs) > 0},
			run{Name: name + " (slow path)", Command: program, Env: []string{"TL_FASTPATH=0"}, Whole: true})
	}
	return runs
}

// parts are in the order of the page; each stands in a file of its own.
var parts = []part{matrix, model, faults, sizes, signals, limits, forks, hosts, files, stacks, foreign, builds}
