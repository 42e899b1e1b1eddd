// Package registry counts and frees memory that the runtime did not allocate. What is done with
// the table is C (cshim/registry), which both paths call. Here its memory is obtained, and it is read.
//
// cshim/registry/table.h explains the table, its words and its invariants. In short: a
// granule is 16 bytes of the address space, a unit 64 granules, a region 64 units. A bucket
// of a shard's hash table has one region with a list of its units. A unit says at which of
// its granules registered blocks start and which granules they own. What a block owns in one
// unit is a cover, and its covers are its extent.
//
// Lock order: shard locks by ascending index; Table.growing and Table.mu are taken under none of
// them, and they under neither.
// No memory is obtained and nothing is called under a shard lock.
package registry

import (
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

const (
	purpose       = "registry"
	defaultShards = 64
	maxShards     = 4096
	firstBuckets  = 64       // of a shard's first table, at least; at most twice that
	firstTable    = 4 << 10  // bytes reserved for it
	firstChunk    = 16 << 10 // bytes of list memory that a shard starts with
)

// Table is the registry. Its methods may be called from any goroutine. A process works on the newest one alone.
type Table struct {
	base   uintptr // of the layout.Registry; the shards follow
	header *layout.Registry
	shards []layout.Shard
	mask   uint64

	growing sync.Mutex // guards fresh; mu is taken under it
	fresh   uint64     // the first record of a block that no shard has

	mu     sync.Mutex // guards mapped
	mapped []mapping  // all memory ever obtained
}

type mapping struct{ addr, bytes uintptr }

// Open makes an empty registry of a power of two of shards; 0 means 64.
func Open(shards int) (*Table, status.Status) {
	if shards == 0 {
		shards = defaultShards
	}
	if shards < 0 || shards > maxShards || shards&(shards-1) != 0 {
		return nil, status.InvalidArgument
	}
	t := &Table{mask: uint64(shards - 1), fresh: firstRecord}
	n := uintptr(shards)
	head := memory.Round(layout.RegistryBytes+n*layout.ShardBytes, memory.PageBytes)
	base, ok := t.obtain(head + n*(firstTable+firstChunk))
	if !ok {
		return nil, status.OutOfMemory
	}
	t.base = base
	t.header = layout.At[layout.Registry](base)
	t.shards = layout.Slice[layout.Shard](base+layout.RegistryBytes, uint64(shards))
	for i := range t.shards {
		at := base + head + uintptr(i)*(firstTable+firstChunk)
		// Sizes are staggered, so that shards that fill alike do not all grow at once.
		buckets := uint32(firstBuckets + firstBuckets*i/shards)
		rehash(&t.shards[i], at, buckets)
		giveChunk(&t.shards[i], at+firstTable, firstChunk)
	}
	t.attach()
	return t, status.OK
}

// Layout returns the address of the first shard and the number of shards less one.
func (t *Table) Layout() (shards uintptr, mask uint64) { return t.base + layout.RegistryBytes, t.mask }

// Close gives all memory back. Nobody may use the table any more.
func (t *Table) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.detach()
	for _, r := range t.mapped {
		memory.Unmap(r.addr, r.bytes, purpose)
	}
	t.base, t.header, t.shards, t.mapped = 0, nil, nil, nil
}

// obtain maps memory that lives as long as the table: a reader without the lock may still
// be in buckets that were outgrown.
func (t *Table) obtain(bytes uintptr) (uintptr, bool) {
	addr, err := memory.Map(bytes, purpose)
	if err != nil {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mapped = append(t.mapped, mapping{addr, bytes})
	return addr, true
}
