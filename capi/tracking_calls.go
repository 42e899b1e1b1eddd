package main

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// startTracking applies TL_TRACK and TL_TRACK_SAMPLE.
func startTracking() status.Status {
	period := options.Bytes("TL_TRACK_SAMPLE")
	if options.Flag("TL_TRACK") || options.Flag("TL_DEBUG") {
		period = 1
	}
	if period == track.WantedPeriod() {
		return status.OK
	}
	return track.SetPeriod(period)
}

func configureTracking(o *object.Context, name string) status.Status {
	if name != "TL_TRACK" && name != "TL_TRACK_SAMPLE" {
		return status.OK
	}
	if st := startTracking(); st != status.OK {
		return fail(o, st, "no memory for the tables of tracking")
	}
	o.HonourTracking()
	return status.OK
}

func setLeakCheck(value string) {
	wanted := map[string]uint32{"off": layout.LeakCheckOff, "report": layout.LeakCheckReport,
		"fail": layout.LeakCheckFail}[value]
	atomic.StoreUint32(&object.Globals().LeakCheck, wanted)
}

// nameSite records a source line that the program gave.
func nameSite(pointer, file uintptr, line uint32) {
	if name, named := text(file); named {
		track.NameSite(pointer, name, line)
	}
}

func pushTag(o *object.Context, name uintptr) status.Status {
	tag, named := text(name)
	if !named || tag == "" {
		return fail(o, status.InvalidArgument, "a tag needs a name of 1 to %d bytes", maxString-1)
	}
	return track.PushTag(o, tag)
}

// lockBlocks lets one thread at a time give out blocks of a pool and take them back, with TL_DEBUG: what is
// given out is guarded, and what is taken back is looked at, before another thread can take it or
// have its chunk trimmed.
func lockBlocks(h mempool.Handle) (unlock func()) {
	if !options.Flag("TL_DEBUG") {
		return func() {}
	}
	return mempool.LockBlocks(h)
}

// giveOut allocates a block and puts a red zone behind it, with TL_DEBUG.
func giveOut(o *object.Context, h mempool.Handle, bytes uintptr) uintptr {
	defer lockBlocks(h)()
	block, err := mempool.Allocate(h, bytes)
	track.SpendBlock(o, block, bytes)
	if room, onCPU := mempool.Room(h, bytes); onCPU && options.Flag("TL_DEBUG") {
		debug.GuardBlock(uintptr(h), block, uint64(bytes), room)
	}
	return blockOr(o, block, err)
}

// takeBack takes a block back. Without TL_DEBUG its record lapses by itself, unless it goes in the order of a
// stream.
func takeBack(o *object.Context, h mempool.Handle, block uintptr, ordered bool, free func() error) status.Status {
	defer lockBlocks(h)()
	again := debug.UnguardBlock(o, uintptr(h), block, !ordered)
	err := free()
	switch {
	case err != nil:
		again()
	case ordered || options.Flag("TL_DEBUG"):
		track.Forget(uint64(block))
	}
	return poolStatus(o, err)
}

// resetPool takes all blocks of a pool back and drops their records.
func resetPool(o *object.Context, h mempool.Handle) status.Status {
	defer lockBlocks(h)()
	var recorded []uint64
	if track.Period() != 0 {
		mempool.Live(func(of mempool.Handle, address, _ uintptr) {
			if of == h {
				recorded = append(recorded, uint64(address))
			}
		})
	}
	err := mempool.Reset(h, func() { debug.UnguardPool(o, uintptr(h)) })
	if err == nil {
		for _, address := range recorded {
			track.Forget(address)
		}
	}
	return poolStatus(o, err)
}

