package main

var signals = part{
	Name:  "signals",
	Title: "Signals and cancellation",
	What: "Handlers that were installed before or after the library was loaded, by `signal` or with any flags, with " +
		"and " +
		"without a stack of their own, while timers, profilers, other threads and ending children send signals " +
		"about every 100 " +
		"microseconds to a program that makes calls of all sorts. A crash, a wrong result, a signal that is not " +
		"delivered, or a " +
		"byte that is live at the end is a failure. Then threads are cancelled at every few microseconds of a " +
		"process's first " +
		"call, and of later ones: other threads must be able to go on.",
	Runs: []run{
		{Name: "fast path", Command: []string{"signals"}},
		{Name: "slow path", Command: []string{"signals"}, Env: []string{"TL_FASTPATH=0"}},
		{Name: "Python", Command: []string{"sh", "-c", "exec $BUILD/venv/bin/python python/tests/signals_proof.py"}},
		{Name: "cancellation", Command: []string{"cancel"}},
		{Name: "cancellation (slow path)", Command: []string{"cancel"}, Env: []string{"TL_FASTPATH=0"}},
	},
}
