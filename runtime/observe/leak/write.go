package leak

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tlruntime/runtime/observe/track"
)

// Frame is what is known of a code address.
type Frame struct {
	Function string // for people; "" = unknown
	Symbol   string // its name as the linker knows it; "" = unknown
	File     string // of the source; "" = unknown
	Line     int
	Module   string // program or library; "" = none, as of code that a JIT compiler made
	Offset   uint64 // in the module's own addresses
	Own      bool   // code of this library
	Python   bool   // a frame of Python, which has no address
}

// Resolve finds out about a code address; it is GoFrame in a Go program.
var Resolve = GoFrame

// InSource returns the functions that the source has at a frame, inlined ones first,
// with their lines; none where the source is not known.
var InSource = func(Located) []Located { return nil }

// GoFrame resolves addresses of Go code.
func GoFrame(pc uintptr) Frame {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	own := strings.HasPrefix(f.Function, "tlruntime/runtime/object.") ||
		strings.HasPrefix(f.Function, "tlruntime/runtime/observe/track.")
	return Frame{Function: f.Function, File: f.File, Line: f.Line, Own: own}
}

// what tells why an allocation is listed.
var what = map[Reason]string{
	Floating:   "nobody took its floating reference: register it, or free it",
	Acquired:   "a reference was acquired and never released",
	EndedScope: "held by an open scope of a thread that has ended: leave it, or call tl_shutdown",
	AtZero:     "held by nobody, and not freed: tl_mem_free or tl_aligned_free is missing",
	Cell:       "a cell: tl_cell_drop or tl_cell_free is missing",
	Stuck:      "a cell whose count has overflowed: it is never freed",
	Cycle:      "a cycle: only what it refers to refers to it; tl_mem_collect_cycles frees it",
	CellCycle:  "a cycle of cells: only what it refers to refers to it, and nothing frees it",
	Aliases:    "a buffer whose own address was unregistered and of which aliases are left",
	Lent:       "not given back to its pool",
	Indirect:   "only another leak refers to it",
	HandedBack: "unregistered by its last holder, so the host has it",
	LeftOpen:   "a thread ended in the open scope that held it, and the library has released it: leave the scope",
}

// Text renders the report; "" when nothing leaked and nothing was handed back.
func (r *Report) Text() string {
	var b strings.Builder
	if r.Count > 0 {
		fmt.Fprintf(&b, head, os.Getpid())
	}
	find := remembering(lines)
	for _, g := range joined(r.Groups, find) {
		g.write(&b, find)
	}
	if r.Count == 0 {
		return b.String()
	}
	if r.Held.Count > 0 {
		holders := "scopes of running threads"
		if r.caller {
			holders += " or variables"
		}
		fmt.Fprintf(&b, "Not leaked: %d byte(s) in %d allocation(s) that %s hold.\n\n", r.Held.Bytes, r.Held.Count, holders)
	}
	if track.Period() == 0 {
		b.WriteString("Run with TL_TRACK=1 to see where it was allocated, or with TL_TRACK_SAMPLE=512K to see it of " +
			"samples.\n\n")
	}
	if n := track.Lost(); n > 0 {
		fmt.Fprintf(&b, "%d allocation(s) were not recorded: the system refused the memory for it.\n\n", n)
	}
	fmt.Fprintf(&b, "SUMMARY: LeakSanitizer: %d byte(s) leaked in %d allocation(s).\n", r.Bytes, r.Count)
	return b.String()
}

// head is what tools look for, and a line for people: both reports may be of one process.
const head = "\n=================================================================\n" +
	"==%[1]d==ERROR: LeakSanitizer: detected memory leaks\n" +
	"==%[1]d==NOTE: this is memory of TL Runtime; LeakSanitizer itself does not know it\n\n"

// Finder finds the functions at an address, those that are inlined first.
type Finder func(pc uintptr) []Located

// symbol finds what the linker knows.
func symbol(pc uintptr) []Located {
	f := Resolve(pc)
	if f.Python {
		pc = 0
	}
	return []Located{{f, pc}}
}

// lines finds what the source has there, if that is known.
func lines(pc uintptr) []Located {
	all := symbol(pc)
	if all[0].Own || all[0].Python {
		return all
	}
	if in := InSource(all[0]); len(in) > 0 {
		return in
	}
	return all
}

// remembering looks each address up once: most stacks share most of their frames.
func remembering(find Finder) Finder {
	known := map[uintptr][]Located{}
	return func(pc uintptr) []Located {
		all, ok := known[pc]
		if !ok {
			all = find(pc)
			known[pc] = all
		}
		return all
	}
}

// joined makes one of groups that read alike: their frames have other addresses on the same lines.
func joined(groups []Group, find Finder) (all []Group) {
	at := map[string]int{}
	for _, g := range groups {
		key := g.text(find)
		i, known := at[key]
		if !known {
			at[key] = len(all)
			all = append(all, g)
			continue
		}
		one := &all[i]
		one.Count, one.Bytes, one.Like = one.Count+g.Count, one.Bytes+g.Bytes, one.Like+g.Like
		one.Sampled = one.Sampled || g.Sampled
	}
	sort.SliceStable(all, func(i, j int) bool { return before(all[i], all[j]) < 0 })
	return all
}

