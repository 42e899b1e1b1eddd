//go:build full

package main

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// lent is memory of Go's that the program may read: it is pinned until what it belongs to ends. The lock is held by who
// calls the methods.
type lent struct {
	mu    sync.Mutex // guards the rest
	pins  runtime.Pinner
	seen  map[*int64]bool        // shapes that are pinned
	texts map[string]uintptr     // strings by their content
	forms map[formOfText]uintptr // what was written
}

// formOfText is what a text was asked for as.
type formOfText struct {
	form, name string
	version    int32
}

func (l *lent) lock() *sync.Mutex { return &l.mu }

func (l *lent) pinned(p unsafe.Pointer) uintptr {
	l.pins.Pin((*byte)(p))
	return uintptr(p)
}

// text returns the address of a C string, the same for the same text.
func (l *lent) text(s string) uintptr {
	s, _, _ = strings.Cut(s, "\x00")
	at, known := l.texts[s]
	if !known {
		if l.texts == nil {
			l.texts = map[string]uintptr{}
		}
		content := append([]byte(s), 0)
		at = l.pinned(unsafe.Pointer(&content[0]))
		l.texts[s] = at
	}
	return at
}

// numbers returns the address of numbers that do not change, 0 when there are none.
func (l *lent) numbers(list []int64) uintptr {
	if len(list) == 0 {
		return 0
	}
	first := &list[0]
	if !l.seen[first] {
		if l.seen == nil {
			l.seen = map[*int64]bool{}
		}
		l.seen[first] = true
		l.pins.Pin(first)
	}
	return uintptr(unsafe.Pointer(first))
}

// content returns the address of a tensor's content. What is not aligned to its elements is copied.
func (l *lent) content(data []byte, element int64) uintptr {
	if len(data) == 0 {
		return 0
	}
	if at := uintptr(unsafe.Pointer(&data[0])); at%uintptr(max(element, 1)) != 0 {
		words := make([]uint64, len(data)/8+1)
		copied := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(data))
		copy(copied, data)
		data = copied
	}
	return l.pinned(unsafe.Pointer(&data[0]))
}

// written returns the address of what write writes, the same for the same arguments; 0 when it writes nothing.
func (l *lent) written(o *object.Context, form, name uintptr, version int32,
	write func(formOfText) ([]byte, status.Status)) uintptr {
	asked := formOfText{version: version}
	var st status.Status
	if asked.form, st = textOf(o, form, "a form"); st != status.OK {
		return 0
	}
	if name != 0 {
		if asked.name, st = textOf(o, name, "a name"); st != status.OK {
			return 0
		}
	}
	at := l.forms[asked]
	if at != 0 {
		return at
	}
	content, st := write(asked)
	if st != status.OK {
		return 0
	}
	if l.forms == nil {
		l.forms = map[formOfText]uintptr{}
	}
	content = append(content, 0)
	at = l.pinned(unsafe.Pointer(&content[0]))
	l.forms[asked] = at
	return at
}

// end gives everything back.
func (l *lent) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pins.Unpin()
}
