// Package plans keeps the plans that callers of the C interface build up call by
// call: buffers and spaces first, then a solution for them.
//
//	planner.go                      handles, what a plan is made of
//	solve.go                        solutions and what is read from them
//	clock_linux.go, clock_other.go  the processor time that a solution takes
//
// A plan's own lock guards it, so that any thread may call. While a solution is
// looked for the lock is held: other calls for the same plan wait.
package plans

import (
	"fmt"
	"math"
	"sync"

	"tlruntime/runtime/handle"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/offsets"
	"tlruntime/runtime/status"
)

// Handle names a plan. The handle of a plan that ended names none, for ever.
type Handle uint64

// Error tells why a call failed.
type Error struct {
	Status status.Status
	Text   string
}

func (e *Error) Error() string { return e.Text }

func refuse(st status.Status, format string, args ...any) *Error {
	return &Error{Status: st, Text: fmt.Sprintf(format, args...)}
}

// MaxSpaces is the most spaces that one plan may have.
const MaxSpaces = 1 << 10

const maxPlans = 1 << 16

// maxBuffers is the most buffers that one plan may have, so that a mistaken program
// does not fill the memory.
var maxBuffers uint64 = 1 << 24

type plan struct {
	mu         sync.Mutex // guards the rest
	problem    offsets.Problem
	solution   *offsets.Solution // of the problem as it is; nil when it has changed since
	infeasible bool              // the problem as it is was proved to have none
	last       []int64           // the offsets of the newest solution, also of the problem as it was
	hints      map[int64]int64   // by buffer: the offset that the caller supposes, for the next solution
}

// plans holds every plan there is.
var plans = struct {
	sync.RWMutex // guards the rest
	live         map[Handle]*plan
}{live: map[Handle]*plan{}}

// Create makes an empty plan.
func Create() (Handle, *Error) {
	plans.Lock()
	defer plans.Unlock()
	if len(plans.live) == maxPlans {
		return 0, refuse(status.Limit, "there are %d plans already; destroy those that are no longer needed", maxPlans)
	}
	h := Handle(handle.New(0))
	plans.live[h] = &plan{}
	return h, nil
}

// Destroy ends a plan. A call that is at work in it ends as if it had come first.
func Destroy(h Handle) *Error {
	plans.Lock()
	defer plans.Unlock()
	if plans.live[h] == nil {
		return unknown(h)
	}
	delete(plans.live, h)
	return nil
}

func unknown(h Handle) *Error {
	if h == 0 {
		return refuse(status.InvalidArgument, "the plan is NULL; make one with tl_plan_create")
	}
	return refuse(status.InvalidArgument, "%#x is no plan, or one that was destroyed", uint64(h))
}

