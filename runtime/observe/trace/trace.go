// Package trace writes what the memory does over time to a file in the trace event
// format of Chrome, which Perfetto, chrome://tracing and Speedscope read:
//
//	C        counters: live bytes, bytes of memory pools, ...
//	B, E     scopes, functions and planned frames of each thread
//	b, e     tags, which need not nest in scopes
//	i        allocations and releases, chunks of memory pools, limits and pressure
//	M        names of the process and of threads
//
// A trace takes no more memory than its buffer and a list of the newest allocations:
// what is full goes to the file, by whoever has filled it. Up to the limit of the file
// nothing is dropped; from there on allocations and newly opened scopes are, and are
// counted in it. What has begun is ended and counters go on, so the file stays sound.
// Behind every part that is written stands the end of the file, which the next part
// overwrites: it is valid JSON whenever the process ends, and however.
//
//	trace.go   start, stop, and what is told
//	open.go    scopes and tags that are open
//	file.go    the file
//	format.go  events as text
//	recent.go  the newest allocations, for snapshots
//
// The package has accounts of memory and memory pools tell it what they do, and package
// track the rest; it knows only numbers and names. Its lock is innermost: under it nothing
// of the runtime is called.
package trace

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
)

// Options say what a trace has to ask others for. Fields that are nil are done without.
type Options struct {
	Limit   uint64                      // bytes of the file, about; 0 = no limit
	Thread  func(context uint32) uint32 // the system's number of the calling thread
	Figures func() []Figure             // counters; not called under a lock
	Frames  func(site uint32) []Frame   // the code of a site, innermost first; not called under a lock
	Places  func(site uint32) []Frame   // the same as modules and offsets, found without reading files
	Guard   func(write func())          // calls write, on a goroutine of its own, and stops its panics
}

// Figure is a counter at one moment.
type Figure struct {
	Name  string
	Value uint64
}

// Frame is code that a site's stack goes through: with a name, or as a place in a module, for readers to resolve.
type Frame struct {
	Name, File string
	Line       int
	Module     string
	Offset     uint64 // in the file's own addresses
	Stamp      string // of the file, as source.Stamp has it
}

// Event is an allocation or a release, as snapshots show it.
type Event struct {
	Free           bool
	Kind           string // "object", "registered", "pool block" or "chunk"
	Address, Bytes uint64
	Site           uint32 // of package track, 0 = not known
	Micros         uint64 // since 1970
	Device         int32  // of a chunk
}

// interval is how often counters are written, at most.
const interval = time.Millisecond

// mostUnwritten is how long an event waits for the file: that of a killed process lacks so much at most.
const mostUnwritten = time.Second

var recorder recorderState

type recorderState struct {
	on   atomic.Bool
	due  atomic.Int64 // when counters are to be written again, by clock
	seen atomic.Int64 // when the newest event was told, by clock

	mu      sync.Mutex // guards the rest
	opts    Options
	began   time.Time
	start   int64 // the same by clock
	pid     uint64
	file    *file
	threads map[uint32]bool // that have a name
	open    open
	sites   map[uint32]bool
	fresh   []uint32 // of them, those whose stacks were not written
	dropped uint64
	waits   bool // for writeWaiting
	recent  recent
	line    []byte // the event that is being put together
}

// On tells whether a trace runs. It costs a load.
func On() bool { return recorder.on.Load() }

// Start begins a trace. false: one runs already. An error is the file's.
func Start(path string, opts Options) (began bool, err error) {
	r := &recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		return false, nil
	}
	f, err := create(path)
	if err != nil {
		return false, err
	}
	r.file, r.opts, r.pid = f, opts, uint64(os.Getpid())
	r.began, r.start = time.Now(), clock()
	r.seen.Store(r.start)
	r.threads, r.sites, r.fresh, r.dropped = map[uint32]bool{}, map[uint32]bool{}, nil, 0
	r.open.clear()
	r.recent.clear()
	f.summary = r.summary
	r.head()
	if err := f.begin(r.flush); err != nil {
		r.file = nil
		f.f.Close()
		return false, err
	}
	r.due.Store(0)
	r.on.Store(true)
	return true, nil
}

// Stop ends the trace and completes the file. false: none runs. An error is the file's:
// what could not be written, then or before.
func Stop() (ended bool, err error) {
	if !On() {
		return false, nil
	}
	writeFigures("")
	r := &recorder
	r.mu.Lock()
	if !r.on.Swap(false) {
		r.mu.Unlock()
		return false, nil
	}
	frames, sites := r.opts.Frames, r.sites
	r.mu.Unlock()
	code := resolve(sites, frames)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.file
	if err = r.flush(code); err != nil {
		err = fmt.Errorf("%d events were lost: %w", r.dropped+f.lost, err)
	}
	r.file = nil
	f.f.Close()
	return true, err
}

// Allocation is what is told of one.
type Allocation struct {
	Event
	Type, Tag string // "" = plain bytes, none
	Thread    uint32 // 0 = the calling one
	Before    bool   // it was made before the trace began
}

// Alloc tells of an allocation, and returns when, in nanoseconds since 1970; 0: no trace runs.
func Alloc(context uint32, a Allocation) (nanos uint64) {
	with(func(r *recording) {
		nanos = r.nanos()
		if !r.record(a.Event) {
			return
		}
		r.instant("alloc", r.thread(context, a.Thread), a.Site)
		r.address(a.Address)
		r.number("bytes", a.Bytes)
		r.text("kind", a.Kind)
		r.optional("type", a.Type)
		r.optional("tag", a.Tag)
		if a.Before {
			r.number("before", 1)
		}
		r.end()
	})
	return nanos
}

