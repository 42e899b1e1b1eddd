// Package mempool gives out blocks of memory that a device has granted in chunks: the
// smallest free block that is large enough, of several the one at the lowest address.
// It never touches the memory itself. What is known of a block stands in tables off
// the Go heap, on which package cshim/mempool works; this package grows the tables, obtains
// chunks and returns them, and knows what blocks wait for.
//
// cshim/mempool/mempool.h explains the structure and lists its invariants, which Check verifies.
//
//	pool.go                      handles, create, destroy
//	requests.go                  allocate and deallocate
//	ordered.go                   blocks that wait for streams
//	marks.go                     what they wait for
//	chunks.go                    growth by chunks; trim
//	tables.go                    tables, and their growth
//	give_chunks.go               what is done when memory is short
//	upkeep.go                    reset, limit, statistics
//	live.go                      the blocks that are lent
//	debug.go                     a line for each operation
//	check.go                     the invariants
//	verify_on.go, verify_off.go  when they are checked
//
// Lock order: Pool.mu, then slots.mu, then the lock in a pool's state. Under the last
// nothing is called but package cshim/mempool, and nothing is obtained; a device is asked
// under Pool.mu alone, so that others may use the pool meanwhile.
package mempool

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	core "tlruntime/cshim/mempool"
	"tlruntime/runtime/device"
	"tlruntime/runtime/handle"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const (
	purpose = "memory pools"
	// maxBytes is the largest request, and the largest chunk.
	maxBytes = layout.MempoolBytes >> 1
	// maxAlignment keeps sums of sizes and alignments far from overflowing.
	maxAlignment = 1 << 32
)

// Handle names a pool. The handle of a destroyed pool names none, for ever.
type Handle uintptr

// Error tells why a call failed.
type Error struct {
	Status status.Status
	Text   string
	Short  uint64 // bytes that were wanting; 0: the failure is of another kind
	Device int32  // of which account
	own    bool   // the pool's own limit refused
	tables bool   // it was the system, which had none for tables
}

func (e *Error) Error() string { return e.Text }

func refuse(st status.Status, format string, args ...any) *Error {
	return &Error{Status: st, Text: fmt.Sprintf(format, args...)}
}

// Pool is what Go knows of a pool beside its state.
type Pool struct {
	state   *layout.MempoolState
	handle  Handle
	device  device.Allocator
	account int32  // of package limit, which the chunks are charged to
	granule uint64 // the device's alignment
	growth  uint64 // what a new chunk has at least: the size of the first one

	blocks sync.Mutex // LockBlocks's; taken before mu

	mu      sync.Mutex                        // guards what follows, and keeps chunks and tables as they are
	limit   uint64                            // of state.Reserved; 0 = none
	chunks  memory.Array[layout.MempoolChunk] // by address; written under the lock of the state, too
	ordered ordered

	verifier verifier
}

// slots is the table of pools; it is mapped once and for ever.
var slots struct {
	mu    sync.Mutex // guards the rest, but for reading of pools
	base  uintptr
	empty []uint32        // slots that were in use
	ended map[int32]ended // by account
	pools [layout.MempoolSlots]atomic.Pointer[Pool]
}

// ended is what the destroyed pools of an account have given out; all of it came back.
type ended struct{ bytes, blocks uint64 }

// Open maps the table of pools; later calls do nothing.
func Open() status.Status {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if slots.base != 0 {
		return status.OK
	}
	base, err := memory.Map(layout.MempoolSlots*layout.MempoolStride, purpose)
	if err != nil {
		return status.OutOfMemory
	}
	slots.base = base
	slots.ended = map[int32]ended{}
	stateAt(0).Fresh = 1
	stateAt(0).Handle = 1 // as if it were slot 1's
	return status.OK
}

// Table returns where the pools stand.
func Table() uintptr { return slots.base }

func stateAt(slot uint32) *layout.MempoolState {
	return layout.At[layout.MempoolState](slots.base + uintptr(slot)*layout.MempoolStride)
}

// find returns the pool of a handle, which may end meanwhile: whoever takes the lock of
// its state looks again.
func find(h Handle) (*Pool, *Error) {
	if p := slots.pools[h%layout.MempoolSlots].Load(); p != nil && p.handle == h {
		return p, nil
	}
	return nil, unknownPool(h)
}

// LockBlocks takes a lock for what a caller does to the blocks of a pool beside calls of this package, which do not
// take it. The function that it returns unlocks it.
func LockBlocks(h Handle) (unlock func()) {
	p, err := find(h)
	if err != nil {
		return func() {}
	}
	p.blocks.Lock()
	return p.blocks.Unlock
}

func unknownPool(h Handle) *Error {
	if h == 0 {
		return refuse(status.InvalidArgument, "the pool is NULL; make one with tl_memory_pool_create")
	}
	return refuse(status.InvalidArgument, "%#x is no memory pool, or one that was destroyed", uintptr(h))
}

func lock(s *layout.MempoolState)   { layout.Lock(&s.Lock) }
func unlock(s *layout.MempoolState) { layout.Unlock(&s.Lock) }

// enter takes the lock of the pool's state; false: the pool has been destroyed.
func (p *Pool) enter() bool {
	lock(p.state)
	if p.state.Handle == uint64(p.handle) {
		return true
	}
	unlock(p.state)
	return false
}

