package debug

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
)

// How damage is told. The call that finds some returns TL_E_CORRUPTED, and the last one
// is its tl_last_error; but it may find several, and a program that releases something
// seldom asks how that went. So each damage is written to standard error as well, when
// the call is left and its stack is known.

// mostFindings are told: a loop that runs wild fills no disk.
const mostFindings = 1000

type findings struct {
	mu    sync.Mutex // guards waiting; taken last
	count atomic.Int64
	// waiting is what calls that go on have found, and leaving what they leave, by context.
	waiting map[*object.Context][]finding
	leaving map[*object.Context]leaving
	told    map[string]*repeated // by what is equal in them
}

type finding struct {
	text    string
	key     string // with the sites it is the same where the same code does the same to objects of the same code's
	sites   func() string
	isError bool // of its call
}

// repeated is findings that are told once.
type repeated struct {
	line  string
	times int64
}

func corrupted(c *object.Context, kind object.Text, p uintptr, details ...uint64) {
	c.Fail(status.Corrupted, kind, p, details...)
	c.Damaged = 1
	guards.findings.add(c, func() finding {
		sites := originOf(p)
		return finding{c.Sentence(), fmt.Sprint(kind), func() string { return sites }, true}
	})
}

// add notes what a call has found, until it is left.
func (f *findings) add(c *object.Context, make func() finding) {
	if f.count.Add(1) > mostFindings {
		return
	}
	found := make()
	f.mu.Lock()
	if f.waiting == nil {
		f.waiting = map[*object.Context][]finding{}
	}
	f.waiting[c] = append(f.waiting[c], found)
	f.mu.Unlock()
	if !object.Settles() {
		guards.Report(c, 0)
	}
}

// Report writes what the call has found, and where it was made. With TL_ON_ERROR=log
// or abort the last finding is told by that.
func (d *debugging) Report(c *object.Context, site uint32) {
	f := &d.findings
	f.mu.Lock()
	found, leaving := f.waiting[c], f.leaving[c]
	delete(f.waiting, c)
	delete(f.leaving, c)
	f.mu.Unlock()
	if text := leaving.text(site); text != "" {
		f.count.Add(1)
		found = append(found, finding{text: text, key: "leaving", sites: leaving.sites})
	}
	if n := len(found); n > 0 && found[n-1].isError && site != 0 && c.ErrorPending == 1 &&
		atomic.LoadUint32(&object.Globals().OnError)&3 != 0 {
		found = found[:n-1]
	}
	for _, found := range found {
		if sites := found.sites() + named("found", site); f.isNew(found, sites) {
			output.Tell("%s%s", found.text, sites)
		}
	}
}

// isNew counts a finding of a call, and tells whether it is the first of its kind.
func (f *findings) isNew(found finding, sites string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told == nil {
		f.told = map[string]*repeated{}
	}
	key := found.key + sites
	r := f.told[key]
	if r == nil {
		r = &repeated{line: found.text}
		f.told[key] = r
	}
	r.times++
	return r.times == 1
}

// tellRepeated tells at the end how often what was told once has been found.
func (f *findings) tellRepeated() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, r := range f.told {
		if r.times > 1 {
			lines = append(lines, fmt.Sprintf("%d more times by the same code: %s", r.times-1, r.line))
		}
	}
	for _, line := range slices.Sorted(slices.Values(lines)) {
		output.Tell("%s", line)
	}
}

// report writes of damage that was found outside of any call.
func (f *findings) report(kind object.Text, p uintptr, at int) {
	if f.count.Add(1) <= mostFindings {
		output.Tell("%v: %s%s", status.Corrupted, kind.Format(p, at), originOf(p))
	}
}

// Sites tells where an object came from and went, and where it is used now; "" when that is
// not known.
func (d *debugging) Sites(c *object.Context, p uintptr) string {
	sites := originOf(p)
	if n := c.OpenMarks(); n > 0 && status.Status(c.Error.Status) == status.ScopeUnderflow {
		sites = named("entered", track.EnteredAt(layout.Address(c), n-1))
	}
	return sites + named("used", c.UseSite)
}

func originOf(p uintptr) string {
	if object.Heap().Contains(p) {
		e, _ := track.Last(object.Heap().Find(p).Record)
		return origin(e)
	}
	e, _ := track.Find(track.Ref{Kind: track.Block, Key: uint64(p)})
	return origin(e)
}

func origin(e track.Entry) string { return named("allocated", e.Site) + named("released", e.Freed) }

func named(what string, site uint32) string {
	if site == 0 {
		return ""
	}
	return "\n  " + what + " at\n" + leak.Brief(site)
}
