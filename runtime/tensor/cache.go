package tensor

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// caches keep dead tensors for the next request of the same elements and type, the newest first. That of a device
// keeps what dies there, each with its block. That of the CPU is the tensor pool (pool.go): it keeps what PoolRelease
// was given. All are Go's alone, and have the limits of the pool: so many tensors of a key, so many bytes of a device.
//
//	count == puts - hits - evicted == sum of len(stack.entries)
//	used == sum of the kept tensors' bytes, heap == sum of their slots
var caches [device.MaxDevices]cache

// firstChunk is what a device's default memory pool asks for at first, and leastChunk
// what it is content with.
const (
	firstChunk = 256 << 20
	leastChunk = 1 << 20
)

type cache struct {
	opening sync.Mutex // held while the memory pool is made
	pool    atomic.Uintptr

	mu            sync.Mutex // guards the rest
	stacks        map[key]*stack
	ring          []*stack // all stacks, in the order in which they came
	hand          int      // of the clock
	crowd         int      // as many stacks have those without tensors removed
	used, heap    uint64
	puts, evicted uint64
	hits, misses  uint64
	hitBytes      uint64 // of all hits, as in used
	hitHeap       uint64 // as in heap
}

// key identifies the tensors that may stand for each other.
type key struct {
	elements uint64
	dtype    ElementType
	device   uint8
}

// stack are the kept tensors of a key, the newest last.
type stack struct {
	key        key
	referenced bool // it had a hit since the clock hand came by
	entries    []keptTensor
}

type keptTensor struct {
	layout.Entry
	bytes uint64 // of the block; on the CPU of the slot
	heap  uint64 // of the slot
}

func cacheOf(number uint8) *cache { return &caches[number] }

// handle returns the device's memory pool, 0 before the first use.
func (s *cache) handle() mempool.Handle { return mempool.Handle(s.pool.Load()) }

// open returns the device's memory pool and makes it the first time.
func (s *cache) open(d device.Device, number int32) (mempool.Handle, error) {
	if h := s.handle(); h != 0 {
		return h, nil
	}
	s.opening.Lock()
	defer s.opening.Unlock()
	if h := s.handle(); h != 0 {
		return h, nil
	}
	bytes := uint64(firstChunk)
	if free, total, err := d.Memory(); err == nil && total != 0 {
		bytes = max(min(bytes, free), leastChunk)
	}
	for {
		h, err := mempool.Create(d, number, uintptr(bytes))
		if err == nil {
			s.pool.Store(uintptr(h))
			return h, nil
		}
		if !isPressure(err) || bytes/2 < leastChunk {
			return 0, err
		}
		bytes /= 2
	}
}

func isPressure(err error) bool {
	st := statusOf(err)
	return st == status.OutOfMemory || st == status.Limit
}

func statusOf(err error) status.Status {
	var e *mempool.Error
	if errors.As(err, &e) {
		return e.Status
	}
	return device.StatusOf(err)
}

// DefaultPool returns the memory pool that tensors of a device are in.
func DefaultPool(number int32) (mempool.Handle, error) {
	d, err := Devices.Set().At(number)
	if err != nil {
		return 0, err
	}
	return cacheOf(uint8(number)).open(d, number)
}

// Allocate returns a block of a device's default pool.
func Allocate(number uint8, take func(mempool.Handle) (uintptr, error)) (uintptr, error) {
	h, err := DefaultPool(int32(number))
	if err != nil {
		return 0, err
	}
	return take(h)
}

// take returns the newest kept tensor of a key; Object 0 is a miss.
func (s *cache) take(k key) (e keptTensor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.stacks[k]
	if of == nil || len(of.entries) == 0 {
		s.misses++
		usdt.PoolMiss(k.elements, uint8(k.dtype))
		log(k, e.Entry, "miss")
		return e
	}
	of.referenced = true
	e = s.pop(of)
	s.hits++
	s.hitBytes += e.bytes
	s.hitHeap += e.heap
	log(k, e.Entry, "hit")
	return e
}

func (s *cache) pop(of *stack) keptTensor {
	last := len(of.entries) - 1
	e := of.entries[last]
	of.entries = of.entries[:last]
	s.used -= e.bytes
	s.heap -= e.heap
	return e
}

// stack returns that of a key, new if need be.
func (s *cache) stack(k key) *stack {
	of := s.stacks[k]
	if of == nil {
		s.dropEmpty()
		of = &stack{key: k}
		if s.stacks == nil {
			s.stacks = map[key]*stack{}
		}
		s.stacks[k] = of
		s.ring = append(s.ring, of)
	}
	return of
}

// dropEmpty removes the stacks without tensors when there are twice as many stacks as were left the last time.
func (s *cache) dropEmpty() {
	if len(s.ring) < max(s.crowd, leastCrowd) {
		return
	}
	s.ring = slices.DeleteFunc(s.ring, func(of *stack) bool {
		empty := len(of.entries) == 0
		if empty {
			delete(s.stacks, of.key)
		}
		return empty
	})
	s.crowd = 2 * len(s.ring)
}

const leastCrowd = 64

