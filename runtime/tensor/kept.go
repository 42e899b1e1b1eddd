package tensor

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
)

// Threads keep tensors in places of the pool that are lent to them (cshim/tensor.h). The fast path
// borrows the places; here stand the slow path's halves of taking and keeping, what gives tensors
// and places back, and what others may read.

// kindKey is what of cell.Kind belongs to the key: all but the rank.
const kindKey = ^uint64(0xFFFF << 16)

// cellHome returns the number of the cell in which a key is looked for first.
func cellHome(k key) uint64 { return (k.elements + uint64(k.kind&0xFF)<<40) * 0x9E3779B97F4A7C15 >> 58 }

// keyOfCell returns the key of a cell that is in use.
func keyOfCell(cell *layout.TensorCell) key {
	return key{cell.Numel, layout.TensorPoolKind(uint8(cell.Kind), CPU)}
}

// cellOf returns the cell that c has for a key, nil when there is none.
func cellOf(c *object.Context, k key) *layout.TensorCell {
	if c.Places == 0 || deviceOf(k.kind) != CPU {
		return nil
	}
	cells, home := c.Cells(), cellHome(k)
	for i := range uint64(layout.TensorCellSet) {
		if cell := &cells[home^i]; cell.Room != 0 && keyOfCell(cell) == k {
			return cell
		}
	}
	return nil
}

// takeKept takes the newest tensor of a key that c keeps; Object 0: it keeps none.
func takeKept(c *object.Context, k key) (e layout.Entry) {
	cell := cellOf(c, k)
	if cell == nil || cell.Count == 0 {
		return e
	}
	atomic.StoreUint64(&cell.Count, cell.Count-1)
	cell.Used = 1
	c.KeptHits++
	c.KeptHitBytes += cell.Bytes
	c.TensorsMade-- // the caller counts it, too
	return cell.Entries[cell.Count]
}

// keepHere keeps a tensor in a place that me has; false: it has none.
func keepHere(me *object.Context, r *layout.Record, e layout.Entry, k key, bytes uint64) bool {
	cell := cellOf(me, k)
	if cell == nil || cell.Count >= cell.Room || cell.Bytes != bytes || cell.Class != e.Gen&0xFF || me.IsRecalled() {
		return false
	}
	if !atomic.CompareAndSwapUint32(&r.Sh, layout.ShAlive|layout.ShMerged, 0) {
		me.TensorsGone++
		return true // by tl_mem_free, see shard.keep
	}
	cell.Entries[cell.Count] = renewed(r, e)
	atomic.StoreUint64(&cell.Count, cell.Count+1)
	me.KeptPuts++
	me.KeptPutBytes += bytes
	logKeep(k, e, "kept")
	return true
}

// closeCells empties the cells of c, whose holder the caller is. close takes the tensors of one back
// from it; it has the lock of the key's shard. False: it takes none, and the cells stay.
func closeCells(c *object.Context,
	close func(s *shard, at *layout.TensorPoolKey, cell *layout.TensorCell) bool) {
	cells := c.Cells()
	for i := 0; i < len(cells) && c.Places != 0; i++ {
		cell := &cells[i]
		if cell.Room == 0 {
			continue
		}
		k := keyOfCell(cell)
		s := shardOf(k)
		s.lock()
		at := s.find(k)
		if !close(s, at, cell) {
			s.unlock()
			return
		}
		at.Lent -= uint8(cell.Room)
		s.LentBytes -= cell.Room * cell.Bytes
		s.Puts += cell.Count
		s.unlock()
		c.KeptPuts -= cell.Count
		c.TensorsGone += cell.Count
		c.KeptPutBytes -= cell.Count * cell.Bytes
		c.Places -= uint16(cell.Room)
		*cell = layout.TensorCell{}
	}
}

// handOver gives the pool all tensors and places that c has, until c is asked for them: then a limit
// may have fallen since its places were lent, and what is left is given back. Whoever asks does so before it
// takes the lock of a shard.
func handOver(c *object.Context) {
	closeCells(c, func(s *shard, at *layout.TensorPoolKey, cell *layout.TensorCell) bool {
		if c.IsRecalled() {
			return false
		}
		for i := range cell.Count {
			*entry(at.Stack, at.Count) = cell.Entries[i]
			at.Count++
		}
		s.Grant += (cell.Room - cell.Count) * cell.Bytes
		return true
	})
	if c.IsRecalled() {
		giveBack(c, c)
	}
}

