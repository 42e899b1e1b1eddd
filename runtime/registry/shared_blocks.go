package registry

import (
	"sync"

	"tlruntime/runtime/layout"
)

// A shared block has several addresses, its aliases: where it begins, and others inside it.
// Each alias is an entry with a count of its own, in the shard of its address. The shared
// block owns the granules and its aliases own none, so that the block ends with the last
// alias, whichever that is. A block with a deleter is a shared block of one alias, because
// an entry has no room for the function.
//
//	aliases == entries whose link is the shared block's   (+ 1 while one is being made)
//
// Counts change under the lock of the alias's shard, the number of aliases under
// sharedBlocks.mu, and the two locks are never held together. Each alias is erased once,
// so that one thread alone takes the number to zero.
type sharedBlock struct {
	real, bytes  uintptr
	deleter, ctx uintptr
	aliases      uint32 // 0: the record is free
	gen          uint32 // goes up when the block ends
	next         uint32 // free record
	kind         uint8
	numbered     bool // the program was given its number (idOf)
	abandoned    bool // its registration failed: nothing is freed
}

// sharedBlocks is the table of them; an entry's link is an index of all, and 0 is none.
type sharedBlocks struct {
	mu       sync.Mutex // guards all of it; no shard lock is held or taken under it
	all      []sharedBlock
	free     uint32
	numbered uint64 // how many are
	bytes    uint64
}

// Block describes memory that is registered under more than a plain entry.
type Block struct {
	Real, Bytes  uintptr
	Kind         uint8
	Deleter, Ctx uintptr
}

// idOf makes the number by which a program names a shared block.
func (b *sharedBlock) idOf(link uint32) uint64 { return uint64(b.gen)<<32 | uint64(link) }

// create takes a record. The caller counts as an alias, so that the block cannot end before the
// caller has made the others.
func (s *sharedBlocks) create(block Block, numbered bool) (link uint32, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		if len(s.all) == 0 {
			s.all = append(s.all, sharedBlock{})
		}
		s.all = append(s.all, sharedBlock{})
		s.free = uint32(len(s.all) - 1)
	}
	link = s.free
	b := &s.all[link]
	s.free = b.next
	*b = sharedBlock{real: block.Real, bytes: block.Bytes, deleter: block.Deleter, ctx: block.Ctx, aliases: 1,
		gen:  b.gen,
		kind: block.Kind, numbered: numbered}
	s.bytes += uint64(block.Bytes)
	if numbered {
		s.numbered++
	}
	return link, b.idOf(link)
}

// remove gives a record back and returns what it was; the lock is held.
func (s *sharedBlocks) remove(link uint32) sharedBlock {
	b := s.all[link]
	s.bytes -= uint64(b.bytes)
	if b.numbered {
		s.numbered--
	}
	s.all[link] = sharedBlock{gen: b.gen + 1, next: s.free}
	s.free = link
	return b
}

// keep counts the caller as one more alias of a live block, which cannot end meanwhile.
func (s *sharedBlocks) keep(id uint64) (link uint32, b sharedBlock, r Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	link = uint32(id)
	if uint64(link) >= uint64(len(s.all)) || s.all[link].aliases == 0 || s.all[link].idOf(link) != id {
		return 0, sharedBlock{}, NoShared
	}
	s.all[link].aliases++
	return link, s.all[link], OK
}

// more changes the number of aliases of a block that the caller keeps.
func (s *sharedBlocks) more(link uint32, n int32) {
	s.mu.Lock()
	s.all[link].aliases += uint32(n)
	s.mu.Unlock()
}

