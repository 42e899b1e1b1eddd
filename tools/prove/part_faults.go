package main

var faults = part{
	Name:  "faults",
	Title: "Memory that ends in the middle of a call",
	What: `Every function that may need memory is called while something live of every family stands beside it. Request number 0, 1,
2, ... of the call and all later ones are refused, until the call succeeds. Slots are reused and still hold pointers to those
bystanders, so that a field that is read before it is written does harm. Who refuses: TL_FAIL_MEMORY (over used memory, and when
nothing is idle), a heap that is full but for 0, 1, 2, ... slots of each size, a limit, full stacks of scopes and frames, a device of
the program's own, malloc, mmap and pthread_create of the host, and the kernel (seccomp refuses mmap and mprotect). A refused
call has to say why, begin its message with its name, and change nothing: reference counts, contents and figures of the
bystanders are compared. Afterwards it has to succeed, and nothing may be left.`,
	Runs: []run{
		{Name: "fast", Command: []string{"faults"}, Env: []string{"TL_FASTPATH=1"}},
		{Name: "slow", Command: []string{"faults"}, Env: []string{"TL_FASTPATH=0"}},
		{Name: "debug", Command: []string{"faults"}, Env: []string{"TL_DEBUG=1"}},
	},
}
