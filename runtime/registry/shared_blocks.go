package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Blocks with a deleter, and blocks with several addresses: those whose entries link to a record
// (cshim/registry_blocks.h).
//
// Each alias of a shared block is an entry with a count of its own, in the shard of its address.
// The shared block owns the granules and its aliases own none, so that the block ends with the
// last alias, whichever that is. Names are counted under the lock of the alias's shard, each is
// taken out once, and so one thread alone takes their number to zero.

// Block describes memory that is registered with more than an entry has room for.
type Block struct {
	Real, Bytes  uintptr
	Kind         uint8
	Deleter, Ctx uintptr
}

// state is that of the record of a block that is none of several addresses.
func (b *Block) state() uint32 {
	if b.Kind == layout.ForeignMalloc {
		return layout.BlockTyped
	}
	return layout.BlockCustom
}

func isAlias(e *layout.ForeignEntry) bool { return e.Link != 0 && bytesOf(e) == 0 }

// countAtAlias tells the block of an alias that the alias has n references more.
func (t *Table) countAtAlias(e *layout.ForeignEntry, n int64) {
	if isAlias(e) && n != 0 {
		atomic.AddUint64(&t.record(e.Link).More, uint64(n))
	}
}

// addName counts one more alias of a live shared block; false: it has ended.
func (t *Table) addName(id uint64) bool {
	b := t.record(uint32(id))
	for {
		life := atomic.LoadUint64(&b.Life)
		if !isNamed(life, id) || names(life) == layout.BlockMostNames {
			return false
		}
		if atomic.CompareAndSwapUint64(&b.Life, life, life+1) {
			return true
		}
	}
}

// dropName tells that an alias was taken out, and whether that was the last one: then the caller
// ends the block, with no lock held.
func (t *Table) dropName(number uint32) (last bool) {
	return names(atomic.AddUint64(&t.record(number).Life, ^uint64(0))) == 0
}

// end ends a shared block without aliases and returns what is to be freed of it.
func (t *Table) end(number uint32) Ended {
	r := t.record(number)
	ended := Ended{Pointer: realOf(r), Bytes: blockBytes(r), Kind: blockKind(r), Deleter: r.Deleter, Ctx: r.Ctx}
	if atomic.LoadUint32(&r.State) == layout.BlockAbandoned {
		ended = Ended{}
	}
	if waits(ended.Kind) {
		ended.Record = number
	}
	var b extent
	b.cut(t, realOf(r), blockBytes(r))
	b.lock(t)
	b.uncover(t)
	s := &t.shards[t.shardOf(realOf(r))]
	s.Bytes -= uint64(blockBytes(r))
	s.Buffers--
	atomic.StoreUint64(&r.Life, lifeOf(generation(atomic.LoadUint64(&r.Life))+1, 0))
	if ended.Record != 0 {
		atomic.StoreUint32(&r.State, layout.BlockPending)
	} else {
		t.give(s, number)
	}
	b.unlock(t)
	return ended
}

// waits tells whether blocks of a kind are freed by a call that waits for the entry guard; free()
// takes the others at once.
func waits(kind uint8) bool {
	return kind == layout.ForeignCustom || kind == layout.ForeignNewArray || kind == layout.ForeignNewScalar
}

// own gives the granules of a shared block to it. The caller counts as an alias, so that the block
// cannot end before the caller has made the others.
func (t *Table) own(block Block) (number uint32, r Result) {
	var b extent
	b.cut(t, block.Real, block.Bytes)
	for {
		above := t.insideAbove(block.Real, block.Bytes)
		b.lock(t)
		number, r = t.ownLocked(&b, block, above)
		b.unlock(t)
		if r != slow {
			return number, r
		}
		if !t.makeRoom(block.Real, block.Bytes) || !t.reserveRecord(&t.shards[t.shardOf(block.Real)]) {
			return 0, NoMemory
		}
	}
}

func (t *Table) ownLocked(b *extent, block Block, above bool) (number uint32, r Result) {
	x := t.lookUp(block.Real)
	switch {
	case x.entry != nil && (live(x.entry) || x.entry.Link != 0):
		return 0, Present
	case above || x.covered() || !b.free(t):
		return 0, Refused
	case !b.fits(t):
		return 0, slow
	}
	if number = t.take(x.shard, block, layout.BlockShared); number == 0 {
		return 0, slow
	}
	made := t.record(number)
	atomic.StoreUint64(&made.More, 0)
	atomic.StoreUint64(&made.Life, lifeOf(generation(atomic.LoadUint64(&made.Life)), 1))
	x.shard.Bytes += uint64(block.Bytes)
	x.shard.Buffers++
	b.cover(t)
	return number, OK
}

// InsertCustom registers a block that a function of the registrant's frees.
func (t *Table) InsertCustom(block Block) Result {
	if block.Bytes == 0 {
		return Refused
	}
	_, r := t.enter(block.Real, block.Bytes, uint64(block.Kind)<<layout.ForeignKindShift, 0, &block)
	return r
}

// alias is one that a registration has made, and the dead entry that it has replaced.
type alias struct {
	p   uintptr
	was layout.ForeignEntry
}

