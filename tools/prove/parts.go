package main

// part is a chapter of the proof.
type part struct {
	Name  string // for -only
	Title string // for the page
	What  string // for the page: what is tried, and what counts as a failure
	Runs  []run
}

// run is one program of a part. A command without a path is looked for among the
// programs of tests_c/proof first.
type run struct {
	Name    string
	Command []string
	Env     []string
}

// parts are in the order of the page; each stands in a file of its own.
var parts = []part{matrix, model, faults, sizes, signals, limits, forks, hosts, builds}
