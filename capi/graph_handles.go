//go:build full

package main

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tlruntime/runtime/handle"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// locked is a thing with a lock. end gives back what it has lent.
type locked[T any] interface {
	*T
	lock() *sync.Mutex
	end()
}

// handles are the things of one kind that the program has made and not destroyed. The
// handle of one that ended names none, for ever.
type handles[T any, L locked[T]] struct {
	kind, maker string // for messages
	most        int

	mu   sync.RWMutex // guards live
	live map[uint64]*T
}

// add returns a handle for a thing.
func (t *handles[T, L]) add(o *object.Context, thing *T) (uintptr, status.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.live) >= t.most {
		return 0, fail(o, status.Limit, "there are %d %ss already; destroy those that are no longer needed", t.most,
			t.kind)
	}
	if t.live == nil {
		t.live = map[uint64]*T{}
	}
	h := handle.New(0)
	t.live[h] = thing
	return uintptr(h), status.OK
}

// find returns what a handle names; nil, with the reason recorded, when that is nothing.
func (t *handles[T, L]) find(o *object.Context, h uintptr) *T {
	t.mu.RLock()
	thing := t.live[uint64(h)]
	t.mu.RUnlock()
	if thing == nil {
		t.unknown(o, h)
	}
	return thing
}

// with runs body with the lock held of what a handle names.
func (t *handles[T, L]) with(o *object.Context, h uintptr, body func(*T) status.Status) status.Status {
	thing := t.find(o, h)
	if thing == nil {
		return status.InvalidArgument
	}
	mu := L(thing).lock()
	mu.Lock()
	defer mu.Unlock()
	return body(thing)
}

// destroy ends what a handle names; 0 names nothing, and is destroyed already.
func (t *handles[T, L]) destroy(o *object.Context, h uintptr) status.Status {
	if h == 0 {
		return status.OK
	}
	t.mu.Lock()
	thing := t.live[uint64(h)]
	delete(t.live, uint64(h))
	t.mu.Unlock()
	if thing == nil {
		t.unknown(o, h)
		return status.InvalidArgument
	}
	L(thing).end()
	return status.OK
}

func (t *handles[T, L]) unknown(o *object.Context, h uintptr) {
	if h == 0 {
		fail(o, status.InvalidArgument, "the %s is NULL; make one with %s", t.kind, t.maker)
		return
	}
	fail(o, status.InvalidArgument, "%#x is no %s, or one that was destroyed", h, t.kind)
}

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

// addressList is an array of addresses, or of handles, that a caller passes.
type addressList struct{ at, n uintptr }

// entry is an address in it.
func (l addressList) entry(i int) uintptr {
	return load[uintptr](l.at + uintptr(i)*unsafe.Sizeof(l.at))
}

// check refuses an array that is none, or too long.
func (l addressList) check(o *object.Context, what string) status.Status {
	if l.n > mostArguments || l.n > 0 && !usable(l.at) {
		return fail(o, status.InvalidArgument, "an array of %d %s is needed, of up to %d; %#x is none", l.n, what,
			mostArguments, l.at)
	}
	return status.OK
}
