package main

import "slices"

var foreign = part{
	Name:  "memory",
	Title: "Memory of the host",
	What: "Blocks of mallocs that align to 8, of the program's own, jemalloc's, mimalloc's and tcmalloc's, are " +
		"registered, resized and freed. Objects and tensors outlive the generations of their records. The host keeps " +
		"all pages in memory or forbids `madvise`. A block that is refused, freed by the wrong malloc or lost, memory " +
		"that never goes back, or a page that nobody has used and that is written is a failure. A malloc that is not " +
		"installed is skipped. " + testsOf,
	Runs: slices.Concat(tests("small blocks", "generations", "resident"),
		preloaded("libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4")),
}

func preloaded(libraries ...string) (runs []run) {
	for _, library := range libraries {
		runs = append(runs, run{Name: library, Command: []string{"small_blocks_preloaded"},
			Env: []string{"LD_PRELOAD=" + library}, Whole: true})
	}
	return runs
}
