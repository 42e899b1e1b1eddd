package debug

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Misuse of references and scopes that calls answer with TL_OK, because nothing is damaged yet.

// LeftFloat reports a release after which more references of an object float than there are. The
// release has succeeded, and what is wrong comes later, so no status tells of it.
func (d *debugging) LeftFloat(c *object.Context, e layout.Entry, floats, references int32) {
	d.misuse(c, "float", func() string { return originOf(e.Object) }, "%#x: this release leaves a float without a reference "+
		"(references: %d, floating: %d): the next registration takes it instead of counting, and the count is one too "+
		"small; let references float on the thread that made the object or after tl_ptr_share, and give a floating one "+
		"up by registering it in a scope", e.Object, references, floats)
}

// DeadEntry reports a reference of a scope that somebody else has released. The exit leaves it out.
func (d *debugging) DeadEntry(c *object.Context, e layout.Entry) {
	sites := func() string {
		known, _ := track.Find(track.OfObject(e))
		return origin(known)
	}
	d.misuse(c, "entry", sites, "%#x: this scope holds a reference of it, which was released before: by one "+
		"release too many, by hand, or by the end of an object whose field took it without an acquire; a release needs an "+
		"acquire of its own, and so does a field; tl_mem_unregister takes an object out of its scope", e.Object)
}

// StaleField reports a reference in an object that ends. Its memory stays as it is.
func (d *debugging) StaleField(c *object.Context, holder, offset uintptr, typ string, p uintptr, is object.FieldFault) {
	what := map[object.FieldFault]string{
		object.FieldReleased: "was released before, by somebody who had no reference of its own, or because the field " +
			"has none: acquire what is stored in a field",
		object.FieldInStack: "is memory of an arena or a frame, which ends with its scope: allocate what is stored in a " +
			"field",
		object.FieldInside: "is the inside of an object, or a cell, which only the fields of cells hold: store what " +
			"the allocation has returned",
	}[is]
	if typ == "" {
		typ = "object without a name"
	}
	d.misuse(c, "field", func() string { return originOf(p) }, "%#x: the reference at offset %d of %#x, a %s that ends here, %s; a field that "+
		"only borrows has no place among the pointers of its type, or is set to NULL before the end", p, offset, holder,
		typ, what)
}

// misuse notes what a call has found; where the object was released may be known when the call is left only.
func (d *debugging) misuse(c *object.Context, kind string, sites func() string, format string, args ...any) {
	c.Tracking.Pending |= object.PendingRecords
	d.findings.add(c, func() finding {
		return finding{text: status.Function(c.Error.Function) + ": " + fmt.Sprintf(format, args...), key: kind, sites: sites}
	})
}

// leaving is a call that leaves a scope, a function or a planned frame.
type leaving struct {
	function, kind string
	entered        uint32
}

// Entered is told of every mark. Go programs have no site of their own for a call.
func (d *debugging) Entered(c *object.Context) {
	if object.Settles() {
		c.Tracking.Pending |= object.PendingRecords
		track.Entered(layout.Address(c), c.OpenMarks()-1)
	}
}

// Leaving notes what the call leaves, until its stack is known.
func (d *debugging) Leaving(c *object.Context, target uint64, kind string) {
	entered := track.EnteredAt(layout.Address(c), target)
	if entered == 0 {
		return
	}
	c.Tracking.Pending |= object.PendingRecords
	f := &d.findings
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leaving == nil {
		f.leaving = map[*object.Context]leaving{}
	}
	f.leaving[c] = leaving{status.Function(c.Error.Function), kind, entered}
}

// text is what is to be said of a call with this site, "" where all is well.
func (l leaving) text(site uint32) string {
	if l.entered == 0 || site == 0 || !isOfCaller(l.entered, site) {
		return ""
	}
	return fmt.Sprintf("%s: the %s that was left here is a caller's, who still runs: one exit too many, or an exit "+
		"without its enter", l.function, l.kind)
}

func (l leaving) sites() string { return named("entered", l.entered) }

// isOfCaller tells whether the function that made one call is among the callers of the one that made another: the
// callers of the first are the last callers of the second, too, and between there is somebody. A function that ended
// each of them, such as the constructor and the destructor of a guard, is no such caller.
func isOfCaller(enter, exit uint32) bool {
	in, out := leak.Outside(track.SiteOf(enter)), leak.Outside(track.SiteOf(exit))
	if len(in) < 2 || len(out) <= len(in) || !slices.Equal(out[len(out)-len(in)+1:], in[1:]) {
		return false
	}
	f := leak.Resolve(out[0])
	return !f.Python && !strings.Contains(f.Function, "~") // the constructor may have been inlined, and this not
}
