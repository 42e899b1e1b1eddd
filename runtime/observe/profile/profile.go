// Package profile writes the live memory as a heap profile of pprof: how many
// allocations, and of how many bytes, are in use by the place that made them, and how
// many were ever made there. What is live is package leak's to know, where it came
// from package track's. Sampled allocations count for as many as they stand for.
//
//	profile.go   what is counted
//	encode.go    the format
//	mappings.go  which file an address of code is from
package profile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/leak"
	"tlruntime/runtime/observe/source"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// group is allocations that are alike.
type group struct {
	site, tag, thread uint32
	kind              track.Kind
	typ               string
	bytes             uint64 // of each
}

// Profile is what was live at one moment, and what was ever made.
type Profile struct {
	live   map[group]float64 // how many
	made   []track.Made
	period uint64
	taken  time.Time
}

// Collect looks at what is live, which is linear in all of it. Of what other threads
// allocate and free meanwhile some may be missing.
func Collect(c *object.Context) (*Profile, status.Status) {
	p := &Profile{live: map[group]float64{}, period: track.Period(), taken: time.Now()}
	add := func(l leak.Live) {
		if l.Reason != leak.HandedBack {
			p.add(l)
		}
	}
	if st := leak.EachLive(c, add); st != status.OK {
		return nil, st
	}
	leak.Blocks(add)
	p.made = track.Totals()
	return p, status.OK
}

// add counts a live allocation. What was not recorded is known by its size and type
// alone; while samples are taken it is what they stand for.
func (p *Profile) add(l leak.Live) {
	e, recorded := track.Find(l.Ref)
	if !recorded && p.period > 1 {
		return
	}
	g := group{site: e.Site, tag: e.Tag, thread: e.Thread, kind: l.Ref.Kind, typ: l.Type, bytes: l.Bytes}
	if recorded && e.Bytes > 0 && l.Type != object.VecType {
		g.bytes = e.Bytes
	}
	p.live[g] += float64(max(e.Weight, 1))
}

// Write writes the profile, compressed, in the format of pprof. files finds the lines of
// code.
func (p *Profile) Write(to io.Writer, files *source.Files) error {
	w := newWriter(mappings())
	for _, t := range [][2]string{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"},
		{"inuse_space", "bytes"}} {
		w.valueType(profileSampleType, t[0], t[1])
	}
	w.number(profileDefault, w.strings.number("inuse_space"))
	w.number(profileTime, uint64(p.taken.UnixNano()))
	w.valueType(profilePeriodType, "space", "bytes")
	w.number(profilePeriod, p.period)
	w.comment(p.comment())
	s := &stacks{w: w, files: files, known: map[uint32][]uint64{}}
	for _, m := range p.made {
		w.sample(s.of(m.Site), group{tag: m.Tag}, [4]float64{m.Count, m.Bytes})
	}
	live := slices.Collect(maps.Keys(p.live))
	sort.Slice(live, func(i, j int) bool { return live[i].compare(live[j]) < 0 })
	for _, g := range live {
		n := p.live[g]
		w.sample(s.of(g.site), g, [4]float64{2: n, 3: n * float64(g.bytes)})
	}
	return w.finish(to)
}

// comment tells what the figures are, which pprof shows with -comments.
func (p *Profile) comment() string {
	switch p.period {
	case 0:
		return "TL Runtime: sites were not recorded; set TL_TRACK=1, or TL_TRACK_SAMPLE=512K"
	case 1:
		return "TL Runtime: every allocation since TL_TRACK=1 is recorded; alloc_ figures count from there"
	}
	return fmt.Sprintf("TL Runtime: estimated from samples, one in %d bytes", p.period)
}

func (w *writer) comment(text string) { w.number(profileComment, w.strings.number(text)) }

// sample adds figures of a stack, and of labels of the group that are known.
func (w *writer) sample(stack []uint64, g group, values [4]float64) {
	rounded := make([]uint64, len(values))
	for i, v := range values {
		rounded[i] = uint64(v + 0.5)
	}
	var m message
	m.numbers(sampleLocations, stack)
	m.numbers(sampleValues, rounded)
	w.text(&m, "tag", track.NameOf(g.tag))
	if values[2] > 0 {
		w.text(&m, "kind", g.kind.String())
		w.text(&m, "type", g.typeName())
		if g.thread != 0 {
			w.text(&m, "thread", strconv.Itoa(int(g.thread)))
		}
		w.size(&m, "bytes", g.bytes)
	}
	w.bytes(profileSample, m)
}

func (g group) typeName() string {
	if g.typ == "" {
		return "plain bytes"
	}
	return g.typ
}

// stacks turns sites into locations.
type stacks struct {
	w     *writer
	files *source.Files
	known map[uint32][]uint64
}

// of returns the locations of a site, innermost first. The line that the program told
// comes before the code that made the call: of an interpreter it is the caller.
func (s *stacks) of(site uint32) []uint64 {
	if list, known := s.known[site]; known {
		return list
	}
	at := track.SiteOf(site)
	var list []uint64
	if at.File != "" {
		told := line{function{name: leak.Line(at), file: at.File}, uint64(at.Line)}
		list = append(list, s.w.location(0, []line{told}, false))
	}
	for _, f := range leak.Frames(at.Stack) {
		lines, source := s.lines(f)
		list = append(list, s.w.location(f.PC, lines, source))
	}
	if len(list) == 0 {
		list = append(list, s.w.location(0, []line{{function: function{name: "[not recorded]"}}}, false))
	}
	s.known[site] = list
	return list
}

// lines returns the functions at an address, by the source if that is known. Names are
// the linker's, which pprof makes readable.
func (s *stacks) lines(f leak.Located) (all []line, source bool) {
	for _, at := range s.files.Frames(f.Module, f.Offset, f.Symbol) {
		all = append(all, line{function{at.Function, at.Function, at.File}, uint64(max(at.Line, 0))})
	}
	if len(all) > 0 {
		return all, true
	}
	is := function{name: f.Function, file: f.File}
	if !f.Python {
		is.name = cmp.Or(f.Symbol, f.Function)
		is.linker = is.name
	}
	return []line{{is, uint64(max(f.Line, 0))}}, false
}

// compare orders groups, so that equal memory gives equal profiles.
func (g group) compare(h group) int {
	return cmp.Or(
		cmp.Compare(g.site, h.site), cmp.Compare(g.tag, h.tag), cmp.Compare(g.thread, h.thread),
		cmp.Compare(g.kind, h.kind), cmp.Compare(g.typ, h.typ), cmp.Compare(g.bytes, h.bytes),
	)
}
