//go:build full

package main

import (
	"sync"

	"tlruntime/runtime/handle"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// locked is a thing with a lock.
type locked[T any] interface {
	*T
	lock() *sync.Mutex
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

// remove forgets a handle and returns what it named.
func (t *handles[T, L]) remove(o *object.Context, h uintptr) *T {
	t.mu.Lock()
	thing := t.live[uint64(h)]
	delete(t.live, uint64(h))
	t.mu.Unlock()
	if thing == nil {
		t.unknown(o, h)
	}
	return thing
}

func (t *handles[T, L]) unknown(o *object.Context, h uintptr) {
	if h == 0 {
		fail(o, status.InvalidArgument, "the %s is NULL; make one with %s", t.kind, t.maker)
		return
	}
	fail(o, status.InvalidArgument, "%#x is no %s, or one that was destroyed", h, t.kind)
}
