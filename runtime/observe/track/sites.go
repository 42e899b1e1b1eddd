package track

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// sites keeps stacks, names and pairs of them once, for ever: a program has few. The
// addresses of a stack and the bytes of a name lie off the Go heap, so that programs may
// be handed their addresses. tracker.mu guards it.
type sites struct {
	stacks  map[string]uint32 // by the bytes of the addresses
	stackAt []kept
	names   map[string]uint32
	nameAt  []kept
	all     map[site]uint32
	list    []site
	python  map[pythonName]uint32
	pythons []pythonName

	room, end uintptr // rest of the newest chunk
}

// kept is memory that stays where it is: so many addresses, or bytes of a string.
type kept struct {
	at uintptr
	n  uint64
}

// site is a stack, and a line if the program told it.
type site struct{ stack, file, line uint32 }

// pythonName is a function of Python's and its file.
type pythonName struct{ function, file uint32 }

// Site is where something was allocated or released.
type Site struct {
	Stack []uintptr // return addresses, and frames of Python (PythonAt), innermost first
	File  string    // "" = not told
	Line  uint32
}

func (s *sites) open() {
	s.stacks, s.names, s.all = map[string]uint32{}, map[string]uint32{}, map[site]uint32{}
	s.stackAt, s.nameAt, s.list = make([]kept, 1), make([]kept, 1), make([]site, 1)
	s.python, s.pythons = map[pythonName]uint32{}, make([]pythonName, 1)
}

// keep copies bytes to where they stay; 0 when there is no memory.
func (s *sites) keep(bytes []byte) uintptr {
	n := memory.Round(uintptr(len(bytes)), 8)
	if s.end-s.room < n {
		size := max(n, layout.SpanBytes)
		base, err := memory.Map(size, purpose)
		if err != nil {
			return 0
		}
		s.room, s.end = base, base+size
	}
	at := s.room
	s.room += n
	copy(layout.Bytes(at, uint64(len(bytes))), bytes)
	return at
}

// add returns the number of a site, 0 when there is nothing to say or no memory.
func (s *sites) add(stack []uintptr, file, line uint32) uint32 {
	if s.all == nil {
		s.open()
	}
	key := site{s.stack(stack), file, line}
	if key == (site{}) {
		return 0
	}
	n, known := s.all[key]
	if !known {
		n = uint32(len(s.list))
		s.list = append(s.list, key)
		s.all[key] = n
	}
	return n
}

func (s *sites) stack(stack []uintptr) uint32 {
	if len(stack) == 0 {
		return 0
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&stack[0])), len(stack)*8)
	n, known := s.stacks[string(bytes)]
	if known {
		return n
	}
	at := s.keep(bytes)
	if at == 0 {
		return 0
	}
	n = uint32(len(s.stackAt))
	s.stackAt = append(s.stackAt, kept{at, uint64(len(stack))})
	s.stacks[string(bytes)] = n
	return n
}

func (s *sites) stackOf(n uint32) []uintptr {
	if int(n) >= len(s.list) {
		return nil
	}
	k := s.stackAt[s.list[n].stack]
	return layout.Slice[uintptr](k.at, k.n)
}

// name returns the number of a name, 0 for "" or when there is no memory.
func (s *sites) name(text string) uint32 {
	if s.all == nil {
		s.open()
	}
	if text == "" {
		return 0
	}
	n, known := s.names[text]
	if known {
		return n
	}
	at := s.keep(append([]byte(text), 0))
	if at == 0 {
		return 0
	}
	n = uint32(len(s.nameAt))
	s.nameAt = append(s.nameAt, kept{at, uint64(len(text))})
	s.names[text] = n
	return n
}

func (s *sites) nameOf(n uint32) string {
	if n == 0 || int(n) >= len(s.nameAt) {
		return ""
	}
	return string(layout.Bytes(s.nameAt[n].at, s.nameAt[n].n))
}

// SiteOf returns the site with a number, which is empty for 0.
func SiteOf(n uint32) Site {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	s := &tracker.sites
	if n == 0 || int(n) >= len(s.list) {
		return Site{}
	}
	return Site{Stack: s.stackOf(n), File: s.nameOf(s.list[n].file), Line: s.list[n].line}
}

// Intern returns the number of a name, 0 for "" or when there is no memory for it.
func Intern(text string) uint32 {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	return tracker.sites.name(text)
}

// NameOf returns the name with a number, "" for 0.
func NameOf(n uint32) string {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	return tracker.sites.nameOf(n)
}

// NameAddress returns where a name stands as a C string, for ever; 0 for 0.
func NameAddress(n uint32) uintptr {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	if n == 0 || int(n) >= len(tracker.sites.nameAt) {
		return 0
	}
	return tracker.sites.nameAt[n].at
}