// Free tells of a release.
func Free(context uint32, e Event) {
	e.Free = true
	with(func(r *recording) {
		if !r.record(e) {
			return
		}
		r.instant("free", r.thread(context, 0), 0)
		r.address(e.Address)
		r.number("bytes", e.Bytes)
		r.text("kind", e.Kind)
		r.end()
	})
}

// Named tells the site of an allocation that was told of before.
func Named(context uint32, address uint64, site uint32) {
	with(func(r *recording) {
		r.recent.name(address, site)
		if r.full() {
			return
		}
		r.instant("site", r.thread(context, 0), site)
		r.address(address)
		r.end()
	})
}

// Holding is who holds an allocation when a trace ends.
type Holding struct {
	Address uint64
	By      string // the scope, or where in the object at From
	From    uint64 // 0 = no object
	Site    uint32 // where the scope was entered; 0 = not known
}

// Held tells of one.
func Held(h Holding) {
	with(func(r *recording) {
		if r.atLimit() {
			return
		}
		r.instant("held", 0, h.Site)
		r.address(h.Address)
		r.text("by", h.By)
		if h.From != 0 {
			r.hex("from", h.From)
		}
		r.end()
	})
}

func init() {
	limit.OnPressure(pressure)
	mempool.OnChunk(Chunk)
}

// Chunk tells of memory that a pool has obtained from its device, or returned.
func Chunk(c mempool.Chunk, obtained bool) {
	name := "chunk returned"
	if obtained {
		name = "chunk obtained"
	}
	with(func(r *recording) {
		r.keep(Event{Free: !obtained, Kind: "chunk", Address: c.Address, Bytes: c.Bytes, Device: c.Account})
		if obtained && r.full() || !obtained && !r.open.chunks[c.Address] {
			return
		}
		if obtained {
			r.open.chunks[c.Address] = true
		} else {
			delete(r.open.chunks, c.Address)
		}
		r.begin(name, "i", r.thread(0, 0))
		r.text("s", "p")
		r.args()
		r.address(c.Address)
		r.number("bytes", c.Bytes)
		r.number("pool", c.Pool)
		r.signed("device", int64(c.Account))
		r.end()
	})
}

// pressure tells that memory was short: name says how, of a device or of an account of
// package limit.
func pressure(name string, device int32, bytes uint64) {
	with(func(r *recording) {
		if r.full() {
			return
		}
		r.begin(name, "i", r.thread(0, 0))
		r.text("s", "g")
		r.args()
		r.signed("device", int64(device))
		r.number("bytes", bytes)
		r.end()
	})
}

// Mark writes the counters now, and a mark with a name.
func Mark(name string) { writeFigures(name) }

// Due tells one caller that it is to write the counters again, with Count. It takes the time of the newest event:
// without one the counters are as they were.
func Due() bool {
	if !On() {
		return false
	}
	due := recorder.due.Load()
	return recorder.seen.Load() >= due && recorder.due.CompareAndSwap(due, math.MaxInt64)
}

// Newest returns about when the newest event was told, in nanoseconds since 1970; 0: no trace runs.
func Newest() uint64 {
	if !On() {
		return 0
	}
	return uint64(loaded.UnixNano() + recorder.seen.Load())
}

var loaded = time.Now()

// clock is a time in nanoseconds that only goes forward.
func clock() int64 { return int64(time.Since(loaded)) }

// Count writes the counters. It may call everything that Options.Figures calls.
func Count() { writeFigures("") }

// writeStacks writes the stacks of sites that were first seen since the last call. The table stackFrames is written
// when a trace ends; these events give the code to readers of a trace whose process was killed.
func writeStacks() {
	r := &recorder
	r.mu.Lock()
	fresh, ask := r.fresh, r.opts.Places
	r.fresh = nil
	r.mu.Unlock()
	if ask == nil || len(fresh) == 0 {
		return
	}
	stacks := make([][]Frame, len(fresh))
	for i, site := range fresh {
		stacks[i] = ask(site)
	}
	with(func(r *recording) {
		for i, site := range fresh {
			if !r.atLimit() {
				r.stack(site, stacks[i])
			}
		}
	})
}

// writeWaiting gives the file what it lacks. The timer calls it, outside of any call into the library.
func writeWaiting() {
	recorder.mu.Lock()
	guard := recorder.opts.Guard
	recorder.mu.Unlock()
	if guard == nil {
		flushWaiting()
		return
	}
	guard(flushWaiting)
}

func flushWaiting() {
	r := &recorder
	r.mu.Lock()
	r.waits = false // events from here on set the timer again
	r.mu.Unlock()
	writeStacks()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.on.Load() {
		_ = r.flush(nil) // kept by the file, and told when the trace ends
	}
}

func writeFigures(mark string) {
	recorder.mu.Lock()
	ask := recorder.opts.Figures
	recorder.mu.Unlock()
	writeStacks()
	before := clock()
	var figures []Figure
	if ask != nil {
		figures = ask()
	}
	pause := max(interval, 20*time.Duration(clock()-before)) // a program with many threads has much to sum up
	with(func(r *recording) {
		if mark != "" && !r.full() {
			r.begin(mark, "i", r.thread(0, 0))
			r.text("s", "p")
			r.text("cat", "mark")
			r.end()
		}
		for _, f := range figures {
			r.begin(f.Name, "C", 0)
			r.args()
			r.number("value", f.Value)
			r.end()
		}
		if r.atLimit() {
			pause = time.Second
		}
		r.due.Store(clock() + int64(pause))
	})
}
