package pools

import (
	"slices"

	"tlruntime/runtime/mempool"
	"tlruntime/runtime/status"
)

// block is a part of a chunk.
type block struct {
	address, bytes, chunk uintptr // chunk is where its chunk starts
	live                  bool
}

// Model is exact best fit, written to be obvious: all blocks in one list by address,
// and every question answered by looking at each of them.
type Model struct {
	device *Device
	growth uintptr
	limit  uintptr
	blocks []block
	stats  mempool.Stats
}

// NewModel is mempool.Create.
func NewModel(d *Device, bytes uintptr) *Model {
	m := &Model{device: d}
	m.growth = m.round(bytes)
	m.obtain(m.growth)
	return m
}

func (m *Model) round(n uintptr) uintptr {
	return (n + m.device.Granule - 1) / m.device.Granule * m.device.Granule
}

func (m *Model) reserved() (n uintptr) {
	for _, b := range m.blocks {
		n += b.bytes
	}
	return n
}

func (m *Model) obtain(bytes uintptr) status.Status {
	if m.limit != 0 && m.reserved()+bytes > m.limit {
		return status.Limit
	}
	address, err := m.device.Allocate(bytes)
	if err != nil {
		return status.OutOfMemory
	}
	m.blocks = append(m.blocks, block{address, bytes, address, false})
	m.sort()
	m.stats.DeviceAllocations++
	return status.OK
}

func (m *Model) sort() {
	slices.SortFunc(m.blocks, func(a, b block) int {
		if a.address < b.address {
			return -1
		}
		return 1
	})
}

// best returns the smallest free block of at least n bytes, the lowest of several.
func (m *Model) best(n uintptr) int {
	found := -1
	for i, b := range m.blocks {
		if !b.live && b.bytes >= n && (found < 0 || b.bytes < m.blocks[found].bytes) {
			found = i
		}
	}
	return found
}

// Allocate is mempool.Allocate.
func (m *Model) Allocate(n uintptr) (uintptr, status.Status) {
	if n == 0 {
		return 0, status.OK
	}
	if n > 1<<47-1 {
		return 0, status.Overflow
	}
	n = m.round(n)
	if m.best(n) < 0 {
		if st := m.grow(n); st != status.OK {
			return 0, st
		}
	}
	i := m.best(n)
	b := &m.blocks[i]
	b.live = true
	if rest := b.bytes - n; rest > 256 {
		b.bytes = n
		m.blocks = slices.Insert(m.blocks, i+1, block{b.address + n, rest, b.chunk, false})
		b = &m.blocks[i]
	}
	m.stats.Allocations++
	m.stats.TotalAllocated += uint64(b.bytes)
	m.stats.PeakUsage = max(m.stats.PeakUsage, m.usage())
	return b.address, status.OK
}

func (m *Model) grow(n uintptr) status.Status {
	want := max(m.growth, 2*n)
	if 2*n > 1<<47-1 {
		want = max(m.growth, n, m.round(1<<47-1)-m.device.Granule)
	}
	st := m.obtainFor(want, n)
	if st != status.OK {
		before := len(m.blocks)
		if m.Trim(); len(m.blocks) < before {
			st = m.obtainFor(want, n)
		}
	}
	return st
}

func (m *Model) obtainFor(want, n uintptr) status.Status {
	st := m.obtain(want)
	if st != status.OK && n < want {
		st = m.obtain(n)
	}
	return st
}

// Deallocate is mempool.Deallocate.
func (m *Model) Deallocate(address uintptr) status.Status {
	if address == 0 {
		return status.OK
	}
	i := slices.IndexFunc(m.blocks, func(b block) bool { return b.live && b.address == address })
	if i < 0 {
		return status.UnknownPointer
	}
	m.blocks[i].live = false
	m.stats.Deallocations++
	m.stats.TotalFreed += uint64(m.blocks[i].bytes)
	m.join()
	return status.OK
}

// join makes one of every two free blocks of a chunk that touch.
func (m *Model) join() {
	for i := 0; i+1 < len(m.blocks); {
		a, b := &m.blocks[i], m.blocks[i+1]
		if a.live || b.live || a.chunk != b.chunk {
			i++
			continue
		}
		a.bytes += b.bytes
		m.blocks = slices.Delete(m.blocks, i+1, i+2)
	}
}

// Reset is mempool.Reset.
func (m *Model) Reset() {
	for i := range m.blocks {
		m.blocks[i].live = false
	}
	m.join()
	m.stats.TotalFreed, m.stats.Deallocations = m.stats.TotalAllocated, m.stats.Allocations
}

// Trim is mempool.Trim.
func (m *Model) Trim() {
	m.blocks = slices.DeleteFunc(m.blocks, func(b block) bool {
		idle := !b.live && !slices.ContainsFunc(m.blocks, func(o block) bool { return o.chunk == b.chunk && o.live })
		if idle {
			m.device.Deallocate(b.address, b.bytes)
		}
		return idle
	})
}

// SetLimit is mempool.SetLimit.
func (m *Model) SetLimit(bytes uintptr) {
	m.limit = bytes
	if bytes != 0 && m.reserved() > bytes {
		m.Trim()
	}
}

func (m *Model) usage() (n uint64) {
	for _, b := range m.blocks {
		if b.live {
			n += uint64(b.bytes)
		}
	}
	return n
}

// Stats is mempool.ReadStats.
func (m *Model) Stats() mempool.Stats {
	s := m.stats
	s.CurrentUsage, s.Reserved = m.usage(), uint64(m.reserved())
	for _, b := range m.blocks {
		if !b.live {
			s.FreeBlocks++
			s.LargestFreeBlock = max(s.LargestFreeBlock, uint64(b.bytes))
		}
	}
	return s
}

// Live returns the addresses of live blocks.
func (m *Model) Live() (live []uintptr) {
	for _, b := range m.blocks {
		if b.live {
			live = append(live, b.address)
		}
	}
	return live
}
