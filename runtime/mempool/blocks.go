package mempool

import "tlruntime/runtime/layout"

// recordAtHand reports whether takeRecord has one to give.
func (t tables) recordAtHand() bool { return t.Unused != 0 || t.Fresh < t.Limit }

func (t tables) takeRecord() uint32 {
	record := t.Unused
	if record == 0 {
		t.Fresh++
		return t.Fresh - 1
	}
	t.Unused = t.blocks[record].Left
	return record
}

func (t tables) dropRecord(record uint32) {
	b := &t.blocks[record]
	b.Word, b.Left = 0, t.Unused
	t.Unused = record
}

func (t tables) chain(address uint64) *uint32 {
	return &t.chains[address*0x9E3779B97F4A7C15>>t.HashShift]
}

// findLive returns the link to the live block at an address; it holds 0 when there is
// none.
func (t tables) findLive(address uint64) *uint32 {
	link := t.chain(address)
	for *link != 0 && t.blocks[*link].Address != address {
		link = &t.blocks[*link].Left
	}
	return link
}

// addChunk makes a chunk one free block and returns its record.
func (t tables) addChunk(address, bytes uint64) uint32 {
	record := t.takeRecord()
	b := &t.blocks[record]
	b.Address, b.Prev, b.Next = address, 0, 0
	t.insert(record, bytes)
	return record
}

// occupy makes the low bytes of a block that left the index live; the rest stays free.
// There must be a record at hand. The block keeps its record, so that a chunk's first
// block always has the same one.
func (t tables) occupy(record uint32, bytes uint64) {
	rest := bytesOf(&t.blocks[record]) - bytes
	if rest > layout.MempoolSplit {
		t.insert(t.cut(record, bytes), rest)
		rest = 0
	}
	t.enliven(record, bytes+rest)
}

// cut makes what lies behind the low bytes of a block one of its own, which is nothing
// yet, and returns its record.
func (t tables) cut(record uint32, bytes uint64) uint32 {
	r := t.takeRecord()
	b, x := &t.blocks[record], &t.blocks[r]
	x.Address, x.Prev, x.Next = b.Address+bytes, record, b.Next
	if b.Next != 0 {
		t.blocks[b.Next].Prev = r
	}
	b.Next = r
	return r
}

// enliven makes a block live.
func (t tables) enliven(record uint32, bytes uint64) {
	b := &t.blocks[record]
	b.Word, b.Right = bytes, 0
	chain := t.chain(b.Address)
	b.Left = *chain
	*chain = record
}

// join joins a block with the one behind it, whose record ends.
func (t tables) join(record, behind uint32) {
	next := t.blocks[behind].Next
	t.blocks[record].Next = next
	if next != 0 {
		t.blocks[next].Prev = record
	}
	t.dropRecord(behind)
}

// vacate makes a live block, by the link that leads to it, free.
func (t tables) vacate(link *uint32) {
	record := *link
	*link = t.blocks[record].Left
	t.release(record)
}

// release makes a block that is in no chain free, and joins it with its neighbours.
func (t tables) release(record uint32) {
	b := &t.blocks[record]
	bytes, prev, next := bytesOf(b), b.Prev, b.Next
	if next != 0 && isFree(&t.blocks[next]) {
		t.remove(next)
		bytes += bytesOf(&t.blocks[next])
		t.join(record, next)
	}
	if prev != 0 && isFree(&t.blocks[prev]) {
		t.remove(prev)
		bytes += bytesOf(&t.blocks[prev])
		t.join(prev, record)
		record = prev
	}
	t.insert(record, bytes)
}

// The LIFO cache: see cshim/mempool.h.

func (t tables) lifo(at uint32) *layout.MempoolLifo { return &t.Lifo[at%layout.MempoolLifoSize] }

// flush gives back for good what was given back to the log, and to caches.
func (t tables) flush() {
	if t.Open != 0 {
		t.recall()
	}
	for t.High != t.Live {
		t.High--
		t.vacate(t.findLive(t.lifo(t.High).Address))
	}
}

// forget empties the log: what was logged happened in another state. Nothing is pending.
func (t tables) forget() { t.Low, t.High = t.Live, t.Live }

// push logs an allocation; the oldest one makes room. Nothing is pending.
func (t tables) push(request uint64, b *layout.MempoolBlock) {
	*t.lifo(t.Live) = layout.MempoolLifo{Request: request, Address: b.Address, Bytes: bytesOf(b)}
	t.Live++
	t.High = t.Live
	if t.Live-t.Low > layout.MempoolLifoSize {
		t.Low++
	}
}
