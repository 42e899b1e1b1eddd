package heap

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// States of a span's meta. The first and the last span of a free run carry the
// run's length; inner spans keep whatever they had.
const (
	spanNever = iota // beyond every run so far
	spanFree
	spanSlab
	spanLarge
)

// spanMeta is the Go side's knowledge of a span. Of a slab and of a large
// object only the first span's is used.
type spanMeta struct {
	bytes      uint64 // large: as asked for
	run        uint32 // spans of the slab, object or free run
	next, prev uint32 // lists of partial slabs and of free runs, by span number
	record     uint32 // first record of the slab's block
	freeHead   uint16 // 1 + slot of the first free one, 0 = none; next in its record's loc
	freeCount  uint16 // slots on that list
	fresh      uint16 // slots from here on were never handed out
	state      uint8
	class      uint8
	dirty      bool   // free: pages may be resident
	retired    uint16 // slots below fresh that are never handed out
	epoch      uint32 // free: purge clock when it was freed
}

// used returns how many slots of a slab are out.
func (m *spanMeta) used() uint16 { return m.fresh - m.freeCount - m.retired }

// isFull tells that a slab has no slot to hand out.
func (m *spanMeta) isFull(info *layout.ClassInfo) bool {
	return m.freeHead == 0 && uint32(m.fresh) == info.Slots
}

const (
	metaBytes  = unsafe.Sizeof(spanMeta{})
	commitStep = 2 << 20
	exactBins  = 64
	bins       = exactBins + 20
)

// spanTable hands out runs of spans. free + used + never = all spans; two free
// runs are never adjacent.
type spanTable struct {
	words, metas uintptr
	asked        uintptr // behind the metas: bits of the huge pages that were asked for
	base         uintptr
	total        uint32

	mu        sync.Mutex // guards all below, the metas of free runs, and the bits of huge pages
	never     uint32     // spans from here on were never used; also read without the lock
	committed uint32     // spans usable without a system call
	bins      [bins]uint32
	dirty     uint64 // bytes of free runs that may be resident
	clock     uint32 // advanced by each purge tick
	ticking   bool
	h         *Heap
}

// Idle memory above keepDirty goes back to the system purgeDelay after it was
// freed: long enough that a steady program never meets a purge.
const (
	keepDirty  = 16 << 20
	purgeDelay = 200 * time.Millisecond
)

func (t *spanTable) open(h *Heap, base uintptr, total uint32) bool {
	words, err := memory.Map(uintptr(total)*8, "span words")
	if err != nil {
		return false
	}
	metas, err := memory.Map(metasBytes(total), "span metas")
	if err != nil {
		memory.Unmap(words, uintptr(total)*8, "span words")
		return false
	}
	t.words, t.metas, t.base, t.total, t.h = words, metas, base, total, h
	t.asked = metas + uintptr(total)*metaBytes
	t.clock = 2 // so that "two ticks ago" exists
	t.never = 8 // span 0 is "none" in lists; the first slab's worth of spans stays unused
	t.committed = t.never
	return true
}

func (t *spanTable) close() {
	memory.Unmap(t.metas, metasBytes(t.total), "span metas")
	memory.Unmap(t.words, uintptr(t.total)*8, "span words")
}

func metasBytes(spans uint32) uintptr { return uintptr(spans)*metaBytes + askedBytes(spans) }

func (t *spanTable) number(addr uintptr) uint32 { return uint32((addr - t.base) >> layout.SpanShift) }

func (t *spanTable) address(span uint32) uintptr {
	return t.base + uintptr(span)<<layout.SpanShift
}

func (t *spanTable) meta(span uint32) *spanMeta {
	return layout.At[spanMeta](t.metas + uintptr(span)*metaBytes)
}

func (t *spanTable) word(span uint32) uint64 {
	return atomic.LoadUint64(layout.At[uint64](t.words + uintptr(span)*8))
}

func (t *spanTable) setWord(span uint32, w uint64) {
	atomic.StoreUint64(layout.At[uint64](t.words+uintptr(span)*8), w)
}

// link and unlink keep a doubly linked list of spans; 0 ends it.
func (t *spanTable) link(head *uint32, span uint32) {
	m := t.meta(span)
	m.next, m.prev = *head, 0
	if *head != 0 {
		t.meta(*head).prev = span
	}
	*head = span
}

func (t *spanTable) unlink(head *uint32, span uint32) {
	m := t.meta(span)
	if m.prev != 0 {
		t.meta(m.prev).next = m.next
	} else {
		*head = m.next
	}
	if m.next != 0 {
		t.meta(m.next).prev = m.prev
	}
	m.next, m.prev = 0, 0
}

