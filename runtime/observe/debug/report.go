package debug

import (
	"sync"
	"sync/atomic"

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
	waiting map[*object.Context][]string
}

func corrupted(c *object.Context, kind object.Text, p uintptr, details ...uint64) {
	c.Fail(status.Corrupted, kind, p, details...)
	c.Damaged = 1
	f := &guards.findings
	if f.count.Add(1) > mostFindings {
		return
	}
	found := c.Sentence() + originOf(p)
	f.mu.Lock()
	if f.waiting == nil {
		f.waiting = map[*object.Context][]string{}
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
	found := f.waiting[c]
	delete(f.waiting, c)
	f.mu.Unlock()
	if n := len(found); n > 0 && site != 0 && c.ErrorPending == 1 &&
		atomic.LoadUint32(&object.Globals().OnError)&3 != 0 {
		found = found[:n-1]
	}
	for _, text := range found {
		output.Tell("%s%s", text, named("found", site))
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
