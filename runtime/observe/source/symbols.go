package source

import (
	"bytes"
	"debug/elf"
	"os"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// Symbols finds functions by the tables that linkers leave in files. It keeps those of the
// file that was asked for last, outside of Go's heap: they are large, and a process that
// may not have so much memory does without names. The zero value is ready.
type Symbols struct {
	path           string
	symbols, names part
}

// part is a copy of a part of a file.
type part struct{ at, bytes uintptr }

const symbolsPurpose = "symbols"

// Function returns the linker's name of the function at an address of a file, in the
// file's own addresses; "" when the file does not tell.
func (s *Symbols) Function(path string, address uint64) string {
	if path != s.path {
		s.Forget()
		s.path = path
		s.read()
	}
	for _, f := range layout.Slice[elf.Sym64](s.symbols.at, uint64(s.symbols.bytes/elf.Sym64Size)) {
		if elf.ST_TYPE(f.Info) == elf.STT_FUNC && f.Shndx != uint16(elf.SHN_UNDEF) && address-f.Value < f.Size &&
			uintptr(f.Name) < s.names.bytes {
			name, _, _ := bytes.Cut(layout.Bytes(s.names.at, uint64(s.names.bytes))[f.Name:], []byte{0})
			return string(name)
		}
	}
	return ""
}

// Forget drops what was read.
func (s *Symbols) Forget() {
	s.symbols.drop()
	s.names.drop()
	s.path = ""
}

func (s *Symbols) read() {
	from, err := os.Open(s.path)
	if err != nil {
		return
	}
	defer from.Close()
	file, err := elf.NewFile(from)
	if err != nil || file.Class != elf.ELFCLASS64 {
		return
	}
	table := file.SectionByType(elf.SHT_SYMTAB)
	if table == nil { // it was stripped
		table = file.SectionByType(elf.SHT_DYNSYM)
	}
	if table == nil || int(table.Link) >= len(file.Sections) {
		return
	}
	s.symbols = copyOf(from, table)
	s.names = copyOf(from, file.Sections[table.Link])
}

// copyOf copies a section; empty when it cannot be read.
func copyOf(from *os.File, s *elf.Section) (p part) {
	info, err := from.Stat()
	if err != nil || s.FileSize == 0 || s.FileSize > uint64(info.Size()) {
		return p
	}
	p.bytes = uintptr(s.FileSize)
	if p.at, err = memory.Map(p.mapped(), symbolsPurpose); err != nil {
		return part{}
	}
	if _, err := from.ReadAt(layout.Bytes(p.at, s.FileSize), int64(s.Offset)); err != nil {
		p.drop()
	}
	return p
}

func (p *part) mapped() uintptr { return memory.Round(p.bytes, memory.PageBytes) }

func (p *part) drop() {
	if p.bytes != 0 {
		memory.Unmap(p.at, p.mapped(), symbolsPurpose)
	}
	*p = part{}
}
