package main

var limits = part{
	Name:  "limits",
	Title: "Limits of the host",
	What: "Processes that may have few threads, little memory, address space, stack or few descriptors (`setrlimit`): " +
		"set " +
		"before the library is loaded, right after that, after the first use, or before a first use that is tried " +
		"again when the " +
		"limit was raised; a control group with little memory or few tasks; a `/proc` that cannot be read. Each " +
		"process uses every " +
		"family from several threads, through the fast path or with `TL_FASTPATH=0`. It has to work, or the calls " +
		"that find no " +
		"memory have to return TL_E_OUT_OF_MEMORY, with a sentence that names the limit when the first use was " +
		"refused. A crash, " +
		"a hang, another status, or a byte that is live at the end is a failure. *Not loaded* is what the dynamic " +
		"linker itself " +
		"refused. The three ends of a process that [limits.md](limits.md#limits-of-the-host) lists are shown: the " +
		"kernel kills in a " +
		"memory group without `TL_MEM_LIMIT`, and Go ends the process when the program closes Go's descriptors, or " +
		"writes a " +
		"snapshot of a million blocks at the limit.",
	Runs: []run{{Name: "host", Command: []string{"host_limits"}}},
}