// keepOn puts a tensor of a device to rest with its block. What its header says is looked
// at again: it lies in a program's reach.
func keepOn(r *layout.Record, e layout.Entry, b block) bool {
	h := header(e.Object)
	size := ElementType(h.Dtype).Size()
	if h.Flags != layout.TensorContiguous|layout.TensorOnDevice || h.Device != b.device || size == 0 ||
		h.Numel > uint64(b.bytes)/size || b.address == 0 || b.own || len(b.streams) > 0 {
		return false
	}
	return cacheOf(b.device).keep(r, e, b.room)
}

// keep puts a dead tensor of so many bytes to rest, under the next generation, with its type and its header as they
// were. A stale pointer is TL_E_NOT_LIVE, and a stale scope entry has another generation. False: it was not taken, and
// is to be taken apart.
func (s *cache) keep(r *layout.Record, e layout.Entry, bytes uint64) bool {
	h := header(e.Object)
	k := key{h.Numel, ElementType(h.Dtype), h.Device}
	_, left := layout.NextGen(e.Gen)
	if !left || bytes > limits.bytes.Load() || limit.Near(int32(k.device)) || !s.push(r, e, k, bytes) {
		log(k, e, "no room")
		return false
	}
	log(k, e, "kept")
	return true
}

// push is keep where nothing but the limits is against it.
func (s *cache) push(r *layout.Record, e layout.Entry, k key, bytes uint64) bool {
	fits := func() bool { return s.used+bytes <= limits.bytes.Load() }
	s.evict(func(s *cache) []keptTensor { return s.cold(fits) })
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.stack(k)
	if uint64(len(of.entries)) >= limits.perKey.Load() || !fits() {
		return false
	}
	if !atomic.CompareAndSwapUint32(&r.Sh, layout.ShAlive|layout.ShMerged, 0) {
		return true // somebody who had no reference was faster; it dies once
	}
	e.Gen, _ = layout.NextGen(e.Gen)
	atomic.StoreUint32(&r.Loc, 0)
	atomic.StoreUint32(&r.Gen, e.Gen)
	rests := keptTensor{e, bytes, object.Heap().Size(e.Object)}
	of.entries = append(of.entries, rests)
	s.used += rests.bytes
	s.heap += rests.heap
	s.puts++
	return true
}

// cold takes off tensors of keys until it is enough: of those without a hit since the clock hand came by, and of the
// others when it comes by again (the clock algorithm; Corbató 1968).
func (s *cache) cold(enough func() bool) (out []keptTensor) {
	for range 2 * len(s.ring) {
		if enough() {
			break
		}
		of := s.ring[s.hand%len(s.ring)]
		s.hand++
		if of.referenced {
			of.referenced = false
			continue
		}
		for len(of.entries) > 0 && !enough() {
			out = append(out, s.pop(of))
		}
	}
	return out
}

// excess takes off what is above the limits.
func (s *cache) excess() (out []keptTensor) {
	perKey, bytes := limits.perKey.Load(), limits.bytes.Load()
	for _, of := range s.ring {
		for uint64(len(of.entries)) > perKey {
			out = append(out, s.pop(of))
		}
	}
	return append(out, s.cold(func() bool { return s.used <= bytes })...)
}

// everything takes all tensors out of a cache, and the keys.
func (s *cache) everything() (out []keptTensor) {
	for _, of := range s.ring {
		for len(of.entries) > 0 {
			out = append(out, s.pop(of))
		}
	}
	s.stacks, s.ring, s.hand = nil, nil, 0
	return out
}

// evict frees the tensors that choose takes out of the cache, blocks and headers, and tells
// how many bytes their blocks were, and which one could not be given back.
func (s *cache) evict(choose func(*cache) []keptTensor) (freed uint64, failed error) {
	s.mu.Lock()
	out := choose(s)
	s.evicted += uint64(len(out))
	s.mu.Unlock()
	for _, e := range out {
		freed += e.bytes
		if b, found := blocks.remove(e.Object); found {
			if err := b.giveBack(); err != nil {
				failed = err
			}
		}
		object.Discard(e.Entry)
	}
	return freed, failed
}

// PurgeDevice evicts the tensors that are kept on a device, and has its memory pool
// return idle chunks.
func PurgeDevice(c *object.Context, number int32) {
	s := &caches[number]
	_, err := s.evict((*cache).everything)
	failed(c, err)
	if h := s.handle(); h != 0 {
		failed(c, mempool.Trim(h))
	}
}

// Purge empties all caches.
func Purge(c *object.Context) {
	for i := range caches {
		PurgeDevice(c, int32(i))
	}
}

// eachCache visits that of the CPU, and those of devices that have a memory pool, as far as a need covers them.
func eachCache(need limit.Need, visit func(number int, s *cache)) {
	for i := range caches {
		if s := &caches[i]; (i == CPU || s.handle() != 0) && need.Covers(int32(i)) {
			visit(i, s)
		}
	}
}

// kept returns how many tensors the cache keeps; its caller holds mu.
func (s *cache) kept() uint64 { return s.puts - s.hits - s.evicted }

// keys appends what the cache keeps, by key.
func (s *cache) keys(to []PoolKeyStats) []PoolKeyStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.ring {
		k := PoolKeyStats{of.key.elements, uint64(len(of.entries)), 0, uint32(of.key.dtype), uint32(of.key.device)}
		for _, e := range of.entries {
			k.Bytes += e.bytes
		}
		if k.Tensors > 0 {
			to = append(to, k)
		}
	}
	return to
}
