package limit

import (
	"time"
)

// Stage is a kind of cache. Reclaim goes through them in this order.
type Stage int

// The stages: what costs least to have again comes first.
const (
	LIFOCaches  Stage = iota // logs of memory pools, magazines
	KeptTensors              // the tensor pool, and caches of devices
	EmptyChunks              // of memory pools, and idle memory of the heap
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

// Reclaimer frees at least the bytes that are needed, if it has as much, and returns
// how many. Asked again it frees more; 0 means that nothing is left.
type Reclaimer func(Need) uint64

var reclaimers [stages][]Reclaimer

// Register adds a reliever to a stage. For init functions.
func Register(s Stage, r Reclaimer) { reclaimers[s] = append(reclaimers[s], r) }

// Reclaim is the attempt to make room for one request:
//
//	for r := limit.NewReclaim(device, n); r.Step(); {
//		if try() { return }
//	}
//
// Each step frees a little more, so that no more goes than is needed.
type Reclaim struct {
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

// NewReclaim begins to make room for n bytes of a device. It holds no memory, and is
// dropped when the request has succeeded. A request that no cache can help, because it
// is larger than a limit, empties none.
func NewReclaim(device int32, n uint64) Reclaim {
	r := Reclaim{device: device, bytes: n}
	if n > orNone(at(device).hard()) || n > orNone(at(Total).hard()) || n > hopeless {
		r.stage = stages
	}
	return r
}

// Of tells which of the program's own allocators has refused; one cannot help another.
func (r Reclaim) Of(from any) Reclaim {
	if r.device == Own {
		r.from = from
	}
	return r
}

// hopeless is more than any machine has.
const hopeless = 1 << 47

func newReclaim(device int32, n uint64) Reclaim {
	return Reclaim{device: device, bytes: n, silent: true}
}

// Step gives something up and returns true, or false when nothing is left.
func (r *Reclaim) Step() bool {
	if !r.begun && !r.silent {
		at(r.device).reclaimed.Add(1)
		at(Total).reclaimed.Add(1)
		pressure("memory is short", r.device, r.bytes)
	}
	r.begun = true
	for ; r.stage < stages; r.stage, r.member = r.stage+1, 0 {
		for ; r.member < len(reclaimers[r.stage]); r.member, r.asked = r.member+1, 0 {
			if r.asked < maxAsks && r.ask(reclaimers[r.stage][r.member]) {
				return true
			}
		}
	}
	if !r.silent {
		at(r.device).failed.Add(1)
		at(Total).failed.Add(1)
		pressure("nothing left to give", r.device, r.bytes)
	}
	return false
}

func (r *Reclaim) ask(from Reclaimer) bool {
	need := r.need()
	need.Bytes = max(need.Bytes, 1) << min(r.asked, 20)
	r.asked++
	return from(need) > 0
}

// need is what is missing: below a limit that the request passes, else of the device,
// which has refused the request.
func (r *Reclaim) need() Need {
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
	limit := orNone(a.hard())
	if n == 0 {
		limit = min(limit, orNone(a.soft.Load()))
	}
	used := a.used()
	if room := limit - min(limit, used); n <= room && used <= limit {
		return 0
	}
	return used + n - min(limit, used+n)
}

// quietTime is how long a soft limit asks for nothing after it has: a program that lives
// above it is not to purge at every allocation.
const quietTime = 100 * time.Millisecond

var started = time.Now()

// Settle does, after a charge, what a lock forbade in it: it relieves memory above a soft limit.
func Settle(device int32) {
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
	a.reclaimed.Add(1)
	pressure("above the soft limit", device, a.used())
	for r := newReclaim(device, 0); a.above(soft) && r.Step(); {
	}
}
