// Package leak looks for memory that nothing will release any more and reports it, in
// the layout of LeakSanitizer (llvm-project compiler-rt/lib/lsan), which tools read
// already.
//
//	search.go, search_foreign.go  what is live, and who holds it
//	left_open.go                  what threads left in scopes, and was released since
//	open_marks.go                 scopes and frames that nobody has left
//	list.go                       what a program that goes on makes meanwhile
//	leak.go                       both by where it was allocated
//	write.go                      the report
//	traced.go                     what a trace is told when it begins
//	holders.go                    what it is told when it ends
package leak

import (
	"cmp"
	"slices"
	"sort"

	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// Report is what was found at one moment.
type Report struct {
	Groups []Group // leaks first direct ones, then the largest; then what is none
	Count  int64   // allocations that leaked
	Bytes  uint64  // of them
	Held   Total   // by scopes of running threads, and by the caller
	caller bool    // some are the caller's
}

// Total sums allocations up.
type Total struct {
	Count int64
	Bytes uint64
}

// Group is allocations that are alike.
type Group struct {
	Total
	Reason  Reason
	Type    string
	Tag     string
	Site    track.Site
	Sampled bool    // the site is known of a sample
	Like    float64 // how many allocations the samples stand for
}

// key tells groups apart.
type key struct {
	reason    Reason
	typ       string
	site, tag uint32
}

// All is the mark that leaves nothing out.
const All = ^uint64(0)

// Collect looks for leaks. A mark other than All leaves those out that were not recorded
// since: it is what track.Count was then. The caller holds a reference to each of held.
func Collect(c *object.Context, since uint64, held ...uintptr) (*Report, status.Status) {
	return CollectOf(c, since, nil, held...)
}

// CollectOf is Collect for a caller that has told what it holds after a list was made, unless
// the list is nil: what is not on it counts as held.
func CollectOf(c *object.Context, since uint64, of List, held ...uintptr) (*Report, status.Status) {
	r := &Report{caller: of != nil || len(held) > 0}
	groups := map[key]*Group{}
	add := func(l Live) {
		e, recorded := track.Find(l.Ref)
		if since != All && (!recorded || e.Seq <= since) {
			return
		}
		r.add(groups, l, e, recorded)
	}
	if st := eachLive(c, of, add, held); st != status.OK {
		return nil, st
	}
	Blocks(func(l Live) {
		if of.covers(l.Ref) {
			add(l)
		}
	})
	for _, g := range groups {
		r.Groups = append(r.Groups, *g)
	}
	sort.Slice(r.Groups, func(i, j int) bool { return before(r.Groups[i], r.Groups[j]) < 0 })
	return r, status.OK
}

func (r *Report) add(groups map[key]*Group, l Live, e track.Entry, recorded bool) {
	bytes := l.Bytes
	if recorded && e.Bytes > 0 && l.Type == "" {
		bytes = e.Bytes
	}
	if l.Reason == Held {
		r.Held.Count++
		r.Held.Bytes += bytes
		return
	}
	if IsLeak(l.Reason) {
		r.Count++
		r.Bytes += bytes
	}
	k := key{l.Reason, l.Type, e.Site, e.Tag}
	g := groups[k]
	if g == nil {
		g = &Group{Reason: l.Reason, Type: l.Type, Tag: track.NameOf(e.Tag), Site: track.SiteOf(e.Site)}
		groups[k] = g
	}
	g.Count++
	g.Bytes += bytes
	if recorded && e.Weight > 1 {
		g.Sampled = true
		g.Like += float64(e.Weight)
	}
}

// AddLeftOpen adds what threads that have ended left in open scopes, and what was released
// for them since: it was no leak in the end, and would be one in a program that goes on.
func (r *Report) AddLeftOpen() {
	eachLeftOpen(func(l leftOpenGroup) {
		r.Count += l.Count
		r.Bytes += l.Bytes
		r.Groups = append(r.Groups, Group{Total: Total{l.Count, l.Bytes}, Reason: LeftOpen, Type: l.Type,
			Tag: track.NameOf(l.Tag), Site: track.SiteOf(l.Site)})
	})
	sort.Slice(r.Groups, func(i, j int) bool { return before(r.Groups[i], r.Groups[j]) < 0 })
}

// Blocks visits the blocks of memory pools that the program has; those of tensors are
// the tensors'.
func Blocks(visit func(Live)) {
	ofTensors := tensor.Blocks()
	mempool.Live(func(_ mempool.Handle, address, bytes uintptr) {
		if !ofTensors[address] {
			visit(Live{Ref: track.Ref{Kind: track.Block, Key: uint64(address)}, Address: address,
				Bytes: uint64(bytes), Type: "block of a memory pool", Reason: Lent})
		}
	})
}

// before orders groups: direct leaks, indirect ones, what is none; those first of which it is known where they were
// allocated, which samples do not tell of all; the largest first.
func before(a, b Group) int {
	return cmp.Or(
		cmp.Compare(rank(a.Reason), rank(b.Reason)),
		cmp.Compare(hasNoSite(a), hasNoSite(b)),
		cmp.Compare(b.Bytes, a.Bytes),
		cmp.Compare(b.Count, a.Count),
		cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Tag, b.Tag),
		slices.Compare(a.Site.Stack, b.Site.Stack),
		cmp.Compare(a.Site.File, b.Site.File),
		cmp.Compare(a.Site.Line, b.Site.Line),
	)
}

func hasNoSite(g Group) int {
	if len(g.Site.Stack) == 0 && g.Site.File == "" {
		return 1
	}
	return 0
}

func rank(r Reason) int {
	switch {
	case r < Indirect:
		return 0
	case r == Indirect:
		return 1
	}
	return 2
}
