package tensor

import (
	"errors"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// deviceCaches keep the dead tensors of devices for the next request of the same elements and
// type, each with its block. They are Go's alone: a tensor of a device is never the fast
// path's. Limits are those of the pool: so many of a key, so many bytes of a device.
//
//	count == puts - hits - evicted == sum of len(stack.entries)
//	used == sum of the kept tensors' blocks
var deviceCaches [device.MaxDevices]deviceCache

// firstChunk is what a device's default memory pool asks for at first, and leastChunk
// what it is content with.
const (
	firstChunk = 256 << 20
	leastChunk = 1 << 20
)

type deviceCache struct {
	opening sync.Mutex // held while the pool is made
	pool    atomic.Uintptr

	mu            sync.Mutex // guards the rest
	budget                   // of bytes of blocks
	clock                    // over the ring
	stacks        map[key]*stack
	ring          []*stack // all stacks, in the order in which they came
	header        uint64   // bytes of the heap that one of its tensors occupies
	puts, evicted uint64
	hits, misses  uint64
	hitBytes      uint64 // of the blocks of all hits
}

// stack are the kept tensors of a key, the newest last.
type stack struct {
	key        key
	referenced uint16 // it had a hit since the clock hand came by
	entries    []keptTensor
}

type keptTensor struct {
	layout.Entry
	bytes uint64 // of the block
}

func deviceCacheOf(number uint8) *deviceCache { return &deviceCaches[number] }

// handle returns the device's memory pool, 0 before the first use.
func (s *deviceCache) handle() mempool.Handle { return mempool.Handle(s.pool.Load()) }

// open returns the device's memory pool and makes it the first time.
func (s *deviceCache) open(d device.Device, number int32) (mempool.Handle, error) {
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
	return deviceCacheOf(uint8(number)).open(d, number)
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
func (s *deviceCache) take(k key) (e keptTensor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.stacks[k]
	if Debug {
		defer func() { logTake(k, e.Entry) }()
	}
	if of == nil || len(of.entries) == 0 {
		s.misses++
		return e
	}
	s.hits++
	of.referenced = 1
	e = s.pop(of)
	s.hitBytes += e.bytes
	return e
}

func (s *deviceCache) pop(of *stack) keptTensor {
	last := len(of.entries) - 1
	e := of.entries[last]
	of.entries = of.entries[:last]
	s.giveBack(e.bytes)
	return e
}

// stack returns that of a key, new if need be.
func (s *deviceCache) stack(k key) *stack {
	of := s.stacks[k]
	if of == nil {
		of = &stack{key: k}
		if s.stacks == nil {
			s.stacks = map[key]*stack{}
		}
		s.stacks[k] = of
		s.ring = append(s.ring, of)
	}
	return of
}

// keepOn puts a tensor of a device to rest with its block. What its header says is looked
// at again: it lies in a program's reach.
func keepOn(me *object.Context, r *layout.Record, e layout.Entry, b block) bool {
	h := header(e.Object)
	size := ElementType(h.Dtype).Size()
	_, left := layout.NextGen(e.Gen)
	if h.Flags != layout.TensorContiguous|layout.TensorOnDevice || h.Device != b.device || size == 0 ||
		h.Numel > uint64(b.bytes)/size || b.address == 0 || b.own || len(b.streams) > 0 || !left {
		return false
	}
	s, bytes := deviceCacheOf(b.device), b.room
	if bytes > pool.limit.Load() || limit.Near(int32(b.device)) {
		return false
	}
	s.makeRoom(bytes)
	return s.keep(me, r, e, key{h.Numel, uint32(h.Dtype)}, bytes)
}

func (s *deviceCache) keep(me *object.Context, r *layout.Record, e layout.Entry, k key, bytes uint64) bool {
	perKey := pool.keyLimit()
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.stack(k)
	if uint32(len(of.entries)) >= perKey || !s.fits(bytes) {
		return false
	}
	if !atomic.CompareAndSwapUint32(&r.Sh, layout.ShAlive|layout.ShMerged, 0) {
		return true // somebody who had no reference was faster; it dies once
	}
	e = renewed(r, e)
	of.entries = append(of.entries, keptTensor{e, bytes})
	s.used.Add(bytes)
	s.header = object.Heap().Size(e.Object)
	s.puts++
	me.TensorsGone++
	logKeep(k, e, "kept")
	return true
}

// makeRoom evicts tensors of keys without a hit until there is room for n bytes more,
// or the clock hand has gone round twice.
func (s *deviceCache) makeRoom(n uint64) {
	s.evict(func(s *deviceCache) []keptTensor { return s.cold(func() bool { return s.fits(n) }) })
}

// cold takes off tensors of keys without a hit until it is enough; those of the others
// are when the clock hand comes by again.
func (s *deviceCache) cold(enough func() bool) (out []keptTensor) {
	n := uint64(len(s.ring))
	s.search(2*n, n, enough, func(place, _ uint64) {
		of := s.ring[place]
		if spared(&of.referenced) {
			return
		}
		for len(of.entries) > 0 && !enough() {
			out = append(out, s.pop(of))
		}
	})
	return out
}

// excess takes off what is above the limits of the pool.
func (s *deviceCache) excess(perKey uint32, bytes uint64) (out []keptTensor) {
	for _, of := range s.ring {
		for uint32(len(of.entries)) > perKey {
			out = append(out, s.pop(of))
		}
	}
	return append(out, s.cold(func() bool { return s.used.Load() <= bytes })...)
}

// everything takes all tensors out of a device cache, and the keys.
func everything(s *deviceCache) (out []keptTensor) {
	for _, of := range s.ring {
		out = append(out, s.empty(of)...)
	}
	s.stacks, s.ring = nil, nil
	s.hand.Store(0)
	return out
}

func (s *deviceCache) empty(of *stack) []keptTensor {
	out := of.entries
	for _, e := range out {
		s.giveBack(e.bytes)
	}
	of.entries = nil
	return out
}

// evict frees the tensors that choose takes out of the cache, blocks and headers, and tells
// how many bytes their blocks were, and which one could not be given back.
func (s *deviceCache) evict(choose func(*deviceCache) []keptTensor) (freed uint64, failed error) {
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
	s := &deviceCaches[number]
	h := s.handle()
	if h == 0 {
		return
	}
	_, err := s.evict(everything)
	failed(c, err)
	failed(c, mempool.Trim(h))
}

// eachDeviceCache visits those of devices that have a pool and that a need covers.
func eachDeviceCache(need limit.Need, visit func(number int, s *deviceCache)) {
	for i := range deviceCaches {
		if s := &deviceCaches[i]; s.handle() != 0 && need.Covers(int32(i)) {
			visit(i, s)
		}
	}
}

// kept returns how many tensors the cache keeps; its caller holds mu.
func (s *deviceCache) kept() uint64 { return s.puts - s.hits - s.evicted }

// keys appends what the cache keeps, by key.
func (s *deviceCache) keys(number int, to []layout.TensorPoolKey) []layout.TensorPoolKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.ring {
		if n := len(of.entries); n > 0 {
			to = append(to, layout.TensorPoolKey{Elements: of.key.elements, Bytes: of.entries[0].bytes,
				Kind: layout.TensorPoolKind(uint8(of.key.kind), uint8(number)), Count: uint16(n)})
		}
	}
	return to
}
