package model

import (
	"fmt"
	"strconv"
	"strings"

	"tlruntime/runtime/layout"
)

// Path is a way into the runtime for one thread. Calls take addresses and numbers
// alike, and return a status, an address or a number.
type Path struct {
	Call   map[string]func(a []uintptr) uintptr
	Status func() int32 // of the last call that failed or returned NULL
	Clear  func()
}

// Machine executes steps inside a Go process, as tests_c/driver.c does it in C
// through the library. Replies of the two have the same form:
//
//	value status          calls that return a number or a status
//	=k status [content]   calls that return an address: the lowest handle that has it
type Machine struct {
	Paths []Path
	// Stats returns objects, bytes, foreign pointers, destructor calls, skipped entries.
	Stats func() [5]int64
	// Malloc and Free are the host's memory, nil without any.
	Malloc func(n uintptr) uintptr
	Free   func(p uintptr)

	path    *Path
	base    [5]int64
	handles [maxHandles]slot
}

const maxHandles = 4096

type slot struct {
	p, bytes            uintptr
	arena, dead, reused bool
}

// Run executes steps and returns the replies.
func (m *Machine) Run(steps []Step) []string {
	m.handles = [maxHandles]slot{}
	replies := make([]string, len(steps))
	for i, s := range steps {
		replies[i] = m.execute(s.Line)
	}
	return replies
}

func (m *Machine) execute(line string) string {
	m.path = &m.Paths[0]
	words := strings.Fields(line)
	if words[0][0] == '@' {
		m.path = &m.Paths[words[0][1]-'0']
		words = words[1:]
	}
	args := make([]uintptr, len(words)-1)
	for i, w := range words[1:] {
		reusedHandle := false
		if args[i], reusedHandle = m.argument(w); reusedHandle {
			return reused
		}
	}
	m.path.Clear()
	if special := m.special()[words[0]]; special != nil {
		return special(args)
	}
	call := m.path.Call[words[0]]
	if call == nil {
		return "no such call"
	}
	if returnsAddress[words[0]] {
		return m.bind(words[0], args, call(args[1:]))
	}
	r := call(args)
	return fmt.Sprintf("%d %d", int64(r), m.path.Status())
}

// static is memory that the runtime knows nothing of.
var static [64]byte

// argument is a handle with an offset, NULL, a raw address or a number.
func (m *Machine) argument(w string) (value uintptr, isReused bool) {
	switch w[0] {
	case 'h':
		number, offset, _ := strings.Cut(w[1:], "+")
		k, _ := strconv.Atoi(number)
		plus, _ := strconv.Atoi(offset)
		return m.handles[k].p + uintptr(plus), m.handles[k].reused
	case '-':
		if w == "-" {
			return 0, false
		}
	case '#':
		n, _ := strconv.ParseUint(w[1:], 16, 64)
		return uintptr(n), false
	case '&':
		return layout.Address(&static[0]), false
	}
	n, _ := strconv.ParseInt(w, 10, 64)
	return uintptr(n), false
}

var returnsAddress = map[string]bool{
	"alloc": true, "alloc_tmp": true, "new": true, "new_zeroed": true, "arena_alloc": true, "arena_malloc": true,
	"object_new": true, "vec_new": true, "deep_clone": true, "vec_get": true, "vec_pop": true, "get_buffer": true,
	"frame_enter": true,
}

// bind gives an address the handle that the step names, fills what is new, and
// makes the reply. Contents come after the status.
func (m *Machine) bind(name string, args []uintptr, p uintptr) string {
	st := m.path.Status()
	if p == 0 || name == "frame_enter" && args[1] == 0 {
		return fmt.Sprintf("%d %d", min(p, 1), st)
	}
	k, bytes, content := int(args[0]), uintptr(1), ""
	switch name {
	case "alloc", "alloc_tmp", "new", "new_zeroed", "arena_malloc":
		bytes = args[1]
	case "arena_alloc":
		bytes = args[1]
	case "get_buffer":
		bytes = args[2]
	case "object_new":
		bytes = uintptr(Types[args[1]].Bytes)
	}
	if name == "new_zeroed" || name == "object_new" {
		content = fmt.Sprintf(" %d", 1-min(uniform(p, bytes), 1))
	}
	arena := name == "arena_alloc" || name == "arena_malloc" && m.path.Call["arena_contains"]([]uintptr{p}) != 0
	reply := m.claim(k, slot{p: p, bytes: bytes, arena: arena})
	switch name {
	case "alloc", "alloc_tmp", "new", "new_zeroed", "arena_malloc":
		fill(p, 0, bytes, byte(1+k%255))
	case "object_new":
		fill(p, uintptr(Types[args[1]].skip()), bytes, byte(1+k%255))
	}
	return fmt.Sprintf("%s %d%s", reply, st, content)
}

// claim notes what a handle stands for. An address that a living handle has is
// that one; new memory may cover dead handles, never living ones.
func (m *Machine) claim(k int, s slot) string {
	reply := fmt.Sprintf("=%d", k)
	for i := range m.handles[:k] {
		if o := &m.handles[i]; o.p == s.p && !o.dead && !o.reused {
			m.handles[k] = s
			return fmt.Sprintf("=%d", i)
		}
	}
	for i := range m.handles[:k] {
		o := &m.handles[i]
		switch {
		case o.p == 0 || o.arena || o.reused:
		case o.dead && o.p-s.p < s.bytes:
			o.reused = true
		case !o.dead && (o.p-s.p < s.bytes || s.p-o.p < o.bytes):
			reply = fmt.Sprintf("overlaps=%d", i)
		}
	}
	m.handles[k] = s
	return reply
}

// Of a large object the ends are filled and looked at.
const front, back = 1000, 64

func fill(p, from, n uintptr, value byte) {
	memory := layout.Bytes(p, uint64(n))
	for i := from; i < min(n, front); i++ {
		memory[i] = value
	}
	for i := max(n-min(n, back), front, from); i < n; i++ {
		memory[i] = value
	}
}

// uniform returns the value that all bytes looked at have, -1 (as uintptr: large)
// when they differ.
func uniform(p, n uintptr) uintptr { return uniformFrom(p, 0, n) }

func uniformFrom(p, from, n uintptr) uintptr {
	memory := layout.Bytes(p, uint64(n))
	value := memory[from]
	for i := from; i < min(n, front); i++ {
		if memory[i] != value {
			return ^uintptr(0)
		}
	}
	for i := max(n-min(n, back), front, from); i < n; i++ {
		if memory[i] != value {
			return ^uintptr(0)
		}
	}
	return uintptr(value)
}
