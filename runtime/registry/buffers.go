package registry

import (
	"sync"

	"tlruntime/runtime/layout"
)

// A buffer is a block with several names: the address where it begins and aliases
// into it, each an entry with counted references of its own, in whichever shard its
// address falls. The buffer owns the granules, its names own none, so that it stays
// a block for as long as any name does. A block with a deleter is a buffer of one
// name: the entry has no room for the function.
//
//	names == entries whose link is the buffer's   (+ 1 while one is being made)
//
// Counts change under the lock of their name's shard, the number of names under
// buffers.mu, and never both: whoever erases a name knows that it was there, and
// whoever takes the number to zero is one.
type buffer struct {
	real, bytes  uintptr
	deleter, ctx uintptr
	names        uint32 // 0: the record is free
	gen          uint32 // goes up when the buffer ends
	next         uint32 // free record
	kind         uint8
	shared       bool // has an id that its owner knows
	abandoned    bool // its registration failed: nothing is freed
}

// buffers are numbered by link; 0 is no buffer.
type buffers struct {
	mu     sync.Mutex // guards all of it; no shard lock is held or taken under it
	all    []buffer
	free   uint32
	shared uint64
	bytes  uint64
}

// Block describes memory that is registered under more than a plain entry.
type Block struct {
	Real, Bytes  uintptr
	Kind         uint8
	Deleter, Ctx uintptr
}

// idOf makes the number that a program knows a buffer by.
func (b *buffer) idOf(link uint32) uint64 { return uint64(b.gen)<<32 | uint64(link) }

// create takes a record; names counts the caller as one, lest it end too early.
func (s *buffers) create(block Block, shared bool) (link uint32, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		if len(s.all) == 0 {
			s.all = append(s.all, buffer{})
		}
		s.all = append(s.all, buffer{})
		s.free = uint32(len(s.all) - 1)
	}
	link = s.free
	b := &s.all[link]
	s.free = b.next
	*b = buffer{real: block.Real, bytes: block.Bytes, deleter: block.Deleter, ctx: block.Ctx, names: 1, gen: b.gen,
		kind: block.Kind, shared: shared}
	s.bytes += uint64(block.Bytes)
	if shared {
		s.shared++
	}
	return link, b.idOf(link)
}

// remove gives a record back and returns what it was; the lock is held.
func (s *buffers) remove(link uint32) buffer {
	b := s.all[link]
	s.bytes -= uint64(b.bytes)
	if b.shared {
		s.shared--
	}
	s.all[link] = buffer{gen: b.gen + 1, next: s.free}
	s.free = link
	return b
}

// keep counts one more name of a live buffer, so that it cannot end meanwhile.
func (s *buffers) keep(id uint64) (link uint32, b buffer, r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	link = uint32(id)
	if uint64(link) >= uint64(len(s.all)) || s.all[link].names == 0 || s.all[link].idOf(link) != id {
		return 0, buffer{}, NoBuffer
	}
	s.all[link].names++
	return link, s.all[link], OK
}

// more changes the number of names of a buffer that the caller keeps.
func (s *buffers) more(link uint32, n int32) {
	s.mu.Lock()
	s.all[link].names += uint32(n)
	s.mu.Unlock()
}

// unlink drops a name. The last one ends the buffer, and what is returned is the
// caller's to free.
func (t *Table) unlink(link uint32) Ended {
	s := &t.buffers
	s.mu.Lock()
	if s.all[link].names--; s.all[link].names > 0 {
		s.mu.Unlock()
		return Ended{}
	}
	b := s.remove(link)
	s.mu.Unlock()
	t.disown(b.real, b.bytes)
	if b.abandoned {
		return Ended{}
	}
	return Ended{Pointer: b.real, Bytes: b.bytes, Kind: b.kind, Deleter: b.deleter, Ctx: b.ctx}
}

// own gives the granules of a buffer to it.
func (t *Table) own(p, bytes uintptr) Result {
	var b span
	b.cut(t, p, bytes)
	for {
		above := t.insideAbove(p, bytes)
		b.lock(t)
		r := t.ownLocked(&b, p, above)
		b.unlock(t)
		if r != slow {
			return r
		}
		if !t.makeRoom(p, bytes) {
			return NoMemory
		}
	}
}

func (t *Table) ownLocked(b *span, p uintptr, above bool) Result {
	x := t.spotOf(p)
	switch {
	case x.entry != nil && (live(x.entry) || x.entry.Link != 0):
		return Present
	case above || x.covered() || !b.free(t):
		return Refused
	case !b.fits(t):
		return slow
	}
	b.cover(t)
	return OK
}

func (t *Table) disown(p, bytes uintptr) {
	var b span
	b.cut(t, p, bytes)
	b.lock(t)
	b.uncover(t)
	b.unlock(t)
}

