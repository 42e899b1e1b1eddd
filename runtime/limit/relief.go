package limit

import (
	"time"

	"tlruntime/runtime/observe/trace"
)

// Stage is a kind of cache. Relief goes through them in this order.
type Stage int

// The stages: what costs least to have again comes first.
const (
	FrontCaches Stage = iota // logs of memory pools, magazines
	TensorPool
	EmptyChunks // of memory pools, and idle memory of the heap
	stages
)

// Need is what a stage is asked for.
type Need struct {
	Device int32 // whose memory; Total: that of any
	Bytes  uint64
	From   any // of Own: the allocator that has refused; nil: any would help
}

// Covers tells whether memory of a device would help.
func (n Need) Covers(device int32) bool { return n.Device == Total || n.Device == device }

// Reliever gives up at least the bytes that are needed, if it has as much, and returns
// how many. Asked again it gives up more; 0 means that nothing is left.
type Reliever func(Need) uint64

var relievers [stages][]Reliever

// Register adds a reliever to a stage. For init functions.
func Register(s Stage, r Reliever) { relievers[s] = append(relievers[s], r) }

var onBrink []func()

// OnBrink adds what is to happen when an account comes near its limit. For init
// functions.
func OnBrink(f func()) { onBrink = append(onBrink, f) }

// Relief is the attempt to make room for one request:
//
//	for r := limit.NewRelief(device, n); r.Step(); {
//		if try() { return }
//	}
//
// Each step gives up a little more, so that no more goes than is needed.
type Relief struct {
	device int32
	bytes  uint64
	stage  Stage
	member int // of the stage
	asked  uint
	begun  bool
	silent bool // not counted
	from   any
}

// maxAsks ends the patience with a cache that others fill as fast as it empties; each
// time it is asked for twice as much.
const maxAsks = 40

// NewRelief begins to make room for n bytes of a device. It holds no memory, and is
// dropped when the request has succeeded. A request that no cache can help, because it
// is larger than a limit, empties none.
func NewRelief(device int32, n uint64) Relief {
	r := Relief{device: device, bytes: n}
	if n > orNone(at(device).hard.Load()) || n > orNone(at(Total).hard.Load()) || n > hopeless {
		r.stage = stages
	}
	return r
}

// Of tells which of the program's own allocators has refused; one cannot help another.
func (r Relief) Of(from any) Relief {
	if r.device == Own {
		r.from = from
	}
	return r
}

// hopeless is more than any machine has.
const hopeless = 1 << 47

func newRelief(device int32, n uint64) Relief { return Relief{device: device, bytes: n, silent: true} }

// Step gives something up and returns true, or false when nothing is left.
func (r *Relief) Step() bool {
	if !r.begun && !r.silent {
		at(r.device).relieved.Add(1)
		at(Total).relieved.Add(1)
		trace.Pressure("memory is short", r.device, r.bytes)
	}
	r.begun = true
	for ; r.stage < stages; r.stage, r.member = r.stage+1, 0 {
		for ; r.member < len(relievers[r.stage]); r.member, r.asked = r.member+1, 0 {
			if r.asked < maxAsks && r.ask(relievers[r.stage][r.member]) {
				return true
			}
		}
	}
	if !r.silent {
		at(r.device).failed.Add(1)
		at(Total).failed.Add(1)
		trace.Pressure("nothing left to give", r.device, r.bytes)
	}
	return false
}

func (r *Relief) ask(from Reliever) bool {
	need := r.need()
	need.Bytes = max(need.Bytes, 1) << min(r.asked, 20)
	r.asked++
	return from(need) > 0
}

// need is what is missing: below a limit that the request passes, else of the device,
// which has refused the request.
func (r *Relief) need() Need {
	if short := at(r.device).short(r.bytes); short > 0 {
		return Need{Device: r.device, Bytes: short}
	}
	if short := at(Total).short(r.bytes); short > 0 {
		return Need{Device: Total, Bytes: short}
	}
	return Need{r.device, r.bytes, r.from}
}

// short is by how much n bytes more would pass the account's limit: the hard one for a
// request, the soft one when there is none.
func (a *account) short(n uint64) uint64 {
	limit := orNone(a.hard.Load())
	if n == 0 {
		limit = min(limit, orNone(a.soft.Load()))
	}
	used := a.used.Load()
	if room := limit - min(limit, used); n <= room && used <= limit {
		return 0
	}
	return used + n - min(limit, used+n)
}

// quietTime is how long a soft limit asks for nothing after it has: a program that lives
// above it is not to purge at every allocation.
const quietTime = 100 * time.Millisecond

var started = time.Now()

// Settle does, after a charge, what a lock forbade in it: it tells caches of a brink
// that was passed and relieves memory above a soft limit.
func Settle(device int32) {
	if crossed.Load() && crossed.Swap(false) {
		for _, f := range onBrink {
			f()
		}
	}
	at(device).soften(device)
	at(Total).soften(Total)
}

func (a *account) soften(device int32) {
	soft := a.soft.Load()
	if soft == 0 || !a.above(soft) {
		return
	}
	now, quiet := int64(time.Since(started))+1, a.quiet.Load()
	if now < quiet || !a.quiet.CompareAndSwap(quiet, now+int64(quietTime)) {
		return
	}
	a.relieved.Add(1)
	trace.Pressure("above the soft limit", device, a.used.Load())
	for r := newRelief(device, 0); a.above(soft) && r.Step(); {
	}
}
