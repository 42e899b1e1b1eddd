package track

import "tlruntime/runtime/layout"

// Frames of Python stand in stacks among return addresses, as words that are no addresses
// (layout.PythonTag). C puts them there (cshim/python/frames.c), with numbers of names from here.

// PythonFrame is a frame of Python's.
type PythonFrame struct {
	Function, File string
	Line           uint32
}

// PythonName returns the number of a function and its file; 0 when there is no memory for it.
func PythonName(function, file string) uint32 {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	s := &tracker.sites
	key := pythonName{s.name(known(function)), s.name(known(file))}
	if key.function == 0 || key.file == 0 {
		return 0
	}
	n, known := s.python[key]
	if !known {
		n = uint32(len(s.pythons))
		s.pythons = append(s.pythons, key)
		s.python[key] = n
	}
	return n
}

// known is a name, or what stands for one that is empty.
func known(name string) string {
	if name == "" {
		return "<unknown>"
	}
	return name
}

// PythonAt returns the frame of Python that a word of a stack stands for; false: it is an address.
func PythonAt(word uintptr) (PythonFrame, bool) {
	if !isPython(word) {
		return PythonFrame{}, false
	}
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	s := &tracker.sites
	n := word >> layout.PythonLineBits & (1<<layout.PythonNameBits - 1)
	f := PythonFrame{Line: uint32(word & (1<<layout.PythonLineBits - 1))}
	if n < uintptr(len(s.pythons)) {
		f.Function, f.File = s.nameOf(s.pythons[n].function), s.nameOf(s.pythons[n].file)
	}
	return f, true
}

func isPython(word uintptr) bool { return word>>layout.PythonTagShift == layout.PythonTag }

// Told returns the line at which an allocation was made: the program's own word, else the innermost line of
// Python; "" when neither is known.
func (s Site) Told() (file string, line uint32) {
	if s.File != "" {
		return s.File, s.Line
	}
	for _, word := range s.Stack {
		if f, is := PythonAt(word); is {
			return f.File, f.Line
		}
	}
	return "", 0
}

// SitePython gives an allocation that was recorded without frames of Python a stack that has them: its call was made
// without the interpreter's lock, and its caller has it back. A line that the program told stays.
func SitePython(p uintptr, stack []uintptr) {
	if ref, ok := RefOf(p); ok {
		siteAgain(ref, uint64(p), stack)
	}
}

func siteAgain(ref Ref, address uint64, stack []uintptr) {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	s := &tracker.sites
	e := find(ref)
	if e == nil || e.Site == 0 {
		return
	}
	for _, word := range s.stackOf(e.Site) {
		if isPython(word) {
			return
		}
	}
	at := s.list[e.Site]
	e.moveTo(address, s.add(stack, at.file, at.line))
}