// InsertCustom registers a block that a function of the registrant's frees.
func (t *Table) InsertCustom(block Block) (Ended, Result) {
	_, ended, r := t.insertBuffer(block, nil, false)
	return ended, r
}

// InsertBuffer registers a block under its own address and each alias, with one
// reference a time; an alias may repeat another or the block's own address. All or
// nothing. What Ended holds is the caller's to free: somebody dropped the names
// before they were all there.
func (t *Table) InsertBuffer(block Block, aliases []uintptr) (id uint64, ended Ended, r Result) {
	for _, alias := range aliases {
		if alias-block.Real >= block.Bytes {
			return 0, Ended{}, Outside
		}
	}
	return t.insertBuffer(block, aliases, true)
}

func (t *Table) insertBuffer(block Block, aliases []uintptr, shared bool) (id uint64, ended Ended, r Result) {
	if !possible(block.Real) || block.Bytes-1 >= layout.ForeignBytes {
		return 0, Ended{}, Refused
	}
	if r = t.own(block.Real, block.Bytes); r != OK {
		return 0, Ended{}, r
	}
	link, id := t.buffers.create(block, shared)
	if r = t.name(block.Real, link, block.Kind); r != OK {
		t.abandon(link, block, nil)
		return 0, Ended{}, r
	}
	for i, alias := range aliases {
		if r = t.name(alias, link, block.Kind); r != OK {
			t.abandon(link, block, aliases[:i])
			return 0, Ended{}, r
		}
	}
	return id, t.unlink(link), OK
}

// AddAlias adds one reference at an address inside a live buffer.
func (t *Table) AddAlias(id uint64, alias uintptr) (Ended, Result) {
	link, b, r := t.buffers.keep(id)
	if r != OK {
		return Ended{}, r
	}
	r = Outside
	if alias-b.real < b.bytes {
		r = t.name(alias, link, b.kind)
	}
	return t.unlink(link), r
}

// name adds a reference at p to a buffer that the caller keeps. A name counts before
// it is there: once it is, anybody may drop it.
func (t *Table) name(p uintptr, link uint32, kind uint8) Result {
	s := &t.shards[t.shardOf(p)]
	t.buffers.more(link, 1)
	for {
		lock(s)
		fresh, r := t.nameLocked(p, link, uint64(kind)<<layout.ForeignKindShift)
		unlock(s)
		if r == slow {
			if t.makeRoom(p, 0) {
				continue
			}
			r = NoMemory
		}
		if fresh {
			t.named.Add(1)
		} else {
			t.buffers.more(link, -1)
		}
		return r
	}
}

func (t *Table) nameLocked(p uintptr, link uint32, block uint64) (fresh bool, r Result) {
	x := t.spotOf(p)
	switch e := x.entry; {
	case e == nil && x.shard.Used >= x.shard.Limit:
		return false, slow
	case e == nil && x.create(block, link) == nil:
		return false, slow
	case e == nil:
		return true, OK
	case e.Link == link && e.Count == 0: // dec_ref had brought it to zero
		x.shard.Zeros--
		e.Count, e.TypeFloats = 1, 0
	case e.Link == link:
		if e.Count != layout.ForeignSticky {
			e.Count++
		}
	case live(e) || e.Link != 0:
		return false, Present
	default:
		replace(x.shard, e, block, link)
		return true, OK
	}
	return false, OK
}

// abandon undoes a registration that failed half way: all of its names go, with
// whatever somebody who guessed them has counted there, and nothing is freed.
func (t *Table) abandon(link uint32, block Block, aliases []uintptr) {
	t.buffers.mu.Lock()
	t.buffers.all[link].abandoned = true
	t.buffers.mu.Unlock()
	t.unname(block.Real, link)
	for _, alias := range aliases {
		t.unname(alias, link)
	}
	t.unlink(link)
}

// unname drops a name with all of its references, if it is there.
func (t *Table) unname(p uintptr, link uint32) {
	x, found := t.look(p)
	if !found {
		return
	}
	ours := x.entry.Link == link
	if ours {
		x.drop()
		x.vacate()
	}
	unlock(x.shard)
	if ours {
		t.unlink(link)
	}
}

// Retract takes an entry of that generation back, whatever it counts, and frees
// nothing: the registration of several blocks failed at a later one.
func (t *Table) Retract(p uintptr, gen uint32) {
	var b span
	for bytes := uintptr(0); ; {
		b.cut(t, p, bytes)
		b.lock(t)
		x := t.spotOf(p)
		covers := x.entry != nil && isCovered(x.entry)
		if x.entry == nil || x.entry.Gen != gen || x.entry.Link != 0 {
			b.unlock(t)
			return
		}
		if covers && bytesOf(x.entry) != bytes {
			bytes = bytesOf(x.entry)
			b.unlock(t)
			continue
		}
		x.drop()
		x.vacate()
		if covers {
			b.uncover(t)
		}
		b.unlock(t)
		return
	}
}
