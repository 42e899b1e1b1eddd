package main

var hosts = part{
	Name:  "hosts",
	Title: "Hosts",
	What: "Programs with stacks, collectors and signal handlers of their own call every family: Node, from its main " +
		"thread and four workers; Java with `-Xcheck:jni`, from eight threads, while the machine raises exceptions by " +
		"SIGSEGV; coroutines of 16 KiB that go from thread to thread, made by ucontext and by a switch without unwind " +
		"tables. A call that does not do what the header says, a crash, a warning about native code, or a byte that is " +
		"live at the end is a failure. A host that is not installed is skipped.",
	Runs: []run{
		{Name: "Node", Command: []string{"tests_c/proof/hosts/host.sh", "node"}},
		{Name: "Node (tracked)", Command: []string{"tests_c/proof/hosts/host.sh", "node"}, Env: []string{"TL_TRACK=1"}},
		{Name: "Java", Command: []string{"tests_c/proof/hosts/host.sh", "java"}},
		{Name: "Java (tracked)", Command: []string{"tests_c/proof/hosts/host.sh", "java"}, Env: []string{"TL_TRACK=1"}},
		{Name: "coroutines", Command: []string{"coroutines"}},
		{Name: "coroutines (slow path)", Command: []string{"coroutines"}, Env: []string{"TL_FASTPATH=0"}},
		{Name: "coroutines (tracked)", Command: []string{"coroutines"}, Env: []string{"TL_TRACK=1"}},
	},
}