// with runs body with the plan's lock held.
func with(h Handle, body func(*plan) *Error) *Error {
	plans.RLock()
	p := plans.live[h]
	plans.RUnlock()
	if p == nil {
		return unknown(h)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return body(p)
}

// change is with for a body that alters the problem: what is known of the problem as it
// was is dropped.
func change(h Handle, body func(*plan) *Error) *Error {
	return with(h, func(p *plan) *Error {
		err := body(p)
		if err == nil {
			p.solution, p.infeasible = nil, false
		}
		return err
	})
}

func (p *plan) buffer(i int64) (*offsets.Buffer, *Error) {
	if i < 0 || i >= int64(len(p.problem.Buffers)) {
		return nil, refuse(status.InvalidArgument, "there is no buffer %d; the plan has %d", i, len(p.problem.Buffers))
	}
	return &p.problem.Buffers[i], nil
}

// edit changes one buffer.
func edit(h Handle, i int64, body func(*plan, *offsets.Buffer) *Error) *Error {
	return change(h, func(p *plan) *Error {
		b, err := p.buffer(i)
		if err != nil {
			return err
		}
		return body(p, b)
	})
}

// Request is a buffer as callers describe it.
type Request struct {
	Bytes, Alignment uint64
	First, End       int64
}

// Add adds buffers, all or none, and returns the index of the first.
func Add(h Handle, n uint64, request func(i uint64) Request) (first int64, failed *Error) {
	failed = change(h, func(p *plan) *Error {
		first = int64(len(p.problem.Buffers))
		if n > maxBuffers-uint64(first) {
			return refuse(status.Limit, "%d buffers and %d more are beyond what a plan can have: %d", first, n,
				maxBuffers)
		}
		if err := p.room(uint64(first)+n, uint64(cap(p.problem.Buffers)), bytesToAdd); err != nil {
			return err
		}
		for i := range n {
			if err := p.add(request(i)); err != nil {
				p.problem.Buffers = p.problem.Buffers[:first]
				return err
			}
		}
		return nil
	})
	return first, failed
}

// Measured: what Go's heap grows by for each buffer while it is added, or placed.
const (
	bytesToAdd   = 512
	bytesToPlace = 1024
)

// room refuses a call that would end the process, as Go does without memory: there are
// to be n buffers, and for so many there is room.
func (p *plan) room(n, there, each uint64) *Error {
	if n > there && !memory.Obtainable(n*each) {
		return refuse(status.OutOfMemory, "the system refuses the memory that a plan of %d buffers needs", n)
	}
	return nil
}

func (p *plan) add(r Request) *Error {
	i := len(p.problem.Buffers)
	switch {
	case r.Bytes > math.MaxInt64/2:
		return refuse(status.Overflow, "buffer %d: %d bytes are more than any memory has", i, r.Bytes)
	case r.Alignment&(r.Alignment-1) != 0 || r.Alignment > 1<<32:
		return refuse(status.InvalidArgument, "buffer %d: alignment %d is no power of two up to 4 GiB", i, r.Alignment)
	case r.End <= r.First:
		return refuse(status.InvalidArgument,
			"buffer %d: it is alive in [%d, %d), which is no step; end has to be above first", i, r.First, r.End)
	}
	p.problem.Buffers = append(p.problem.Buffers, offsets.Buffer{
		Bytes: int64(r.Bytes), Alignment: int64(r.Alignment), First: r.First, End: r.End})
	return nil
}

// Alias puts a buffer inside another one, offset bytes behind its start.
func Alias(h Handle, buffer, base int64, offset uint64) *Error {
	return edit(h, buffer, func(p *plan, b *offsets.Buffer) *Error {
		in, err := p.buffer(base)
		switch {
		case err != nil:
			return err
		case b.Pinned:
			return refuse(status.InvalidArgument, "buffer %d is pinned; pin buffer %d, which it would lie in", buffer,
				base)
		case offset > uint64(in.Bytes) || uint64(b.Bytes) > uint64(in.Bytes)-offset:
			return refuse(status.InvalidArgument,
				"buffer %d has %d bytes, which at offset %d do not fit into the %d of buffer %d",
				buffer, b.Bytes, offset, in.Bytes, base)
		case p.lies(base, buffer):
			return refuse(status.InvalidArgument, "buffer %d lies in buffer %d already; they cannot lie in each other",
				base, buffer)
		}
		b.Alias, b.Base, b.BaseOffset = true, int(base), int64(offset)
		return nil
	})
}

// lies tells whether a buffer is another one, or an alias inside it.
func (p *plan) lies(inner, outer int64) bool {
	for inner != outer {
		b := &p.problem.Buffers[inner]
		if !b.Alias {
			return false
		}
		inner = int64(b.Base)
	}
	return true
}

// Pin fixes the offset of a buffer.
func Pin(h Handle, buffer int64, offset uint64) *Error {
	return edit(h, buffer, func(_ *plan, b *offsets.Buffer) *Error {
		switch {
		case b.Alias:
			return refuse(status.InvalidArgument, "buffer %d is an alias; pin buffer %d, which it lies in", buffer,
				b.Base)
		case offset > math.MaxInt64/2-uint64(b.Bytes):
			return refuse(status.Overflow, "buffer %d: offset %d is more than any memory has", buffer, offset)
		case b.Alignment > 0 && int64(offset)%b.Alignment != 0:
			return refuse(status.InvalidArgument, "buffer %d: offset %d is no multiple of its alignment %d", buffer,
				offset, b.Alignment)
		}
		b.Pinned, b.Offset = true, int64(offset)
		return nil
	})
}

// AddGap says that the contents of a buffer are not needed in the steps [first, end).
func AddGap(h Handle, buffer, first, end int64) *Error {
	return edit(h, buffer, func(_ *plan, b *offsets.Buffer) *Error {
		if first < b.First || end > b.End || end <= first {
			return refuse(status.InvalidArgument, "[%d, %d) is no part of [%d, %d), in which buffer %d is alive", first,
				end, b.First, b.End, buffer)
		}
		b.Gaps = append(b.Gaps, offsets.Interval{First: first, End: end})
		return nil
	})
}

// Resize gives a buffer another size.
func Resize(h Handle, buffer int64, bytes uint64) *Error {
	return edit(h, buffer, func(p *plan, b *offsets.Buffer) *Error {
		if bytes > math.MaxInt64/2 {
			return refuse(status.Overflow, "buffer %d: %d bytes are more than any memory has", buffer, bytes)
		}
		if b.Alias && bytes > uint64(p.problem.Buffers[b.Base].Bytes-b.BaseOffset) {
			return refuse(status.InvalidArgument, "buffer %d lies %d bytes into buffer %d of %d; %d bytes do not fit", buffer,
				b.BaseOffset, b.Base, p.problem.Buffers[b.Base].Bytes, bytes)
		}
		for i := range p.problem.Buffers {
			if a := &p.problem.Buffers[i]; a.Alias && int64(a.Base) == buffer && a.BaseOffset+a.Bytes > int64(bytes) {
				return refuse(status.InvalidArgument, "buffer %d lies in buffer %d up to byte %d; it cannot have %d", i, buffer,
					a.BaseOffset+a.Bytes, bytes)
			}
		}
		b.Bytes = int64(bytes)
		return nil
	})
}

// Hint says where a buffer may well lie in the next solution. It is no part of the problem.
func Hint(h Handle, buffer int64, offset uint64) *Error {
	return with(h, func(p *plan) *Error {
		if _, err := p.buffer(buffer); err != nil {
			return err
		}
		if p.hints == nil {
			p.hints = map[int64]int64{}
		}
		p.hints[buffer] = int64(min(offset, math.MaxInt64/2))
		return nil
	})
}

// AlignSpace sets the alignment of all that may lie in a space.
func AlignSpace(h Handle, space int64, alignment uint64) *Error {
	return change(h, func(p *plan) *Error {
		switch {
		case space < 0 || space >= int64(len(p.problem.Spaces)):
			return refuse(status.InvalidArgument, "there is no space %d; the plan has %d", space, len(p.problem.Spaces))
		case alignment&(alignment-1) != 0 || alignment > 1<<32:
			return refuse(status.InvalidArgument, "space %d: alignment %d is no power of two up to 4 GiB", space, alignment)
		}
		p.problem.Spaces[space].Alignment = int64(alignment)
		return nil
	})
}

// Name gives a buffer the name that messages tell.
func Name(h Handle, buffer int64, name string) *Error {
	return edit(h, buffer, func(_ *plan, b *offsets.Buffer) *Error {
		b.Name = name
		return nil
	})
}

// AddSpace adds memory of so many bytes, 0 for unlimited, and returns its index.
func AddSpace(h Handle, capacity uint64) (index int64, failed *Error) {
	failed = change(h, func(p *plan) *Error {
		if len(p.problem.Spaces) == MaxSpaces {
			return refuse(status.Limit, "the plan has %d spaces, which is the most", MaxSpaces)
		}
		index = int64(len(p.problem.Spaces))
		p.problem.Spaces = append(p.problem.Spaces, offsets.Space{Capacity: int64(min(capacity, math.MaxInt64/2))})
		return nil
	})
	return index, failed
}

// SetSpaces says which spaces a buffer may lie in, the preferred one first.
func SetSpaces(h Handle, buffer int64, spaces []int64) *Error {
	return edit(h, buffer, func(p *plan, b *offsets.Buffer) *Error {
		list := make([]int, 0, len(spaces))
		for _, s := range spaces {
			if s < 0 || s >= int64(len(p.problem.Spaces)) {
				return refuse(status.InvalidArgument, "there is no space %d; the plan has %d", s, len(p.problem.Spaces))
			}
			list = append(list, int(s))
		}
		b.Spaces = list
		return nil
	})
}
