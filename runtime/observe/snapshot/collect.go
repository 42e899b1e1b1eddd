package snapshot

import (
	"cmp"
	"slices"
	"sort"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
)

// Take looks at all memory, which is linear in it. frames tells the code of a site. Of
// what other threads allocate and free meanwhile some may be missing.
func Take(frames func(site uint32) []trace.Frame) *Snapshot {
	s := &Snapshot{frames: frames}
	history := trace.Recent()
	s.pools()
	s.heap(history)
	s.registered()
	sort.Slice(s.segments, func(i, j int) bool {
		a, b := &s.segments[i], &s.segments[j]
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.address, b.address)) < 0
	})
	s.history(history)
	return s
}

// deviceOf returns the number by which a device stands in a snapshot: accounts that are
// no device come behind the CPU's.
func deviceOf(account int32) int { return max(int(account), 0) }

// used makes a block of an allocation, with what tracking knows of it.
func used(ref track.Ref, address, bytes uint64) block {
	b := block{address: address, bytes: bytes, requested: bytes, state: active}
	if e, known := track.Find(ref); known {
		b.site = e.Site
		if e.Bytes > 0 {
			b.requested = min(e.Bytes, bytes)
		}
	}
	return b
}

func (s *Snapshot) pools() {
	mempool.Blocks(func(c mempool.Chunk, blocks []mempool.Block) {
		g := segment{address: c.Address, bytes: c.Bytes, device: deviceOf(c.Account), kind: "pool"}
		for _, b := range blocks {
			at := used(track.Ref{Kind: track.Block, Key: b.Address}, b.Address, b.Bytes)
			switch b.State {
			case mempool.Waiting:
				at.state = waiting
			case mempool.Free:
				at = block{address: b.Address, bytes: b.Bytes, state: inactive}
			}
			g.blocks = append(g.blocks, at)
		}
		s.segments = append(s.segments, g)
	})
}

// heap makes segments of what the heap uses and of what events tell that it used:
// objects that are gone lie in a segment, too.
func (s *Snapshot) heap(history []trace.Event) {
	var blocks []block
	var spans []layoutRange
	heapSlots(func(b slot) {
		spans = append(spans, spanOf(b.address, b.bytes))
		if b.used {
			blocks = append(blocks, used(b.ref, b.address, b.bytes))
		}
	})
	for _, e := range history {
		if e.Kind == track.Object.String() {
			spans = append(spans, spanOf(e.Address, e.Bytes))
		}
	}
	sort.Slice(blocks, func(i, j int) bool { return blocks[i].address < blocks[j].address })
	for _, at := range merge(spans) {
		n, _ := slices.BinarySearchFunc(blocks, at.end, func(b block, end uint64) int {
			return cmp.Compare(b.address, end)
		})
		s.segments = append(s.segments, segment{address: at.start, bytes: at.end - at.start, kind: "heap",
			blocks: tile(at, blocks[:n])})
		blocks = blocks[n:]
	}
}

type layoutRange struct{ start, end uint64 }

func spanOf(address, bytes uint64) layoutRange {
	const span = layout.SpanBytes
	return layoutRange{address &^ (span - 1), (address + max(bytes, 1) + span - 1) &^ (span - 1)}
}

// merge joins ranges that touch or overlap.
func merge(all []layoutRange) (joined []layoutRange) {
	sort.Slice(all, func(i, j int) bool { return all[i].start < all[j].start })
	for _, r := range all {
		if n := len(joined); n > 0 && r.start <= joined[n-1].end {
			joined[n-1].end = max(joined[n-1].end, r.end)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// tile fills what lies between blocks with inactive ones.
func tile(at layoutRange, blocks []block) (all []block) {
	for _, b := range blocks {
		if b.address > at.start {
			all = append(all, block{address: at.start, bytes: b.address - at.start, state: inactive})
		}
		all = append(all, b)
		at.start = b.address + b.bytes
	}
	if at.start < at.end {
		all = append(all, block{address: at.start, bytes: at.end - at.start, state: inactive})
	}
	return all
}

func (s *Snapshot) registered() {
	registeredBlocks(func(b slot) {
		bytes := max(b.bytes, 1)
		s.segments = append(s.segments, segment{address: b.address, bytes: bytes, kind: "registered",
			blocks: []block{used(b.ref, b.address, bytes)}})
	})
}
