package source

import (
	"cmp"
	"debug/dwarf"
	"sort"
)

// unit is what is known of a compilation unit.
type unit struct {
	data  *dwarf.Data
	files []*dwarf.LineFile
	lines []row // by address
	code  []function
}

// row is the line of the addresses up to the next row.
type row struct {
	address uint64
	file    *dwarf.LineFile
	line    int // 0: there is no code
}

// function is addresses of a function, or of one that was inlined.
type function struct {
	span
	depth          int // how many it is inlined in
	callFile, call int64
}

// readUnit reads the functions of a unit; nil: it has no lines.
func (t *table) readUnit(at dwarf.Offset) *unit {
	r := t.data.Reader()
	r.Seek(at)
	head, err := r.Next()
	if err != nil || head == nil {
		return nil
	}
	lines, err := t.data.LineReader(head)
	if err != nil || lines == nil {
		return nil
	}
	u := &unit{data: t.data}
	u.readLines(lines)
	if head.Children {
		u.read(t, r, 0)
	}
	return u
}

// readLines reads the line table. Its sequences may come in any order.
func (u *unit) readLines(r *dwarf.LineReader) {
	for {
		var e dwarf.LineEntry
		if err := r.Next(&e); err != nil {
			break
		}
		at := row{e.Address, e.File, e.Line}
		if e.EndSequence {
			at = row{address: e.Address}
		}
		if n := len(u.lines) - 1; n >= 0 && u.lines[n].address == e.Address {
			u.lines[n] = at // of several rows for an address the last one counts
			continue
		}
		u.lines = append(u.lines, at)
	}
	u.files = r.Files()
	// An end and a beginning may share an address: the beginning stands last.
	sort.SliceStable(u.lines, func(i, j int) bool {
		a, b := &u.lines[i], &u.lines[j]
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(min(a.line, 1), min(b.line, 1))) < 0
	})
}

func (u *unit) lineOf(address uint64) (file string, line int) {
	i := sort.Search(len(u.lines), func(i int) bool { return u.lines[i].address > address }) - 1
	if i < 0 || u.lines[i].file == nil {
		return "", 0
	}
	return u.lines[i].file.Name, u.lines[i].line
}

// read reads the children of an entry.
func (u *unit) read(t *table, r *dwarf.Reader, depth int) {
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return
		}
		inside := depth
		switch e.Tag {
		case dwarf.TagSubprogram, dwarf.TagInlinedSubroutine:
			if e.Tag == dwarf.TagSubprogram {
				inside = 0
			}
			file, _ := e.Val(dwarf.AttrCallFile).(int64)
			line, _ := e.Val(dwarf.AttrCallLine).(int64)
			for _, s := range t.spans(e) {
				u.code = append(u.code, function{span: s, depth: inside, callFile: file, call: line})
			}
			inside++
		case dwarf.TagLexDwarfBlock, dwarf.TagNamespace, dwarf.TagModule, dwarf.TagStructType, dwarf.TagClassType:
		default:
			r.SkipChildren()
			continue
		}
		if e.Children {
			u.read(t, r, inside)
		}
	}
}

// frames returns the functions at an address. The line table tells the line of the
// innermost; where it was inlined is the line of the next.
func (u *unit) frames(address uint64) (all []Frame) {
	var inside []function
	for _, f := range u.code {
		if f.low <= address && address < f.high {
			inside = append(inside, f)
		}
	}
	sort.SliceStable(inside, func(i, j int) bool { return inside[i].depth > inside[j].depth })
	file, line := u.lineOf(address)
	for _, f := range inside {
		all = append(all, Frame{u.nameOf(f.entry), file, line})
		file, line = u.fileName(f.callFile), int(f.call)
	}
	if len(all) == 0 && file != "" {
		all = append(all, Frame{File: file, Line: line})
	}
	return all
}

func (u *unit) fileName(n int64) string {
	if n < 0 || n >= int64(len(u.files)) || u.files[n] == nil {
		return ""
	}
	return u.files[n].Name
}

// linkageNameBefore4 is DW_AT_MIPS_linkage_name, which compilers write where DWARF had
// no attribute for it yet.
const linkageNameBefore4 = dwarf.Attr(0x2007)

// nameOf follows an entry to what it is a copy, or the definition, of.
func (u *unit) nameOf(at dwarf.Offset) (name string) {
	r := u.data.Reader()
	for range 8 {
		r.Seek(at)
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		for _, attribute := range []dwarf.Attr{dwarf.AttrLinkageName, linkageNameBefore4} {
			if linked, ok := e.Val(attribute).(string); ok {
				return linked
			}
		}
		if own, ok := e.Val(dwarf.AttrName).(string); ok && name == "" {
			name = own
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			break
		}
		at = next
	}
	return name
}