func allocationInfo(o *object.Context, pointer, out uintptr) status.Status {
	if a, live := o.DescribeObject(pointer); live {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return objectInfo(pointer, a) })
	}
	if bytes := blockBytes(pointer); bytes != 0 {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info {
			info := tl_alloc_info{Block: pointer, Bytes: bytes, Count: 1, BlockCount: 1, Addresses: 1}
			return recorded(info, track.Ref{Kind: track.Block, Key: uint64(pointer)})
		})
	}
	if d, unheld := alignedBlock(pointer); unheld {
		return fillStruct(o, out, "tl_alloc_info", func() tl_alloc_info { return describedInfo(pointer, d) })
	}
	if st := o.Check(pointer); st != status.OK {
		return st
	}
	return registryInfo(o, pointer, out)
}

// alignedBlock describes memory of tl_aligned_alloc that nobody has registered: it is
// live with a count of 0.
func alignedBlock(p uintptr) (d registry.Described, unheld bool) {
	info, known := object.Registry().Info(p)
	if !known || info.Count != 0 || info.HandedBack || info.Kind != layout.ForeignAligned {
		return d, false
	}
	return registry.Described{Real: p, Bytes: info.Bytes, Kind: info.Kind, Aliases: 1}, true
}

// blockBytes returns the size of the memory pools' block that starts at an
// address; 0 if none does.
func blockBytes(p uintptr) (found uintptr) {
	if p == 0 || object.Heap().Contains(p) || object.Registry().Count(p) >= 0 {
		return 0
	}
	mempool.Live(func(_ mempool.Handle, address, bytes uintptr) {
		if address == p {
			found = bytes
		}
	})
	return found
}

func objectInfo(p uintptr, a object.Allocation) tl_alloc_info {
	info := tl_alloc_info{Block: p, Bytes: uintptr(a.Bytes), Count: uint64(a.Count), BlockCount: uint64(a.Count),
		Addresses: 1,
		Type:      track.NameAddress(track.Intern(a.Type))}
	return recorded(info, track.Ref{Kind: track.Object, Key: uint64(a.Entry.Record), Gen: a.Entry.Gen})
}

// describedInfo is what the registry and tracking know of a pointer; zeros for
// NULL.
func describedInfo(p uintptr, d registry.Described) tl_alloc_info {
	info := tl_alloc_info{Block: d.Real, Bytes: d.Bytes, Count: d.Count, BlockCount: d.References, Addresses: d.Aliases,
		BufferId: d.Id, Kind: int64(d.Kind)}
	if d.Id != 0 { // recorded by its number, whatever address is asked for
		return recorded(info, track.OfBuffer(d.Id))
	}
	for _, at := range []uintptr{p, d.Real} {
		if ref, ok := track.RefOf(at); ok && at != 0 && info.Number == 0 {
			info = recorded(info, ref)
		}
	}
	return info
}

// recorded adds what tracking knows.
func recorded(info tl_alloc_info, ref track.Ref) tl_alloc_info {
	e, known := track.Find(ref)
	if !known {
		return info
	}
	if e.Bytes != 0 && info.Type == 0 {
		info.Bytes = uintptr(e.Bytes)
	}
	site := track.SiteOf(e.Site)
	info.Number, info.Time, info.Thread, info.Tag = e.Seq, e.Time, uint64(e.Thread), track.NameAddress(e.Tag)
	file, line := site.Told()
	info.File, info.Line = track.NameAddress(track.Intern(file)), uint64(line)
	if info.Frames = uint64(len(site.Stack)); info.Frames > 0 {
		info.Stack = layout.Address(&site.Stack[0])
	}
	return info
}

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
	name := ""
	if path != 0 {
		given, st := textOf(o, path, "path")
		if st != status.OK {
			return -1
		}
		name = given
	}
	report, st := leak.CollectOf(o, since, of, held...)
	if st != status.OK {
		return -1
	}
	defer forgetSources()
	reportMutex.Lock()
	defer reportMutex.Unlock()
	if path == 0 {
		output.TellText(report.Text())
		return report.Count
	}
	if err := output.WriteText(name, report.Text()); err != nil {
		fail(o, status.InvalidArgument, "the report could not be written: %v", err)
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
	if report.Count == 0 {
		return 0
	}
	reportMutex.Lock()
	defer reportMutex.Unlock()
	output.TellText(report.Text())
	return report.Count
}