// InsertShared registers a block under its own address and each alias, with one
// reference a time; an alias may repeat another or the block's own address. All or
// nothing; names is the number of addresses. What Ended holds is the caller's to free: somebody
// dropped the aliases before they were all there.
func (t *Table) InsertShared(block Block, aliases []uintptr) (id uint64, names uint64, ended Ended, r Result) {
	for _, alias := range aliases {
		if alias-block.Real >= block.Bytes {
			return 0, 0, Ended{}, Outside
		}
	}
	if !possible(block.Real) || block.Bytes-1 >= layout.ForeignBytes {
		return 0, 0, Ended{}, Refused
	}
	number, r := t.own(block)
	if r != OK {
		return 0, 0, Ended{}, r
	}
	id = atomic.LoadUint64(&t.record(number).Life)&^layout.BlockMostNames | uint64(number)
	var made []alias
	for i := range len(aliases) + 1 {
		p := block.Real
		if i > 0 {
			p = aliases[i-1]
		}
		fresh, was, r := t.insertAlias(p, id, block.Kind)
		if r != OK {
			t.abandon(number, made)
			return 0, 0, Ended{}, r
		}
		if fresh {
			made = append(made, alias{p, was})
		}
	}
	names = uint64(len(made))
	if t.dropName(number) {
		ended = t.end(number)
	}
	return id, names, ended, OK
}

// AddAlias adds one reference at an address inside a live shared block. fresh: the address was
// none of its aliases.
func (t *Table) AddAlias(id uint64, alias uintptr) (fresh bool, r Result) {
	b := t.sharedBlock(id)
	if b == nil {
		return false, NoShared
	}
	// What is read here holds when the generation is still the same later.
	if real, bytes, kind := realOf(b), blockBytes(b), blockKind(b); alias-real < bytes {
		fresh, _, r = t.insertAlias(alias, id, kind)
		return fresh, r
	}
	if t.sharedBlock(id) == nil {
		return false, NoShared
	}
	return false, Outside
}

// insertAlias adds a reference at p. fresh: p is a new alias, and stands where the dead entry was.
func (t *Table) insertAlias(p uintptr, id uint64, kind uint8) (fresh bool, was layout.ForeignEntry, r Result) {
	s := &t.shards[t.shardOf(p)]
	for {
		lock(s)
		fresh, was, r = t.insertAliasLocked(p, id, uint64(kind)<<layout.ForeignKindShift)
		unlock(s)
		if r != slow {
			return fresh, was, r
		}
		if !t.makeRoom(p, 0) {
			return false, was, NoMemory
		}
	}
}

func (t *Table) insertAliasLocked(p uintptr, id uint64, block uint64) (fresh bool, was layout.ForeignEntry, r Result) {
	x, number := t.lookUp(p), uint32(id)
	e := x.entry
	ours := e != nil && e.Link == number && isAlias(e)
	switch {
	case ours && !isNamed(atomic.LoadUint64(&t.record(number).Life), id):
		return false, was, NoShared // an alias of a later block
	case ours:
		return false, was, t.countAnother(x.shard, e)
	case e != nil && (live(e) || e.Link != 0):
		return false, was, Present
	case e == nil && x.shard.Used >= x.shard.Limit:
		return false, was, slow
	case e == nil && x.create(block, number) == nil:
		return false, was, slow
	case t.addName(id):
		if e != nil {
			was = replace(x.shard, e, block, number)
		}
		return true, was, OK
	}
	if e == nil { // undo create
		x.entry = entryOf(x.unit, x.at.bit)
		x.drop()
		x.vacate()
	}
	return false, was, NoShared
}

// countAnother adds a reference at an alias that is there. That of a block's may be at zero, since
// dec_ref.
func (t *Table) countAnother(s *layout.Shard, e *layout.ForeignEntry) Result {
	switch e.Count {
	case layout.ForeignSticky:
		return OK
	case 0:
		s.Zeros--
		e.TypeFloats = 0
	}
	e.Count++
	t.countAtAlias(e, 1)
	return OK
}

// abandon undoes a registration that failed half way. All of its aliases go, with the
// references that others have counted there, and nothing is freed.
func (t *Table) abandon(number uint32, made []alias) {
	atomic.StoreUint32(&t.record(number).State, layout.BlockAbandoned)
	for _, a := range made {
		t.removeAlias(a, number)
	}
	if t.dropName(number) {
		t.end(number)
	}
}

// removeAlias takes an alias out with all of its references, if it is there. The caller counts as
// another one.
func (t *Table) removeAlias(a alias, number uint32) {
	x, found := t.lockEntry(a.p)
	if !found {
		return
	}
	if x.entry.Link == number {
		t.countAtAlias(x.entry, 1-int64(x.entry.Count))
		x.takeBack(a.was)
		t.dropName(number)
	}
	unlock(x.shard)
}

// Retract takes what Insert has entered back, whatever it counts, and frees
// nothing: the registration of several blocks failed at a later one.
func (t *Table) Retract(p uintptr, made Entered) {
	var b extent
	for bytes := uintptr(0); ; {
		b.cut(t, p, bytes)
		b.lock(t)
		x := t.lookUp(p)
		covers := x.entry != nil && isCovered(x.entry)
		if x.entry == nil || x.entry.Gen != made.Gen || x.entry.Link != 0 {
			b.unlock(t)
			return
		}
		if covers && bytesOf(x.entry) != bytes {
			bytes = bytesOf(x.entry)
			b.unlock(t)
			continue
		}
		x.takeBack(made.was)
		if covers {
			b.uncover(t)
		}
		b.unlock(t)
		return
	}
}
