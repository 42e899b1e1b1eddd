// Package source finds lines of source for code addresses, in the debugging information
// (DWARF 5, dwarfstd.org; older versions too) of the files that the code is from. An
// address stands for as many functions as the compiler inlined there.
//
// The tools that read heap profiles do the same, but `go tool pprof` takes only names
// which a function's own entry has: a function of C++ that is declared in its class, or
// a copy of one that was also inlined, would lose the name that the linker knows.
package source

import (
	"cmp"
	"debug/dwarf"
	"debug/elf"
	"slices"
	"sort"
	"strings"
)

// Frame is a function at an address, or one that was inlined there.
type Frame struct {
	Function string // the linker's name if that is known and mangled, else the source's; "" = unknown
	File     string // "" = unknown
	Line     int
}

// Files finds lines in files. The zero value is ready. It holds the debugging
// information of each file that was asked for, which is large: forget it after use.
type Files struct {
	tables map[string]*table // nil: the file has none
}

// Frames returns the functions at an address of a file, in the file's own addresses, the
// innermost first; none when the file does not tell. symbol is the linker's name of the
// outermost, "" if unknown.
func (f *Files) Frames(path string, address uint64, symbol string) []Frame {
	all := f.find(path, address)
	if n := len(all) - 1; n >= 0 && (all[n].Function == "" || isMangled(symbol) && !isMangled(all[n].Function)) {
		all[n].Function = symbol
	}
	return all
}

// isMangled tells names that say more than those of the source: they have the namespace
// and the types of arguments (Itanium C++ ABI, section 5.1).
func isMangled(name string) bool { return strings.HasPrefix(name, "_Z") }

func (f *Files) find(path string, address uint64) []Frame {
	if path == "" {
		return nil
	}
	t, known := f.tables[path]
	if !known {
		t = open(path)
		if f.tables == nil {
			f.tables = map[string]*table{}
		}
		f.tables[path] = t
	}
	if t == nil {
		return nil
	}
	return t.frames(address)
}

// Forget drops what was read.
func (f *Files) Forget() { f.tables = nil }

// mostBytes bounds what is read of a file: it lies in the memory of the process that is
// looked at.
const mostBytes = 256 << 20

// table is the debugging information of a file.
type table struct {
	data  *dwarf.Data
	units []span // by address
	known map[dwarf.Offset]*unit
}

// span is addresses of what stands at an entry.
type span struct {
	low, high uint64
	entry     dwarf.Offset
}

// open reads a file's debugging information; nil: it has none that can be read.
func open(path string) *table {
	file, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	if n := debugBytes(file); n == 0 || n > mostBytes {
		return nil
	}
	data, err := file.DWARF()
	if err != nil {
		return nil
	}
	t := &table{data: data, known: map[dwarf.Offset]*unit{}}
	t.index()
	return t
}

// debugBytes is what the debugging information takes in memory.
func debugBytes(file *elf.File) (n uint64) {
	for _, s := range file.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			n += s.Size
		}
	}
	return n
}

// index finds the addresses of units.
func (t *table) index() {
	r := t.data.Reader()
	for {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			t.units = append(t.units, t.spans(e)...)
		}
		r.SkipChildren()
	}
	sort.Slice(t.units, func(i, j int) bool { return t.units[i].low < t.units[j].low })
}

// spans returns the addresses of an entry.
func (t *table) spans(e *dwarf.Entry) (all []span) {
	ranges, err := t.data.Ranges(e)
	if err != nil {
		return nil
	}
	for _, r := range ranges {
		if r[0] < r[1] {
			all = append(all, span{r[0], r[1], e.Offset})
		}
	}
	return all
}

func (t *table) frames(address uint64) []Frame {
	i, found := slices.BinarySearchFunc(t.units, address, func(s span, a uint64) int { return cmp.Compare(s.low, a) })
	if !found {
		i--
	}
	if i < 0 || address >= t.units[i].high {
		return nil
	}
	at := t.units[i].entry
	u, known := t.known[at]
	if !known {
		u = t.readUnit(at)
		t.known[at] = u
	}
	if u == nil {
		return nil
	}
	return u.frames(address)
}
