package object

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// Recording of allocations, for package track. Objects of size classes are counted down
// in their magazines, so that the fast path needs no counter of its own:
//
//	magazine.allocs + context.allocs_before = objects ever handed out   (mod 2^64)
//	magazine.allocs = -n: the n-th object from here is a sample
//
// The fast path counts that object, and leaves it to the slow one. What has come above
// zero, because the slow one had no memory for it, is overdue.
//
// Everything else is counted in bytes by context.sample_left. With recording off both
// are further away than any program comes.

// SetTracking records allocations from now on: one in so many bytes; 1 all, 0 none.
// Other contexts follow at their next slow call. While a trace runs all are recorded.
func SetTracking(period uint64) status.Status {
	process.recording.Lock()
	defer process.recording.Unlock()
	return setRecording(period, process.tracing)
}

// TrackingPeriod returns what SetTracking has set.
func TrackingPeriod() uint64 { return process.period.Load() }

// setRecording does what both options say together. process.recording is held.
func setRecording(wanted uint64, tracing bool) status.Status {
	period := wanted
	if tracing {
		period = 1
	}
	if period != 0 {
		if st := track.Open(process.heap.RecordLimit()); st != status.OK {
			return st
		}
		track.Lapse(isCurrent)
	}
	mode := uint32(layout.TrackingSample)
	switch period {
	case 0:
		mode = layout.TrackingOff
		track.ForgetBlocks()
	case 1:
		mode = layout.TrackingAll
	}
	if tracing {
		mode = layout.TrackingTrace
	}
	track.SetPeriod(period)
	process.period.Store(wanted)
	process.tracing = tracing
	g := process.g
	atomic.StoreUint32(&g.Tracking, (atomic.LoadUint32(&g.Tracking)+layout.TrackingOne)&^layout.TrackingMode|mode)
	return status.OK
}

// HonourTracking draws the distances to the next samples anew when recording was turned
// on or off since the last time; slow calls make it.
func (c *Context) HonourTracking() {
	now := atomic.LoadUint32(&process.g.Tracking)
	if now == c.TrackingSeen {
		return
	}
	c.TrackingSeen = now
	for class := range uint32(layout.ClassLarge) {
		c.arm(class)
	}
	c.SampleLeft = track.NextBytes()
}

// arm draws which object of a class is the next sample.
func (c *Context) arm(class uint32) {
	m := &c.Magazines[class]
	before, allocs := uint64(0), m.Allocs+c.AllocsBefore[class]
	if track.Period() != 0 {
		ahead := track.NextObject(uint64(process.g.Classes[class].Size))
		before, allocs = allocs+ahead, -ahead
	}
	atomic.StoreUint64(&c.AllocsBefore[class], before|arming)
	atomic.StoreUint64(&m.Allocs, allocs)
	atomic.StoreUint64(&c.AllocsBefore[class], before)
}

// arming marks AllocsBefore while the two words that make up a count change.
const arming = 1 << 63

// count counts an object of a size class that the slow path hands out; true: it is a
// sample.
func (c *Context) count(class uint32) (sample bool) {
	m := &c.Magazines[class]
	armed := c.AllocsBefore[class] != 0
	if !armed || m.Allocs != 0 {
		m.Allocs++
	}
	return armed && int64(m.Allocs) >= 0
}

// allocated returns how many objects of a class a context has handed out. Any thread
// may ask: it looks again while the context's own changes the two words.
func (c *Context) allocated(class uint32) uint64 {
	for {
		before := layout.Peek(&c.AllocsBefore[class])
		allocs := layout.Peek(&c.Magazines[class].Allocs)
		if before&arming == 0 && layout.Peek(&c.AllocsBefore[class]) == before {
			return allocs + before
		}
		runtime.Gosched()
	}
}

// handedOut counts the object of n bytes at e, and records it when it is a sample.
func (c *Context) handedOut(e layout.Entry, n uintptr) {
	class, size := e.Gen&0xFF, uint64(n)
	if class == layout.ClassLarge {
		c.Magazines[class].Allocs++
		if track.Period() == 0 || !track.Draw(size) {
			return
		}
	} else {
		if !c.count(class) {
			return
		}
		c.arm(class)
		size = uint64(process.g.Classes[class].Size)
	}
	if track.Period() != 0 {
		c.record(track.OfObject(e), e.Object, uint64(n), track.Weight(size))
	}
}