// text is what tells a group from others in a report.
func (g *Group) text(find Finder) string {
	var b strings.Builder
	fmt.Fprintln(&b, g.Reason, g.Type, g.Tag)
	for _, f := range framesOf(g.Site, find) {
		if f.Line != 0 {
			f.PC = 0
		}
		f.write(&b, 0)
	}
	return b.String()
}

func (g *Group) write(b *strings.Builder, find Finder) {
	kind := "Direct leak of"
	switch g.Reason {
	case Indirect:
		kind = "Indirect leak of"
	case HandedBack:
		kind = "No leak, handed back to the host:"
	}
	fmt.Fprintf(b, "%s %d byte(s) in %d object(s) allocated from:\n", kind, g.Bytes, g.Count)
	writeSite(b, g.Site, find)
	typ := g.Type
	if typ == "" {
		typ = "plain bytes"
	}
	fmt.Fprintf(b, "    %s; %s", quoted(typ, ";"), what[g.Reason])
	if g.Tag != "" {
		fmt.Fprintf(b, "; tag %s", quoted(g.Tag, ";"))
	}
	if g.Sampled {
		fmt.Fprintf(b, "; sampled, for about %.0f such allocations", g.Like)
	}
	b.WriteString("\n\n")
}

// framesOf returns the frames of a site, but for the library's own. A line that the program told is that of the first.
func framesOf(s track.Site, find Finder) []Located {
	frames := Locate(s.Stack, find)
	if s.File != "" {
		if len(frames) == 0 {
			frames = make([]Located, 1)
		}
		frames[0].File, frames[0].Line = s.File, int(s.Line)
	}
	return frames
}

func writeSite(b *strings.Builder, s track.Site, find Finder) {
	frames := framesOf(s, find)
	for n, f := range frames {
		f.write(b, n)
	}
	if len(frames) == 0 {
		b.WriteString("    <empty stack>\n")
	}
}

// Located is a frame and its address, which is 0 of a frame of Python.
type Located struct {
	Frame
	PC uintptr
}

// Name is what is known of a frame: the function, else where in a file the code is.
func (f Located) Name() string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return fmt.Sprintf("%s+%#x", filepath.Base(f.Module), f.Offset)
	}
	return fmt.Sprintf("%#x", f.PC)
}

// Place is its name, and where in the file the code is if no line tells.
func (f Located) Place() string {
	if f.Function == "" || f.Module == "" || f.Line != 0 {
		return f.Name()
	}
	return fmt.Sprintf("%s (%s+%#x)", f.Function, filepath.Base(f.Module), f.Offset)
}

// Line is the line that a program told, in short: "train.py:12".
func Line(s track.Site) string { return fmt.Sprintf("%s:%d", filepath.Base(s.File), s.Line) }

// Frames finds the frames of a stack from the program's innermost on.
func Frames(stack []uintptr) []Located { return Locate(stack, symbol) }

// Lines is Frames with the lines of the source, and the functions that are inlined there.
func Lines(stack []uintptr) []Located { return Locate(stack, lines) }

// Locate is Frames by a finder of the caller's.
func Locate(stack []uintptr, find Finder) (frames []Located) {
	for _, pc := range stack {
		if at := find(pc); len(frames) > 0 || !at[0].Own {
			frames = append(frames, at...)
		}
	}
	return frames
}

func (f Located) write(b *strings.Builder, n int) {
	fmt.Fprintf(b, "    #%d", n)
	if !f.Python { // which has no address
		fmt.Fprintf(b, " %#x", f.PC)
	}
	if f.Function != "" || f.File != "" {
		name := f.Function
		if name == "" {
			name = "<unknown>"
		}
		b.WriteString(" in " + quoted(name, ""))
	}
	switch {
	case f.File != "":
		fmt.Fprintf(b, " %s:%d", quoted(f.File, " "), f.Line)
	case f.Module != "":
		fmt.Fprintf(b, " (%s+%#x)", quoted(f.Module, " "), f.Offset)
	default:
		b.WriteString(" (<unknown module>)")
	}
	b.WriteString("\n")
}

// quoted puts a name in quotes that a reader could not tell from what follows it: one with these characters, with
// quotes of its own, or with what is not printed, which could also write to a terminal what is not there.
func quoted(name, apart string) string {
	special := func(r rune) bool { return r == '"' || !unicode.IsPrint(r) || strings.ContainsRune(apart, r) }
	if utf8.ValidString(name) && !strings.ContainsFunc(name, special) {
		return name
	}
	return strconv.Quote(name)
}

// Brief renders the innermost frames of a site, for a message. Dots stand for others, up to main.
func Brief(site uint32) string {
	const most = 4
	var b strings.Builder
	s := track.SiteOf(site)
	stack := Outside(s)
	if len(stack) > 0 {
		s.Stack = stack[:min(most, len(stack))]
	}
	writeSite(&b, s, lines)
	isMain := func(f Located) bool { return f.Function == "main" }
	if len(stack) > most && !slices.ContainsFunc(framesOf(s, lines), isMain) {
		b.WriteString("    ...\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Outside returns the stack of a site from the program's innermost frame on.
func Outside(s track.Site) []uintptr {
	stack := s.Stack
	for len(stack) > 0 && Resolve(stack[0]).Own {
		stack = stack[1:]
	}
	return stack
}