// giveBack frees all tensors that c keeps, into magazines of me, and gives up its places.
func giveBack(c, me *object.Context) {
	var out []layout.Entry
	closeCells(c, func(s *shard, _ *layout.TensorPoolKey, cell *layout.TensorCell) bool {
		out = append(out, cell.Entries[:cell.Count]...)
		s.Evicted += cell.Count
		s.Refusals = 0
		s.Grant += cell.Room * cell.Bytes
		return true
	})
	for _, e := range out {
		me.Evict(e)
	}
	for i := range uint64(layout.TensorPoolShards) {
		pool.callIn(shardAt(i))
	}
}

// lent tells whether any thread has places.
func lent() bool {
	for i := range uint64(layout.TensorPoolShards) {
		if layout.Peek(&shardAt(i).LentBytes) != 0 {
			return true
		}
	}
	return false
}

// recall asks all threads but me for what they keep, if they have places.
func recall(me *object.Context) {
	if lent() {
		object.Recall(me)
	}
}

// gather gives the pool what the calling thread keeps, and asks the others: for all that they have
// when places shall be given up, else for tensors.
func gather(places bool) {
	if !lent() {
		return
	}
	me := object.Caller()
	if me != nil {
		handOver(me)
	}
	if places && lent() || othersKeep(me) {
		object.Recall(me)
	}
}

// othersKeep tells whether a thread other than me keeps tensors and was not asked for them.
func othersKeep(me *object.Context) (found bool) {
	object.EachContext(func(c *object.Context) {
		if c != me && !c.IsRecalled() && layout.Peek(&c.KeptPuts) != layout.Peek(&c.KeptHits) {
			found = true
		}
	})
	return found
}

// addKept adds what threads keep.
func (sum *PoolStats) addKept() {
	object.EachContext(func(c *object.Context) {
		hits, hitBytes := layout.Peek(&c.KeptHits), layout.Peek(&c.KeptHitBytes)
		puts, putBytes := layout.Peek(&c.KeptPuts), layout.Peek(&c.KeptPutBytes)
		sum.Puts += puts
		sum.Hits += hits
		sum.HitBytes += hitBytes
		sum.Tensors += puts - min(puts, hits)
		sum.Bytes += putBytes - min(putBytes, hitBytes)
	})
}

// addKept adds what threads keep to a list of keys.
func addKept(keys []layout.TensorPoolKey) []layout.TensorPoolKey {
	found := map[key]*layout.TensorPoolKey{}
	object.EachContext(func(c *object.Context) {
		if layout.Peek(&c.KeptPuts) == layout.Peek(&c.KeptHits) {
			return
		}
		cells := c.Cells()
		for i := range cells {
			if k, count, bytes := readCell(&cells[i]); count != 0 {
				if found[k] == nil {
					found[k] = &layout.TensorPoolKey{Elements: k.elements, Kind: k.kind, Bytes: bytes}
				}
				found[k].Count += uint16(count)
			}
		}
	})
	for i := range keys {
		k := key{keys[i].Elements, keys[i].Kind}
		if more := found[k]; more != nil {
			keys[i].Count += more.Count
			delete(found, k)
		}
	}
	for _, k := range found {
		keys = append(keys, *k)
	}
	return keys
}

// readCell reads a cell that its thread may be changing. What belongs to two keys is nothing.
func readCell(cell *layout.TensorCell) (k key, count, bytes uint64) {
	kind, numel := layout.Peek(&cell.Kind), layout.Peek(&cell.Numel)
	count, bytes = layout.Peek(&cell.Count), layout.Peek(&cell.Bytes)
	if kind&kindKey != layout.Peek(&cell.Kind)&kindKey || numel != layout.Peek(&cell.Numel) {
		return k, 0, 0
	}
	return key{numel, layout.TensorPoolKind(uint8(kind), CPU)}, min(count, layout.TensorCellRoom), bytes
}