// record notes an allocation; whoever leaves the slow path adds the stack.
func (c *Context) record(ref track.Ref, p uintptr, bytes uint64, weight float32) {
	c.Sampled = p
	track.Record(c.address(), ref, uint64(p), bytes, weight, c.Tag())
	if process.cfg.Settles {
		c.Pending |= pendingSome
	} else {
		track.Settle(c.address(), goStack(), 0)
	}
}

// Bits of Context.Pending.
const (
	pendingSome = 1 << iota // recordings lack their stack
	pendingUse              // the call has failed, and TL_DEBUG wants to know where it was made
)

// Settle gives what the call has recorded its stack.
func (c *Context) Settle(stack []uintptr, thread uint32) {
	site := track.Settle(c.address(), stack, thread)
	if c.Pending&pendingUse != 0 {
		c.UseSite, c.MessageReady = site, c.MessageReady&boolWord(c.ErrorKind == uint32(textPlain))
	}
	c.Pending = 0
	if process.debug != nil {
		process.debug.Report(c, site)
	}
}

func boolWord(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// spend counts bytes that come from no magazine; true: they are a sample.
func (c *Context) spend(bytes uint64) bool {
	if left := c.SampleLeft - bytes; left <= c.SampleLeft {
		c.SampleLeft = left
		return false
	}
	c.SampleLeft = track.NextBytes()
	return track.Period() != 0
}

// SpendObject records a tensor that came out of a pool when it is a sample.
func (c *Context) SpendObject(e layout.Entry, bytes uint64) {
	if c.spend(bytes) {
		c.record(track.OfObject(e), e.Object, bytes, track.Weight(bytes))
	}
}

// spendForeign records a block that was registered when it is a sample.
func (c *Context) spendForeign(p, bytes uintptr) {
	if c.spend(uint64(bytes)) {
		c.sampledForeign(p, uint64(bytes))
	}
}

func (c *Context) sampledForeign(p uintptr, bytes uint64) {
	if info, known := process.registry.Info(p); known {
		c.record(track.OfForeign(process.registry, info), p, bytes, track.Weight(bytes))
	}
}

// SpendBlock records a block of a memory pool when it is a sample.
func (c *Context) SpendBlock(address, bytes uintptr) {
	if address != 0 && c.spend(uint64(bytes)) {
		c.sampledBlock(address, uint64(bytes))
	}
}

func (c *Context) sampledBlock(address uintptr, bytes uint64) {
	c.record(track.Ref{Kind: track.Block, Key: uint64(address)}, address, bytes, track.Weight(bytes))
}

// RecordSample records what the fast path has just made and found to be a sample.
func (c *Context) RecordSample(kind track.Kind, p uintptr, bytes uint64) {
	c.SampleLeft = track.NextBytes()
	if track.Period() == 0 {
		return
	}
	switch kind {
	case track.Object:
		if at := process.heap.Find(p); at.Start == p {
			c.record(track.Ref{Kind: track.Object, Key: uint64(at.Record), Gen: at.Gen}, p, bytes, track.Weight(bytes))
		}
	case track.Foreign:
		c.sampledForeign(p, bytes)
	default:
		c.sampledBlock(p, bytes)
	}
}

// RefOf names the allocation that p is the start of; false: there is none that package
// track could know.
func RefOf(p uintptr) (track.Ref, bool) {
	if process.heap.Contains(p) {
		at := process.heap.Find(p)
		return track.Ref{Kind: track.Object, Key: uint64(at.Record), Gen: at.Gen}, at.Start == p
	}
	if info, known := process.registry.Info(p); known {
		return track.OfForeign(process.registry, info), true
	}
	return track.Ref{Kind: track.Block, Key: uint64(p)}, p != 0
}

// isCurrent tells whether what package track knows of a registered block holds still.
func isCurrent(key uint64, gen uint32) bool {
	if key&track.BufferKey != 0 {
		return process.registry.HasBuffer(key &^ track.BufferKey)
	}
	info, known := process.registry.Info(uintptr(key))
	return known && info.Gen == gen
}

// NameSite notes the line at which p was allocated, if that was recorded.
func NameSite(p uintptr, file string, line uint32) {
	if ref, ok := RefOf(p); ok {
		track.Name(ref, uint64(p), file, line)
	}
}
