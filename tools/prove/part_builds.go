package main

// builds run the library as other compilers and other processors make it.
var builds = part{
	Name:  "builds",
	Title: "Other compilers, processors and checkers",
	What: `
The tests of ` + "`tests_c`" + ` over the library as clang builds it, and gcc with ` + "`-O3 -flto`" + `; library and tests built
for arm64 and run under qemu-user, which does not reorder memory accesses as an arm64 processor does. The model of the library in
hosts that are built with AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer, over the library as it is and, for the first
two, over one whose C is built with the same sanitizer. A failure is a test or a call of the model that fails, or a sanitizer's
report. ThreadSanitizer runs with its reports off: it sees no synchronisation inside the library, and takes an object that goes
from thread to thread for a race.

What emulation cannot show is checked under a model of weak memory: ` + "`orders`" + ` runs the protocols between threads in every execution
that C11 allows, but for loads that see a later store of another thread's ([memory-order.md](memory-order.md)). Each order that the code
asks for is then weakened in turn, and counts as failed unless that breaks a protocol.`,
	Runs: []run{
		{Name: "clang", Command: []string{"tests_c/proof/builds/compiler.sh", "clang"}},
		{Name: "lto", Command: []string{"tests_c/proof/builds/compiler.sh", "lto"}, Whole: true}, // nothing is delivered so
		{Name: "arm64", Command: []string{"tests_c/proof/builds/arm64.sh"}},
		{Name: "address", Command: []string{"tests_c/proof/builds/sanitizer.sh", "address"}},
		{Name: "undefined", Command: []string{"tests_c/proof/builds/sanitizer.sh", "undefined"}},
		{Name: "thread", Command: []string{"tests_c/proof/builds/sanitizer.sh", "thread"}},
		{Name: "orders", Command: []string{"docs/model/orders.sh"}},
	},
}
