package main

var files = part{
	Name:  "files",
	Title: "Files, descriptors and the start",
	What: "Reports, traces and snapshots go to files that have no room or reach `RLIMIT_FSIZE`, to pipes without a " +
		"reader and to a standard error that takes nothing or was closed. Programs with rights of their own, with " +
		"variables that Go cannot read, and programs that fork, set limits or install handlers before the first use " +
		"start the library. A process that ends, an older file that is lost, a descriptor of the library at 0, 1 or " +
		"2, a variable that is taken or changed, or a call that does not do what the header says is a failure. " +
		testsOf,
	Runs: tests("output files", "standard error", "descriptors", "environment", "first use"),
}
