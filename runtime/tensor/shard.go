package tensor

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// shard is one shard of the pool, the memory that cshim/tensor.h works on too.
// Its methods are called with the lock held, but for lock.
type shard struct{ layout.TensorPoolShard }

// key identifies the tensors that may stand for each other.
type key struct {
	elements uint64
	kind     uint32
}

func (k key) hash() uint64 { return layout.TensorPoolHash(k.elements, k.kind) }

// shardAt returns shard i.
func shardAt(i uint64) *shard {
	return layout.At[shard](layout.Address(object.Globals()) + layout.TensorPoolOffset +
		uintptr(i)*layout.TensorPoolShardBytes)
}

func shardOf(k key) *shard { return shardAt(k.hash() % layout.TensorPoolShards) }

func (s *shard) lock()   { layout.Lock(&s.Lock) }
func (s *shard) unlock() { layout.Unlock(&s.Lock) }

func (s *shard) cell(i uint64) *layout.TensorPoolKey {
	return layout.At[layout.TensorPoolKey](s.Cells + uintptr(i&uint64(s.Mask))*layout.TensorPoolKeyBytes)
}

func (s *shard) home(k key) uint64 { return k.hash() / layout.TensorPoolShards }

// find returns the cell of a key, or the empty one where it belongs; nil while
// there are no cells.
func (s *shard) find(k key) *layout.TensorPoolKey {
	if s.Cells == 0 {
		return nil
	}
	for i := s.home(k); ; i++ {
		if at := s.cell(i); at.Kind == 0 || at.Elements == k.elements && at.Kind == k.kind {
			return at
		}
	}
}

// entry returns entry i of a stack.
func entry(stack uintptr, i uint16) *layout.Entry {
	return layout.At[layout.Entry](stack + uintptr(i)*layout.EntryBytes)
}

// insert makes a cell for a new key; nil when there is no room, not even after
// the keys without tensors have gone. A search for those is not repeated before as many
// keys were refused as it has left, or before tensors were evicted.
func (s *shard) insert(k key, bytes uint64) *layout.TensorPoolKey {
	if s.Keys >= s.KeyLimit {
		if s.Refusals > 0 {
			s.Refusals--
			return nil
		}
		s.sweep()
		s.Refusals = s.Keys
	}
	if s.Keys >= s.KeyLimit {
		return nil
	}
	stack := s.FreeStack
	if stack != 0 {
		s.FreeStack = entry(stack, 0).Object
	} else {
		stack = s.FreshStack
		s.FreshStack += uintptr(s.Room) * layout.EntryBytes
	}
	s.Keys++
	at := s.find(k)
	*at = layout.TensorPoolKey{Elements: k.elements, Bytes: bytes, Kind: k.kind, Stack: stack}
	return at
}

// sweep removes the keys whose stack is empty and of which nobody has a place.
func (s *shard) sweep() {
	for i := uint64(0); i <= uint64(s.Mask); {
		if at := s.cell(i); at.Kind != 0 && at.Count == 0 && at.Lent == 0 {
			s.remove(i) // may have moved another key here: look again
		} else {
			i++
		}
	}
}

// remove empties cell i and shifts back what probed past it.
func (s *shard) remove(i uint64) {
	stack := s.cell(i).Stack
	entry(stack, 0).Object = s.FreeStack
	s.FreeStack = stack
	s.Keys--
	mask, hole := uint64(s.Mask), i
	for next := i + 1; s.cell(next).Kind != 0; next++ {
		at := s.cell(next)
		home := s.home(key{at.Elements, at.Kind})
		if (next-home)&mask >= (next-hole)&mask {
			*s.cell(hole) = *at
			hole = next
		}
	}
	*s.cell(hole) = layout.TensorPoolKey{}
}

// pop takes the newest tensor of a key; the caller counts why.
func (s *shard) pop(at *layout.TensorPoolKey) layout.Entry {
	at.Count--
	s.Grant += at.Bytes
	return *entry(at.Stack, at.Count)
}

// evictOne takes the newest tensor of a key to free it.
func (s *shard) evictOne(at *layout.TensorPoolKey) layout.Entry {
	s.Evicted++
	s.Refusals = 0 // there may be keys without tensors now
	return s.pop(at)
}

// push keeps a tensor; the caller has looked for room.
func (s *shard) push(at *layout.TensorPoolKey, e layout.Entry) {
	*entry(at.Stack, at.Count) = e
	at.Count++
	s.Puts++
	s.Bytes += at.Bytes
}

// count returns how many tensors the shard keeps.
func (s *shard) count() uint64 { return s.Puts - s.Hits - s.Evicted }

// givenUp returns the bytes of the places that were ever given up.
func (s *shard) givenUp() uint64 { return s.Grant - s.Share }

// places returns the bytes of all places that are in use, those that threads have included.
func (s *shard) places() uint64 { return s.Bytes - s.givenUp() }

// kept returns the bytes of the tensors that the shard keeps.
func (s *shard) kept() uint64 { return s.places() - s.LentBytes }

// each visits the keys.
func (s *shard) each(visit func(at *layout.TensorPoolKey)) {
	if s.Cells == 0 {
		return
	}
	for i := range uint64(s.Mask) + 1 {
		if at := s.cell(i); at.Kind != 0 {
			visit(at)
		}
	}
}
