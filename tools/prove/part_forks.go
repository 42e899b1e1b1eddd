package main

var forks = part{
	Name:  "forks",
	Title: "Children and threads",
	What: "Two threads at once make children by `fork()` while three others use every family. A child does all that " +
		"[threads-and-fork.md](threads-and-fork.md#fork) says works there, or what is refused there, or empties " +
		"what it has " +
		"inherited, starts a thread, forks again, or makes a child by a raw `clone`; some children come back from a " +
		"deleter that " +
		"forked. Some end by `_exit`, some by `exit`. Then programs are started by `posix_spawn` and `vfork`, and " +
		"use the " +
		"library. In Python, children of `multiprocessing` under its three start methods. Short threads end in " +
		"every way: with " +
		"scopes open, in a frame by `pthread_exit`, detached, with calls in destructors of thread-local storage, " +
		"with objects that " +
		"others release; then as many threads as can be had are alive at once. A crash, a hang, a status or a count " +
		"that is not " +
		"documented, a deleter that runs in a child, an exit status that is not 0, more than 100 contexts or 24 MiB " +
		"of memory left " +
		"by threads that have ended, or a byte that is live at the end is a failure.",
	Runs: []run{
		{Name: "fast path", Command: []string{"forks"}, Env: []string{"TL_FASTPATH=1"}},
		{Name: "slow path", Command: []string{"forks"}, Env: []string{"TL_FASTPATH=0"}},
		{Name: "debug", Command: []string{"forks"}, Env: []string{"TL_DEBUG=1"}},
		{Name: "Python", Command: []string{"sh", "-c", "exec $BUILD/venv/bin/python python/tests/forks_proof.py"}},
		{Name: "Python (slow path)",
			Command: []string{"sh", "-c", "exec $BUILD/venv/bin/python python/tests/forks_proof.py"},
			Env:     []string{"TL_FASTPATH=0"}},
		{Name: "threads", Command: []string{"threads"}, Env: []string{"TL_FASTPATH=1"}},
		{Name: "threads (slow path)", Command: []string{"threads"}, Env: []string{"TL_FASTPATH=0"}},
	},
}
