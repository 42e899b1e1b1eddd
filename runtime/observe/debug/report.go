package debug

import (
	"fmt"
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
	// waiting is what calls that go on have found, by context.
	waiting map[*object.Context][]finding
}

type finding struct {
	text    string
	isError bool // of its call
}

func corrupted(c *object.Context, kind object.Text, p uintptr, details ...uint64) {
	c.Fail(status.Corrupted, kind, p, details...)
	c.Damaged = 1
	guards.findings.add(c, func() finding { return finding{c.Sentence() + originOf(p), true} })
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

// LeftFloat reports a release after which more references of an object float than there are. The
// release has succeeded, and what is wrong comes later, so no status tells of it.
func (d *debugging) LeftFloat(c *object.Context, e layout.Entry, floats, references int32) {
	c.Pending |= object.PendingRecords
	d.findings.add(c, func() finding {
		return finding{text: fmt.Sprintf("%s: %#x: this release leaves a float without a reference (references: %d, "+
			"floating: %d): the next registration takes it instead of counting, and the count is one too small; let "+
			"references float on the thread that made the object or after tl_ptr_share, and give a floating one up by "+
			"registering it in a scope",
			status.Function(c.FunctionId), e.Object, references, floats) + originOf(e.Object)}
	})
}

// Report writes what the call has found, and where it was made. With TL_ON_ERROR=log
// or abort the last finding is told by that.
func (d *debugging) Report(c *object.Context, site uint32) {
	f := &d.findings
	f.mu.Lock()
	found := f.waiting[c]
	delete(f.waiting, c)
	f.mu.Unlock()
	if n := len(found); n > 0 && found[n-1].isError && site != 0 && c.ErrorPending == 1 &&
		atomic.LoadUint32(&object.Globals().OnError)&3 != 0 {
		found = found[:n-1]
	}
	for _, found := range found {
		output.Tell("%s%s", found.text, named("found", site))
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
	return originOf(p) + named("used", c.UseSite)
}

func originOf(p uintptr) string {
	if object.Heap().Contains(p) {
		if e, known := track.Last(object.Heap().Find(p).Record); known {
			return named("allocated", e.Site) + named("released", e.Freed)
		}
		return ""
	}
	e, _ := track.Find(track.Ref{Kind: track.Block, Key: uint64(p)})
	return named("allocated", e.Site)
}

func named(what string, site uint32) string {
	if site == 0 {
		return ""
	}
	return "\n  " + what + " at\n" + leak.Brief(site)
}
