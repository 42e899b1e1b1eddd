package registry

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
)

// Blocks with a deleter, and blocks with several addresses: those whose entries link to a record
// (cshim/registry/blocks.h).
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

func isAlias(e *layout.ForeignEntry) bool { return e.Link != 0 && bytesOf(e) == 0 }

// InsertCustom registers a block that a function of the registrant's frees.
func (t *Table) InsertCustom(block Block) Result {
	_, r := t.insert(block.Real, block.Bytes, block.Kind, owner(layout.BlockCustom, block.Deleter, block.Ctx))
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
	number, r := t.own(&block)
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
		fresh, was, r := t.addAlias(id, p)
		if r != OK {
			t.abandon(number, made)
			return 0, 0, Ended{}, r
		}
		if fresh {
			made = append(made, alias{p, was})
		}
	}
	return id, uint64(len(made)), t.owned(number), OK
}

// AddAlias adds one reference at an address inside a live shared block. fresh: the address was
// none of its aliases.
func (t *Table) AddAlias(id uint64, alias uintptr) (fresh bool, r Result) {
	fresh, _, r = t.addAlias(id, alias)
	return fresh, r
}
