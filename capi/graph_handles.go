//go:build full

package main

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tlruntime/compiler/content"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/handle"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/plans"
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

// The bits of tl_graph_flag that are no fields of plan.Options.
const (
	flagNoRecompute = 1 << (iota + 6)
	flagOutside
	flagSymbolic
	flagsEnd
)

// flagsOf are the fields of plan.Options by the other bits.
func flagsOf(p *plan.Options) []*bool {
	return []*bool{&p.NoViews, &p.NoInPlace, &p.NoConcat, &p.NoReorder, &p.PlaceInputs, &p.PlaceOutputs}
}

// graphOptions are the options of a plan.
type graphOptions struct {
	remat.Options
	symbolic bool
}

// planOptions reads them.
func planOptions(o *object.Context, options uintptr) (r graphOptions, st status.Status) {
	r.Plan.ShareConstants = true // nobody changes those of a graph
	if options == 0 {
		return r, status.OK
	}
	if !usable(options) || load[uintptr](options) < smallestStats {
		return r, fail(o, status.InvalidArgument, "options need a struct_size of sizeof(tl_graph_options)")
	}
	given := readStruct[tl_graph_options](options)
	switch {
	case given.BudgetMs < 0 || given.MaxSteps < 0:
		return r, fail(o, status.InvalidArgument, "a budget of %d ms and %d steps; neither can be negative",
			given.BudgetMs, given.MaxSteps)
	case given.Flags >= flagsEnd:
		return r, fail(o, status.InvalidArgument, "flags are %#x; those of tl_graph_flag are below %#x", given.Flags,
			flagsEnd)
	case given.Alignment&(given.Alignment-1) != 0 || given.Alignment > 1<<32:
		return r, fail(o, status.InvalidArgument, "an alignment of %d; it is a power of two up to 4 GiB",
			given.Alignment)
	}
	for i, field := range flagsOf(&r.Plan) {
		*field = given.Flags>>i&1 == 1
	}
	r.Plan.Seed, r.Plan.MaxSteps, r.Plan.Alignment = given.Seed, given.MaxSteps, int64(given.Alignment)
	r.Plan.Budget = plans.Budget(given.BudgetMs)
	r.symbolic = given.Flags&flagSymbolic != 0
	return r, fittingOptions(o, &given, &r.Options)
}

// fittingOptions reads how a plan is made to fit into less memory.
func fittingOptions(o *object.Context, given *tl_graph_options, r *remat.Options) status.Status {
	r.Capacity = int64(min(given.CapacityBytes, mostTensor))
	r.NoAgain = given.Flags&flagNoRecompute != 0
	outside := given.Flags&flagOutside != 0
	switch {
	case r.Capacity == 0 && (outside || r.NoAgain):
		return fail(o, status.InvalidArgument, "flags are %#x, and there is no capacity to fit into; set capacity_bytes, "+
			"or leave TL_GRAPH_FLAG_OUTSIDE and TL_GRAPH_FLAG_NO_RECOMPUTE out", given.Flags)
	case !outside && (given.OutsideBytes != 0 || given.OutsideBandwidth != 0):
		return fail(o, status.InvalidArgument, "a second space of %d bytes and %v bytes a second is described, and flags "+
			"do not ask for one; add TL_GRAPH_FLAG_OUTSIDE", given.OutsideBytes, given.OutsideBandwidth)
	case !(given.OutsideBandwidth >= 0) || math.IsInf(given.OutsideBandwidth, 0):
		return fail(o, status.InvalidArgument, "a bandwidth of %v; it is a number of bytes a second, 0 for that of a "+
			"copy in memory", given.OutsideBandwidth)
	case outside:
		r.Outside = &remat.Outside{Capacity: int64(min(given.OutsideBytes, mostTensor)),
			Bandwidth: given.OutsideBandwidth}
	}
	if given.Rates == 0 {
		return status.OK
	}
	text, st := longText(o, given.Rates, "rates")
	if st != status.OK {
		return st
	}
	rates, err := remat.ReadRates(bytes.NewReader(text))
	if err != nil {
		return invalid(o, err)
	}
	r.Cost = rates.Node
	return status.OK
}

func planGraph(o *object.Context, h, options, out uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		st := needsOutput(o, out, "out_execution")
		if st != status.OK {
			return st
		}
		p, st := planOptions(o, options)
		if st != status.OK {
			return st
		}
		if len(g.graph.Outputs) == 0 {
			return fail(o, status.InvalidArgument, "the graph has no output, so there is nothing to compute; add one")
		}
		made, err := g.plan(&p)
		if err != nil {
			return fail(o, outcomeOf(err), "%v", err)
		}
		return keepExecution(o, made, out)
	})
}

// plan checks the graph and plans it. The lock is held.
func (g *ownGraph) plan(o *graphOptions) (*remat.Result, error) {
	given := check.Options{Bind: g.bind, Freeze: g.frozen, FoldBytes: foldable()}
	if o.symbolic {
		return models.PlanSymbolic(g.graph, given, o.Options)
	}
	checked, err := check.Check(g.graph, given)
	if err != nil {
		return nil, err
	}
	return models.Plan(checked, o.Options)
}

// foldable is how many bytes computed constants may take: under a limit of the process fewer, as Go
// ends it without memory.
func foldable() int64 {
	bytes := int64(mostFolded)
	for bytes > 1 && !memory.Obtainable(2*uint64(bytes)) {
		bytes /= 2
	}
	return bytes
}

// outcomeOf is the status for what kept a graph from being read or planned.
func outcomeOf(err error) status.Status {
	var refused *content.MemoryError
	if errors.As(err, &refused) {
		return status.OutOfMemory
	}
	if _, full := err.(*remat.CapacityError); full {
		return status.Limit
	}
	return status.InvalidArgument
}
