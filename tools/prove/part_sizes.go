package main

var sizes = part{
	Name:  "sizes",
	Title: "Blocks of every size",
	What: `Every function that takes a size is given about 700 of them: each boundary of a size class, and 1, 15, 16, 17, 32 and 64 bytes
below, 1 and 32 above it (a red zone of TL_DEBUG takes 16 to 64 bytes, so that blocks of these sizes change their class). Three blocks
at a time are written to from their first to their last byte; none may show what was written to another, each has the alignment
and the zeros that its function promises, keeps its contents when it is resized to other sizes, and goes back. Under TL_DEBUG no red
zone is damaged by that, and a write to the first byte behind a block is found. Texts and copies stay within the bytes that
they were given. Nothing may be left.`,
	Runs: []run{
		{Name: "fast", Command: []string{"sizes"}, Env: []string{"TL_FASTPATH=1"}},
		{Name: "slow", Command: []string{"sizes"}, Env: []string{"TL_FASTPATH=0"}},
		{Name: "debug", Command: []string{"sizes"}, Env: []string{"TL_DEBUG=1"}},
	},
}