// bin returns the list for free runs of n spans: exact up to 64, by power of two above.
func bin(n uint32) int {
	if n <= exactBins {
		return int(n) - 1
	}
	return min(exactBins+bits.Len32(n-1)-7, bins-1)
}

// take returns a run of n spans aligned to align spans; zero tells that it reads as
// zero. The spans in use are charged to the CPU's account.
func (t *spanTable) take(n, align uint32) (first uint32, zero bool, st status.Status) {
	bytes := uint64(n) << layout.SpanShift
	if st := limit.Charge(limit.CPU, bytes); st != status.OK {
		return 0, false, st
	}
	first, zero, ok := t.takeRun(n, align)
	if !ok {
		limit.Credit(limit.CPU, bytes)
		return 0, false, status.OutOfMemory
	}
	return first, zero, status.OK
}

func (t *spanTable) takeRun(n, align uint32) (first uint32, zero, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for b := bin(n); b < bins; b++ {
		for run := t.bins[b]; run != 0; run = t.meta(run).next {
			start := (run + align - 1) &^ (align - 1)
			if m := t.meta(run); start+n <= run+m.run {
				dirty := m.dirty
				t.carve(run, start, n)
				return start, !dirty, true
			}
		}
	}
	return t.extend(n, align)
}

// use writes the meta of a run that was taken: whoever gives back a neighbour looks at it.
func (t *spanTable) use(first uint32, m spanMeta) {
	t.mu.Lock()
	*t.meta(first) = m
	t.mu.Unlock()
}

// carve takes [start, start+n) out of the free run.
func (t *spanTable) carve(run, start, n uint32) {
	m := *t.meta(run)
	t.removeRun(run)
	if start > run {
		t.addRun(run, start-run, m.dirty, m.epoch)
	}
	if end := run + m.run; start+n < end {
		t.addRun(start+n, end-start-n, m.dirty, m.epoch)
	}
}

// extend takes spans that were never used, and the free run before them, committing as
// needed.
func (t *spanTable) extend(n, align uint32) (first uint32, zero, ok bool) {
	from, last := t.never, spanMeta{}
	if m := t.meta(t.never - 1); t.never > 8 && m.state == spanFree {
		from -= m.run
		last = *t.meta(from)
	}
	start := (from + align - 1) &^ (align - 1)
	if n > t.total || start > t.total-n {
		return 0, false, false
	}
	if end := start + n; end > t.committed {
		to := min((end+commitStep>>layout.SpanShift-1)&^(commitStep>>layout.SpanShift-1), t.total)
		if memory.Commit(t.address(t.committed), uintptr(to-t.committed)<<layout.SpanShift) != nil {
			return 0, false, false
		}
		t.committed = to
	}
	if from < t.never {
		t.removeRun(from)
	}
	if start > from {
		t.addRun(from, start-from, last.dirty, last.epoch)
	}
	zero = !last.dirty || start >= t.never
	atomic.StoreUint32(&t.never, start+n)
	return start, zero, true
}

// give returns a run; its pages are resident until a purge takes them.
func (t *spanTable) give(first, n uint32) {
	limit.Credit(limit.CPU, uint64(n)<<layout.SpanShift)
	for i := range n {
		t.setWord(first+i, 0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	dirty := true
	epoch := t.clock
	t.meta(first).state = spanNever
	if m := t.meta(first - 1); first > 8 && m.state == spanFree {
		left := first - m.run
		first, n, dirty = left, n+m.run, true
		t.removeRun(left)
	}
	if m := t.meta(first + n); first+n < t.never && m.state == spanFree {
		length := m.run
		t.removeRun(first + n)
		n += length
	}
	t.addRun(first, n, dirty, epoch)
	if t.dirty > keepDirty {
		t.startTicking()
	}
}

func (t *spanTable) addRun(first, n uint32, dirty bool, epoch uint32) {
	*t.meta(first) = spanMeta{state: spanFree, run: n, dirty: dirty, epoch: epoch}
	if n > 1 {
		*t.meta(first + n - 1) = spanMeta{state: spanFree, run: n}
	}
	t.link(&t.bins[bin(n)], first)
	if dirty {
		t.dirty += uint64(n) << layout.SpanShift
	}
}

func (t *spanTable) removeRun(first uint32) {
	m := t.meta(first)
	n := m.run
	t.unlink(&t.bins[bin(n)], first)
	if m.dirty {
		t.dirty -= uint64(n) << layout.SpanShift
	}
	t.meta(first + n - 1).state = spanNever
	m.state = spanNever
}
