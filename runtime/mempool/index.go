package mempool

import (
	"math/bits"

	"tlruntime/runtime/layout"
)

// tables views the memory of a pool. It holds while the lock of the state is held.
type tables struct {
	*layout.MempoolState
	blocks []layout.MempoolBlock
	chains []uint32
	bins   *layout.MempoolBins
}

func view(s *layout.MempoolState) tables {
	return tables{
		MempoolState: s,
		blocks:       layout.Slice[layout.MempoolBlock](s.Blocks, uint64(s.Limit)),
		chains:       layout.Slice[uint32](s.Hash, uint64(s.Limit)),
		bins:         layout.At[layout.MempoolBins](s.Bins),
	}
}

func bytesOf(b *layout.MempoolBlock) uint64 { return b.Word & layout.MempoolBytes }
func isFree(b *layout.MempoolBlock) bool    { return b.Word&layout.MempoolFree != 0 }
func isTagged(b *layout.MempoolBlock) bool {
	return b.Word&(layout.MempoolWaits|layout.MempoolLent) != 0
}

const noBin = ^uint32(0)

// binOf returns the bin of a size in granules, at least 1.
func binOf(granules uint64) uint32 {
	up := uint32(bits.Len64(granules|layout.MempoolSubbins)) - 1 - layout.MempoolSubbinBits
	return up<<layout.MempoolSubbinBits + uint32(granules>>up)
}

func (t tables) binOfBytes(bytes uint64) uint32 { return binOf(bytes >> t.Shift) }

// nextBin returns the first bin in use from bin on, noBin when there is none.
func nextBin(b *layout.MempoolBins, bin uint32) uint32 {
	leaf, node := bin>>6, bin>>12
	word := b.Leaves[leaf] & (^uint64(0) << (bin & 63))
	if word == 0 {
		word = b.Nodes[node] & (^uint64(1) << (leaf & 63))
		if word == 0 {
			word = b.Top & (^uint64(1) << node)
			if word == 0 {
				return noBin
			}
			node = lowest(word)
			word = b.Nodes[node]
		}
		leaf = node<<6 | lowest(word)
		word = b.Leaves[leaf]
	}
	return leaf<<6 | lowest(word)
}

func lowest(word uint64) uint32  { return uint32(bits.TrailingZeros64(word)) }
func highest(word uint64) uint32 { return uint32(bits.Len64(word)) - 1 }

// lastBin returns the bin of the largest free block, noBin when there is none.
func lastBin(b *layout.MempoolBins) uint32 {
	if b.Top == 0 {
		return noBin
	}
	node := highest(b.Top)
	leaf := node<<6 | highest(b.Nodes[node])
	return leaf<<6 | highest(b.Leaves[leaf])
}

func setBin(b *layout.MempoolBins, bin uint32) {
	b.Leaves[bin>>6] |= 1 << (bin & 63)
	b.Nodes[bin>>12] |= 1 << (bin >> 6 & 63)
	b.Top |= 1 << (bin >> 12)
}

func clearBin(b *layout.MempoolBins, bin uint32) {
	if b.Leaves[bin>>6] &^= 1 << (bin & 63); b.Leaves[bin>>6] != 0 {
		return
	}
	if b.Nodes[bin>>12] &^= 1 << (bin >> 6 & 63); b.Nodes[bin>>12] != 0 {
		return
	}
	b.Top &^= 1 << (bin >> 12)
}

// priority is a bijection, so that no two records have the same.
func priority(record uint32) uint32 {
	x := record * 0x9E3779B1
	x = (x ^ x>>15) * 0x85EBCA77
	return x ^ x>>13
}

// before is the order of a treap; both are free.
func before(a, b *layout.MempoolBlock) bool {
	return a.Word < b.Word || a.Word == b.Word && a.Address < b.Address
}

// merge replaces the treap at link by one of its two halves.
func (t tables) merge(link *uint32, left, right uint32) {
	for left != 0 && right != 0 {
		if priority(left) > priority(right) {
			*link = left
			link = &t.blocks[left].Right
			left = *link
		} else {
			*link = right
			link = &t.blocks[right].Left
			right = *link
		}
	}
	*link = left | right
}

// split makes the treap at i the halves below x.
func (t tables) split(i uint32, x *layout.MempoolBlock) {
	smaller, larger := &x.Left, &x.Right
	for i != 0 {
		y := &t.blocks[i]
		if before(y, x) {
			*smaller = i
			smaller = &y.Right
			i = *smaller
		} else {
			*larger = i
			larger = &y.Left
			i = *larger
		}
	}
	*smaller, *larger = 0, 0
}

// descend returns the link that leads from y towards x.
func descend(y, x *layout.MempoolBlock) *uint32 {
	if before(y, x) {
		return &y.Right
	}
	return &y.Left
}

// insert makes a record that of a free block.
func (t tables) insert(record uint32, bytes uint64) {
	x := &t.blocks[record]
	x.Word = bytes | layout.MempoolFree
	t.FreeBlocks++
	bin := t.binOfBytes(bytes)
	link := &t.bins.Roots[bin]
	if *link == 0 {
		setBin(t.bins, bin)
	}
	for *link != 0 && priority(*link) > priority(record) {
		link = descend(&t.blocks[*link], x)
	}
	t.split(*link, x)
	*link = record
}

// take takes the block at link out of the treap of its bin.
func (t tables) take(bin uint32, link *uint32) {
	x := &t.blocks[*link]
	t.merge(link, x.Left, x.Right)
	t.FreeBlocks--
	if t.bins.Roots[bin] == 0 {
		clearBin(t.bins, bin)
	}
}

func (t tables) remove(record uint32) {
	x := &t.blocks[record]
	bin := t.binOfBytes(bytesOf(x))
	link := &t.bins.Roots[bin]
	for *link != record {
		link = descend(&t.blocks[*link], x)
	}
	t.take(bin, link)
}

// least returns the link to the first block of at least bytes in a treap, nil when
// there is none.
func (t tables) least(link *uint32, bytes uint64) (best *uint32) {
	for *link != 0 {
		if y := &t.blocks[*link]; bytesOf(y) >= bytes {
			best, link = link, &y.Left
		} else {
			link = &y.Right
		}
	}
	return best
}

// fit takes the best fit out: the least block of at least bytes. 0: there is none.
func (t tables) fit(bytes uint64) uint32 {
	bin := nextBin(t.bins, t.binOfBytes(bytes))
	for bin != noBin {
		if link := t.least(&t.bins.Roots[bin], bytes); link != nil {
			record := *link
			t.take(bin, link)
			return record
		}
		bin = nextBin(t.bins, bin+1) // of its own bin, only smaller ones are there
	}
	return 0
}

// largest returns the bytes of the largest free block.
func (t tables) largest() uint64 {
	bin := lastBin(t.bins)
	if bin == noBin {
		return 0
	}
	i := t.bins.Roots[bin]
	for t.blocks[i].Right != 0 {
		i = t.blocks[i].Right
	}
	return bytesOf(&t.blocks[i])
}
