package device

import (
	"slices"
	"sync"

	"tlruntime/runtime/status"
)

// Block is memory that a device gave out. Handle is what its driver calls it, where
// that is not the address.
type Block struct {
	Start, Bytes, Handle uintptr
}

// Ledger knows what a device gave out. A driver does not check addresses; a
// ledger refuses those that are foreign, were returned already, or come with
// another size. Blocks are few and large (chunks of a pool), so that a sorted
// slice serves: a look-up is a binary search, an entry shifts those behind it.
type Ledger struct {
	owner string

	mu     sync.Mutex // guards the rest
	blocks []Block    // by Start; they do not overlap
	bytes  uintptr    // sum of blocks' Bytes
}

// NewLedger returns an empty ledger; its errors name the owner.
func NewLedger(owner string) *Ledger { return &Ledger{owner: owner} }

// search returns the index of the last block that starts at or below p, -1 for none.
func (l *Ledger) search(p uintptr) int {
	i, exact := slices.BinarySearchFunc(l.blocks, p, func(b Block, p uintptr) int {
		switch {
		case b.Start < p:
			return -1
		case b.Start > p:
			return 1
		}
		return 0
	})
	if exact {
		return i
	}
	return i - 1
}

// Add enters a block.
func (l *Ledger) Add(b Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocks = slices.Insert(l.blocks, l.search(b.Start)+1, b)
	l.bytes += b.Bytes
}

// Take removes the block that starts at start and has n bytes, or says what is
// there instead.
func (l *Ledger) Take(start, n uintptr) (Block, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.search(start)
	if i < 0 || start-l.blocks[i].Start >= l.blocks[i].Bytes {
		return Block{}, Errorf(status.UnknownPointer, "%#x is no block of %s, or was returned already", start, l.owner)
	}
	b := l.blocks[i]
	if start != b.Start {
		return Block{}, Errorf(status.InteriorPointer, "%#x is %d bytes inside the block of %s that starts at %#x",
			start, start-b.Start, l.owner, b.Start)
	}
	if n != b.Bytes {
		return Block{}, Errorf(status.InvalidArgument, "the block of %s at %#x has %d bytes, not %d", l.owner, start,
			b.Bytes, n)
	}
	l.blocks = slices.Delete(l.blocks, i, i+1)
	l.bytes -= b.Bytes
	return b, nil
}

// Find returns the block that holds all n bytes at p.
func (l *Ledger) Find(p, n uintptr) (Block, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.search(p)
	if i < 0 || p-l.blocks[i].Start >= l.blocks[i].Bytes {
		return Block{}, Errorf(status.UnknownPointer, "%#x is in no block of %s", p, l.owner)
	}
	b := l.blocks[i]
	if left := b.Start + b.Bytes - p; n > left {
		return Block{}, Errorf(status.InvalidArgument,
			"%d bytes at %#x reach beyond the block of %s, which has %d there",
			n, p, l.owner, left)
	}
	return b, nil
}

// Place returns where the block with a handle begins.
func (l *Ledger) Place(handle uintptr) (uintptr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.blocks {
		if b.Handle == handle && handle != 0 {
			return b.Start, nil
		}
	}
	return 0, Errorf(status.Unsupported, "%#x is no buffer that %s gave out here", handle, l.owner)
}

// After returns the lowest block that starts at or above p.
func (l *Ledger) After(p uintptr) (Block, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.search(p)
	if i < 0 || l.blocks[i].Start < p {
		i++
	}
	if i == len(l.blocks) {
		return Block{}, false
	}
	return l.blocks[i], true
}

// Outstanding returns how many blocks are given out, and their bytes.
func (l *Ledger) Outstanding() (blocks int, bytes uintptr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.blocks), l.bytes
}
