package object

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/usdt"
)

// Allocations are counted down to the next one that package track records. Objects of size
// classes are counted down in their magazines, so that the fast path needs no counter of its
// own:
//
//	magazine.allocs + context.allocs_before = objects ever handed out   (mod 2^64)
//	magazine.allocs = -n: the n-th object from here is a sample
//
// The fast path counts that object, and leaves it to the slow one. What has come above
// zero, because the slow one had no memory for it, is overdue.
//
// Everything else is counted in bytes by context.sample_left. With recording off both
// are further away than any program comes.

// Never is a distance to the next sample that no program covers.
const Never = 1 << 62

func isRecording() bool {
	return atomic.LoadUint32(&process.g.Tracking)&layout.TrackingMode != layout.TrackingOff
}

// HonourTracking draws the distances to the next samples anew when recording was turned
// on or off since the last time; slow calls make it.
func (c *Context) HonourTracking() {
	now := atomic.LoadUint32(&process.g.Tracking)
	if now == c.Tracking.Seen {
		return
	}
	c.Tracking.Seen = now
	for class := range uint32(layout.ClassLarge) {
		c.arm(class)
	}
	c.drawBytes()
}

// arm draws which object of a class is the next sample.
func (c *Context) arm(class uint32) {
	m := &c.Magazines[class]
	before, allocs := uint64(0), m.Allocs+c.AllocsBefore[class]
	if isRecording() {
		ahead := recorder.NextObject(uint64(process.g.Classes[class].Size))
		before, allocs = allocs+ahead, -ahead
	}
	atomic.StoreUint64(&c.AllocsBefore[class], before|arming)
	atomic.StoreUint64(&m.Allocs, allocs)
	atomic.StoreUint64(&c.AllocsBefore[class], before)
}

// arming marks AllocsBefore while the two words that make up a count change.
const arming = 1 << 63

// drawBytes draws after how many bytes the next sample comes.
func (c *Context) drawBytes() {
	c.Tracking.Left = Never
	if isRecording() {
		c.Tracking.Left = recorder.NextBytes()
	}
}

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
	usdt.Allocate(e.Object, n)
	class, size := e.Gen&0xFF, uint64(n)
	if class == layout.ClassLarge {
		c.Magazines[class].Allocs++
		if !c.Spend(size) {
			return
		}
	} else {
		if !c.count(class) {
			return
		}
		c.arm(class)
		size = uint64(process.g.Classes[class].Size)
	}
	if isRecording() {
		recorder.Object(c, e, uint64(n), size)
	}
}

// Spend counts bytes that come from no magazine; true: they are a sample.
func (c *Context) Spend(bytes uint64) (sample bool) {
	if left := c.Tracking.Left - bytes; left <= c.Tracking.Left {
		c.Tracking.Left = left
		return false
	}
	c.drawBytes()
	return isRecording()
}

// SpendObject records a tensor that came out of a pool when it is a sample.
func (c *Context) SpendObject(e layout.Entry, bytes uint64) {
	if c.Spend(bytes) {
		recorder.Object(c, e, bytes, bytes)
	}
}

// spendForeign records a block that was registered when it is a sample.
func (c *Context) spendForeign(p, bytes uintptr) {
	if c.Spend(uint64(bytes)) {
		recorder.Foreign(c, p, uint64(bytes))
	}
}

// PendingRecords in Context.Pending has whoever leaves the slow path take the stack of the
// call, for what it has recorded; pendingUse tells that the call has failed, and that
// TL_DEBUG wants to know where it was made.
const (
	PendingRecords = 1 << iota
	pendingUse
)

// Settled is told the site of a call that is being left.
func (c *Context) Settled(site uint32) {
	if c.Tracking.Pending&pendingUse != 0 {
		c.UseSite, c.Error.MessageReady = site, c.Error.MessageReady&boolWord(c.Error.Kind == uint32(textPlain))
	}
	c.Tracking.Pending = 0
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