// unlink drops an alias. The last one ends the block, which is returned for the caller to free.
func (t *Table) unlink(link uint32) Ended {
	s := &t.shared
	s.mu.Lock()
	if s.all[link].aliases--; s.all[link].aliases > 0 {
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

// own gives the granules of a shared block to it.
func (t *Table) own(p, bytes uintptr) Result {
	var b extent
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

func (t *Table) ownLocked(b *extent, p uintptr, above bool) Result {
	x := t.lookUp(p)
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
	var b extent
	b.cut(t, p, bytes)
	b.lock(t)
	b.uncover(t)
	b.unlock(t)
}

// InsertCustom registers a block that a function of the registrant's frees.
func (t *Table) InsertCustom(block Block) (Ended, Result) {
	_, ended, r := t.insertShared(block, nil, false)
	return ended, r
}

// InsertShared registers a block under its own address and each alias, with one
// reference a time; an alias may repeat another or the block's own address. All or
// nothing. What Ended holds is the caller's to free: somebody dropped the aliases
// before they were all there.
func (t *Table) InsertShared(block Block, aliases []uintptr) (id uint64, ended Ended, r Result) {
	for _, alias := range aliases {
		if alias-block.Real >= block.Bytes {
			return 0, Ended{}, Outside
		}
	}
	return t.insertShared(block, aliases, true)
}

func (t *Table) insertShared(block Block, aliases []uintptr, numbered bool) (id uint64, ended Ended, r Result) {
	if !possible(block.Real) || block.Bytes-1 >= layout.ForeignBytes {
		return 0, Ended{}, Refused
	}
	if r = t.own(block.Real, block.Bytes); r != OK {
		return 0, Ended{}, r
	}
	link, id := t.shared.create(block, numbered)
	if r = t.insertAlias(block.Real, link, block.Kind); r != OK {
		t.abandon(link, block, nil)
		return 0, Ended{}, r
	}
	for i, alias := range aliases {
		if r = t.insertAlias(alias, link, block.Kind); r != OK {
			t.abandon(link, block, aliases[:i])
			return 0, Ended{}, r
		}
	}
	return id, t.unlink(link), OK
}

// AddAlias adds one reference at an address inside a live shared block.
func (t *Table) AddAlias(id uint64, alias uintptr) (Ended, Result) {
	link, b, r := t.shared.keep(id)
	if r != OK {
		return Ended{}, r
	}
	r = Outside
	if alias-b.real < b.bytes {
		r = t.insertAlias(alias, link, b.kind)
	}
	return t.unlink(link), r
}

// insertAlias adds a reference at p to a block that the caller keeps. An alias counts before
// it is there: once it is, anybody may drop it.
func (t *Table) insertAlias(p uintptr, link uint32, kind uint8) Result {
	s := &t.shards[t.shardOf(p)]
	t.shared.more(link, 1)
	for {
		lock(s)
		fresh, r := t.insertAliasLocked(p, link, uint64(kind)<<layout.ForeignKindShift)
		unlock(s)
		if r == slow {
			if t.makeRoom(p, 0) {
				continue
			}
			r = NoMemory
		}
		if fresh {
			t.aliases.Add(1)
		} else {
			t.shared.more(link, -1)
		}
		return r
	}
}

func (t *Table) insertAliasLocked(p uintptr, link uint32, block uint64) (fresh bool, r Result) {
	x := t.lookUp(p)
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

// abandon undoes a registration that failed half way. All of its aliases go, with the
// references that others have counted there, and nothing is freed.
func (t *Table) abandon(link uint32, block Block, aliases []uintptr) {
	t.shared.mu.Lock()
	t.shared.all[link].abandoned = true
	t.shared.mu.Unlock()
	t.removeAlias(block.Real, link)
	for _, alias := range aliases {
		t.removeAlias(alias, link)
	}
	t.unlink(link)
}

// removeAlias drops an alias with all of its references, if it is there.
func (t *Table) removeAlias(p uintptr, link uint32) {
	x, found := t.lockEntry(p)
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
	var b extent
	for bytes := uintptr(0); ; {
		b.cut(t, p, bytes)
		b.lock(t)
		x := t.lookUp(p)
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
