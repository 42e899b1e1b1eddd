package main

var matrix = part{
	Name:  "matrix",
	Title: "Every function with bad arguments",
	What: "The table of functions is generated from the headers; `full` has those of graphs, in the full library. Each pointer that a function takes is tried with some " +
		"400 " +
		"kinds: numbers, addresses of every sort of memory, living and dead objects of every family, their insides, " +
		"ends and " +
		"neighbours, handles that have ended, memory of other threads. Each integer is tried with more than 50. " +
		"Other arguments " +
		"are valid, or for a part of the calls NULL. Functions that have to believe the caller about memory get " +
		"malloc's. All of " +
		"it happens in nine places: on a plain thread, in a scope, in error and out-of-memory callbacks, in " +
		"destructors and " +
		"deleters, on a thread that does not own the objects, in a child of `fork()`, after `tl_shutdown`, in a " +
		"destructor of " +
		"thread-local storage, and in a signal handler that interrupts a call; and each time through the fast path, " +
		"with " +
		"`TL_FASTPATH=0` and with `TL_DEBUG=1`. A failure is a crash, a hang, a status that the header does not " +
		"list, a " +
		"message that does not begin with the function's name, a failed call that returns something else than the " +
		"header says " +
		"or changes a count, a successful one that touches `tl_last_status`, an object that is live at the end, or " +
		"two paths " +
		"that differ in status, kind of result, outputs or counts. Inlined operations on cells trust the compiler and " +
		"are no part of this: with TL_DEBUG=1 they are the calls `tl_cell_*`, which are. In a child and in a handler the calls that " +
		"docs/threads-and-fork.md lists have to work, and the others have to be refused. Outside of handlers each call is " +
		"made on a painted stack of 16 KiB and may write to 8 of them.",
	Runs: []run{
		{Name: "matrix", Command: []string{"matrix"}},
		{Name: "full", Command: []string{"matrix_full"}},
	},
}
