package main

import (
	"sync"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// leakLists are the lists of calls that are asking their callers, by number.
var leakLists struct {
	mu    sync.Mutex // guards the rest; nothing is called under it
	lists map[uint64]leak.List
	last  uint64
}

func listLeaks(o *object.Context, asks bool) uint64 {
	if !asks {
		fail(o, status.InvalidArgument, "ask is needed; tl_leak_report_except takes the references themselves")
		return 0
	}
	list, st := leak.ListOf(o, nil)
	if st != status.OK {
		return 0
	}
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	if leakLists.lists == nil {
		leakLists.lists = map[uint64]leak.List{}
	}
	leakLists.last++
	leakLists.lists[leakLists.last] = list
	return leakLists.last
}

// narrowLeaks takes off a list what the caller holds, and returns how much is left; -1 is a failure and ends the list.
func narrowLeaks(o *object.Context, number uint64, held, n uintptr) int64 {
	list := takeLeaks(number)
	known, st := addresses(o, held, n)
	if st == status.OK {
		list, st = leak.ListOf(o, list, known...)
	}
	if st != status.OK {
		return -1
	}
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	leakLists.lists[number] = list
	return int64(len(list))
}

func takeLeaks(number uint64) leak.List {
	leakLists.mu.Lock()
	defer leakLists.mu.Unlock()
	list := leakLists.lists[number]
	delete(leakLists.lists, number)
	return list
}

// leakReportExcept reports what the caller does not hold; of a list if there is one.
func leakReportExcept(o *object.Context, path uintptr, mark uint64, of leak.List, held, n uintptr) int64 {
	known, st := addresses(o, held, n)
	switch {
	case st != status.OK:
		return -1
	case mark == leak.All:
		return leakReport(o, path, leak.All, of, known...)
	}
	return leakReportSince(o, path, mark, of, known...)
}

// leakReport writes what has leaked since a mark, and returns how much.
func leakReport(o *object.Context, path uintptr, since uint64, of leak.List, held ...uintptr) int64 {
	if path != 0 {
		if _, st := textOf(o, path, "path"); st != status.OK {
			return -1
		}
	}
	report, st := leak.CollectOf(o, since, of, held...)
	if st != status.OK {
		return -1
	}
	defer forgetSources()
	reportMutex.Lock()
	defer reportMutex.Unlock()
	if printText(o, path, report.Text()) != status.OK {
		return -1
	}
	return report.Count
}

func leakReportSince(o *object.Context, path uintptr, mark uint64, of leak.List, held ...uintptr) int64 {
	if track.Period() == 0 {
		fail(o, status.InvalidArgument, "nothing is recorded, so a mark tells nothing; set TL_TRACK to 1 first")
		return -1
	}
	return leakReport(o, path, min(mark, leak.All-1), of, held...)
}

// leaksAtExit reports on standard error, if there is anything to report. When
// the search fails it returns -1 and reports why.
func leaksAtExit(o *object.Context) int64 {
	report, st := leak.Collect(o, leak.All)
	if st != status.OK {
		output.Tell("TL_LEAK_CHECK: leaks could not be looked for: %s", o.Message())
		return -1
	}
	report.AddLeftOpen()
	open, ofThreads := leak.OpenAtEnd(o)
	if open != "" {
		output.Tell("TL_LEAK_CHECK: %s", open)
	}
	if report.Count > 0 {
		reportMutex.Lock()
		defer reportMutex.Unlock()
		output.TellText(report.Text())
	}
	return report.Count + ofThreads
}