// look is enter. What was given back is in the tables, so that they show what is free.
func (p *Pool) look() bool {
	if !p.enter() {
		return false
	}
	core.Flush(p.state)
	return true
}

// Create makes a pool over a device and obtains the first chunk, of at least that many
// bytes. account is the number of the device, or limit.Own.
func Create(d device.Allocator, account int32, bytes uintptr) (Handle, error) {
	h, err := create(d, account, bytes)
	logCall(h, err, "create over %s, %d bytes", d.Name(), bytes)
	return h, err
}

func create(d device.Allocator, account int32, bytes uintptr) (Handle, error) {
	granule := uint64(d.Alignment())
	switch {
	case granule == 0 || granule&(granule-1) != 0:
		return 0, refuse(status.InvalidArgument, "the alignment %d is no power of two", granule)
	case granule > maxAlignment:
		return 0, refuse(status.InvalidArgument, "the alignment %d is above %d", granule, uint64(maxAlignment))
	case bytes == 0:
		return 0, refuse(status.InvalidArgument, "initial_bytes is 0; TL_MEMORY_POOL_DEFAULT_BYTES is a good number")
	case bytes > maxBytes:
		return 0, refuse(status.Overflow, "%d bytes are more than any chunk can have", bytes)
	}
	if st := Open(); st != status.OK {
		return 0, refuse(st, "no memory for the table of pools")
	}
	limit.Open(account, d.Name())
	p := &Pool{device: d, account: account, granule: granule, growth: roundUp(uint64(bytes), granule),
		chunks: memory.NewArray[layout.MempoolChunk](purpose)}
	p.ordered.streams, _ = d.(device.Streams)
	slot, err := takeSlot()
	if err != nil {
		return 0, err
	}
	p.state = stateAt(slot)
	if err := p.reclaimed(p.growth, p.open); err != nil {
		giveSlot(slot)
		return 0, err
	}
	p.publish(slot)
	limit.Settle(account)
	return p.handle, nil
}

func roundUp(n, granule uint64) uint64 { return (n + granule - 1) &^ (granule - 1) }

// open makes the tables and the first chunk.
func (p *Pool) open() error {
	if !p.makeTables(uint32(bits.TrailingZeros64(p.granule))) {
		return refuseTables("no memory for the tables of a pool")
	}
	if err := p.obtain(p.growth); err != nil {
		p.dropTables()
		return err
	}
	return nil
}

func takeSlot() (uint32, error) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if n := len(slots.empty); n > 0 {
		slot := slots.empty[n-1]
		slots.empty = slots.empty[:n-1]
		return slot, nil
	}
	head := stateAt(0)
	lock(head)
	defer unlock(head)
	if head.Fresh == layout.MempoolSlots {
		return 0, refuse(status.Limit, "there are %d pools, as many as there can be", layout.MempoolSlots-1)
	}
	head.Fresh++
	return head.Fresh - 1, nil
}

func giveSlot(slot uint32) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	slots.empty = append(slots.empty, slot)
}

// publish gives the pool its handle: from here on others can find it.
func (p *Pool) publish(slot uint32) {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	p.handle = Handle(handle.New(uint64(slot)))
	slots.pools[slot].Store(p)
	lock(p.state)
	p.state.Handle = uint64(p.handle)
	for i := range uint32(layout.MempoolCaches) {
		cacheOf(p.state, i).Patience, cacheOf(p.state, i).Waits = 0, 0 // an earlier pool's
	}
	unlock(p.state)
}

// with runs body with the pool's mutex, which keeps it alive. The state is not locked.
func with(h Handle, body func(*Pool) error) error {
	p, err := find(h)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.enter() {
		return unknownPool(h)
	}
	unlock(p.state)
	return body(p)
}

// Destroy ends a pool and returns its chunks. A pool with live blocks stays as it is:
// status.Busy.
func Destroy(h Handle) error {
	err := destroy(h)
	logCall(h, err, "destroy")
	return err
}

func destroy(h Handle) error {
	if h == 0 {
		return nil
	}
	p, err := find(h)
	if err != nil {
		return err
	}
	limit.Read(p.account) // a peak that only this pool knows of stays
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.withdraw(); err != nil {
		return err
	}
	failed := p.endOrder()
	if err := p.returnChunks(); err != nil {
		failed = err
	}
	p.dropTables()
	giveSlot(uint32(h % layout.MempoolSlots))
	return failed
}

// withdraw makes the handle invalid, unless blocks are live, and notes what the pool has
// given out: whoever sums up under slots.mu finds either the pool or the note.
func (p *Pool) withdraw() error {
	slots.mu.Lock()
	defer slots.mu.Unlock()
	if !p.look() {
		return unknownPool(p.handle)
	}
	defer unlock(p.state)
	if live := p.state.Allocations - p.state.Deallocations; live != 0 {
		return refuse(status.Busy, "blocks are live: %d, of %d bytes in all; release them or reset the pool first", live,
			p.state.TotalAllocated-p.state.TotalFreed)
	}
	p.state.Handle = 0
	slots.pools[p.handle%layout.MempoolSlots].Store(nil)
	sum := slots.ended[p.account]
	slots.ended[p.account] = ended{sum.bytes + p.state.TotalAllocated, sum.blocks + p.state.Allocations}
	return nil
}
