package main

var model = part{
	Name:  "model",
	Title: "A model of the library, and random programs",
	What: `Two threads make random calls, with bad pointers among them, beside a model that says what each call has to
answer: status, result, reference counts, contents, which destructors run and in which order. *In turns* one thread works at a time
and everything is compared, counters of tl_stats included; *free* both work at once. The system refuses memory on and off
(*faults*), or little may be used (*limits*): a call that was refused must have changed nothing. With TL_DEBUG, TL_TRACK, TL_TRACK_SAMPLE
or TL_TRACE set, the model says the same as without. Cells are counted by calls and inlined. At the end nothing may be live. *Wild* programs have no model: they release
what others hold, free what is referred to, put any pointer into fields and Vecs, and overwrite the headers of tensors. What a
call answers is not foretold then, but each has to return, none may say TL_E_INTERNAL or TL_E_CORRUPTED, and the process has to live.`,
	Runs: modelRuns(),
}

// modelRuns are all configurations, in each mode, through both paths.
func modelRuns() (runs []run) {
	for _, configuration := range []struct {
		name string
		env  []string
	}{
		{name: "plain"},
		{name: "faults"},
		{name: "limits"},
		{name: "debug", env: []string{"TL_DEBUG=1"}},
		{name: "track", env: []string{"TL_TRACK=1"}},
		{name: "sample", env: []string{"TL_TRACK_SAMPLE=4096"}},
		{name: "trace"}, // which sets TL_TRACE to a file of its own
	} {
		for _, mode := range []string{"turns", "free", "wild"} {
			for _, path := range []string{"1", "0"} {
				runs = append(runs, modelRun(configuration.name, mode, path, configuration.env))
			}
		}
	}
	return runs
}

// modelRun is tests_c/proof/model.c in one configuration, through one path.
func modelRun(configuration, mode, path string, env []string) run {
	name := map[string]string{"1": "fast", "0": "slow"}[path]
	return run{Name: configuration + "-" + mode + "-" + name, Command: []string{"model", configuration, mode},
		Env: append([]string{"TL_FASTPATH=" + path}, env...)}
}
