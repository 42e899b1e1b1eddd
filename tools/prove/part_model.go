package main

var model = part{
	Name:  "model",
	Title: "A model of the library, and random programs",
	What: `Two threads make random calls, with bad pointers among them, beside a model that says what each call has to
answer: status, result, reference counts, contents, which destructors run and in which order. *In turns* one thread works at a time
and everything is compared, counters of tl_stats included; *free* both work at once. At the end nothing may be live.`,
	Runs: []run{
		modelRun("plain", "turns", "fast"),
		modelRun("plain", "turns", "slow"),
		modelRun("plain", "free", "fast"),
		modelRun("plain", "free", "slow"),
		modelRun("debug", "turns", "slow", "TL_DEBUG=1"),
	},
}

// modelRun is tests_c/proof/model.c in one configuration, through one door.
func modelRun(configuration, mode, door string, env ...string) run {
	fast := map[string]string{"fast": "1", "slow": "0"}[door]
	return run{Name: configuration + "-" + mode + "-" + door, Command: []string{"model", configuration, mode},
		Env: append(env, "TL_FASTPATH="+fast)}
}
