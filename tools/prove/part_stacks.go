package main

var stacks = part{
	Name:  "stacks",
	Title: "Stacks",
	What: "Each sort of call is made from stacks of 16 KiB, of threads and of coroutines, in each mode of the library, " +
		"while Go's collector works. Stacks of tracked allocations are walked where assembly has moved the stack " +
		"pointer without saying so, and compared with those of the system's unwinder. A crash, a byte behind the " +
		"stack that changes, or a wrong frame is a failure. " + testsOf,
	Runs: tests("moved stack", "small stacks", "stacks"),
}
