package tensor

import (
	"cmp"
	"sync/atomic"

	"tlruntime/runtime/config"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// SetPoolLimits replaces how many tensors the pool keeps of a key and how many bytes of
// all; 0 of either keeps none. What is above goes at once, but for what other threads keep: that
// goes with the next slow call of each.
func SetPoolLimits(c *object.Context, perKey, bytes uint64) status.Status {
	if perKey > config.MaxPerKey {
		return c.Failf(status.InvalidArgument, "%d tensors of a key are more than %d", perKey, config.MaxPerKey)
	}
	if !pool.setLimits(uint32(perKey), bytes) {
		return c.Failf(status.OutOfMemory, "no memory for tables of %d tensors of each key", perKey)
	}
	st := status.OK
	eachDeviceCache(limit.Need{Device: limit.Total}, func(_ int, s *deviceCache) {
		_, err := s.evict(func(s *deviceCache) []keptTensor { return s.excess(uint32(perKey), bytes) })
		st = cmp.Or(st, failed(c, err))
	})
	return st
}

// keyLimit returns how many tensors of a key are kept.
func (p *tensorPool) keyLimit() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.perKey
}

// ConfigurePool is SetPoolLimits before the first context.
func ConfigurePool(perKey, bytes uint64) {
	pool.setLimits(uint32(min(perKey, config.MaxPerKey)), bytes)
}

func (p *tensorPool) setLimits(perKey uint32, bytes uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if perKey > p.room && p.room != 0 && !p.widen(perKey) {
		return false
	}
	p.perKey = perKey
	p.limit.Store(bytes)
	if p.room == 0 { // nothing is kept yet
		return true
	}
	gather(true)
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.lock()
		s.Limit = perKey
		s.unlock()
		s.dropExcess()
		p.callIn(s)
	}
	for over := p.granted.used.Load(); over > bytes; over = p.granted.used.Load() {
		if giveTensors(limit.Need{Device: limit.Total, Bytes: over - bytes}) == 0 {
			break
		}
	}
	return true
}

// dropExcess frees what keys have above the limit.
func (s *shard) dropExcess() {
	var out [64]layout.Entry
	for n := len(out); n == len(out); {
		n = 0
		s.lock()
		s.each(func(at *layout.TensorPoolKey) {
			for ; at.Count > 0 && uint32(at.Count)+uint32(at.Lent) > s.Limit && n < len(out); n++ {
				out[n] = s.evictOne(at)
			}
		})
		s.unlock()
		for _, e := range out[:n] {
			object.Discard(e)
		}
	}
}

// widen moves the stacks of all keys to where each has room for more tensors.
func (p *tensorPool) widen(room uint32) bool {
	each := uintptr(p.keys) * uintptr(room) * layout.EntryBytes
	stacks, err := memory.Map(layout.TensorPoolShards*each, poolPurpose)
	if err != nil {
		return false
	}
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.lock()
		s.moveStacks(stacks+uintptr(i)*each, room)
		s.unlock()
	}
	memory.Unmap(p.stacks, p.stackBytes(), poolPurpose)
	p.stacks, p.room = stacks, room
	return true
}

// moveStacks gives every key of a shard a stack in new memory.
func (s *shard) moveStacks(to uintptr, room uint32) {
	s.each(func(at *layout.TensorPoolKey) {
		copy(layout.Slice[layout.Entry](to, uint64(room)), layout.Slice[layout.Entry](at.Stack, uint64(at.Count)))
		at.Stack = to
		to += uintptr(room) * layout.EntryBytes
	})
	s.FreshStack, s.FreeStack, s.Room = to, 0, room
}

// PoolKeyStats is what the pool keeps under one key.
type PoolKeyStats struct {
	Elements, Tensors, Bytes uint64
	Dtype, Device            uint32
}

// ReadPoolKey returns the key with the most bytes for rank 0, the next one for 1, and
// zeros beyond the last one.
func ReadPoolKey(rank uintptr) (k PoolKeyStats) {
	keys := keptKeys(limit.Need{Device: limit.Total})
	if rank >= uintptr(len(keys)) {
		return k
	}
	at := keys[rank]
	return PoolKeyStats{at.Elements, uint64(at.Count), uint64(at.Count) * at.Bytes, uint32(dtypeOf(at.Kind)),
		uint32(deviceOf(at.Kind))}
}

// stackBytes is the size of all stacks.
func (p *tensorPool) stackBytes() uintptr {
	return layout.TensorPoolShards * uintptr(p.keys) * uintptr(p.room) * layout.EntryBytes
}

// open maps the tables, once. Without memory for them nothing is kept this time.
func (p *tensorPool) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened.Load() {
		return
	}
	cells := uint32(512)
	if memory.Instrumented {
		cells = 64
	}
	p.keys, p.room = cells/4*3, max(p.perKey, defaultLimit)
	table := uintptr(cells) * layout.TensorPoolKeyBytes
	at, err := memory.Map(layout.TensorPoolShards*table, poolPurpose)
	if err == nil {
		if p.stacks, err = memory.Map(p.stackBytes(), poolPurpose); err != nil {
			memory.Unmap(at, layout.TensorPoolShards*table, poolPurpose)
		}
	}
	if err != nil {
		p.room = 0
		return
	}
	for i := range uint64(layout.TensorPoolShards) {
		s := shardAt(i)
		s.lock()
		s.Mask, s.KeyLimit, s.Limit, s.Room = cells-1, p.keys, p.perKey, p.room
		s.FreshStack = p.stacks + uintptr(i)*p.stackBytes()/layout.TensorPoolShards
		atomic.StoreUintptr(&s.Cells, at+uintptr(i)*table)
		s.unlock()
	}
	p.opened.Store(true)
}
