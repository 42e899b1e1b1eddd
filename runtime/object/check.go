package object

import (
	"fmt"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
)

// CheckStats compares what ReadStats and ReadTypes sum up with what stands in the
// heap's records, and with the heap's own books. For tests: nothing else may run.
//
//	slot in use == its record is ALIVE or has a type
//	sum over types == sum of each type
//	slots out of a depot == slots in use + slots in magazines, in warm places and in the quarantine
func CheckStats() error {
	process.resting.mu.Lock()
	defer process.resting.mu.Unlock()
	return checkStats()
}

func checkStats() error {
	var want Stats
	_, ranges := process.heap.Ranges()
	want.LiveBytes, want.Kinds[layout.TypeTensor].Bytes, want.Classes[layout.ClassLarge].Bytes = ranges, ranges, ranges
	types := map[uint32]uint64{}
	process.heap.Slabs(func(s heap.Slab) {
		for i := range s.Slots {
			e := s.Slot(i)
			if s.Cells {
				if s.HasCell(i) {
					want.countSlot(types, layout.TypePlain, process.heap.ClassOf(e.Object), uint64(s.Size))
				}
				continue
			}
			r := process.heap.Record(e.Record)
			typ := atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask
			if atomic.LoadUint32(&r.Sh)&layout.ShAlive == 0 && typ == layout.TypePlain {
				continue
			}
			want.countSlot(types, typ, r.Gen&0xFF, process.heap.Size(e.Object))
		}
	})
	return want.compare(types, readStats(), ReadTypes())
}

func (s *Stats) countSlot(types map[uint32]uint64, typ, class uint32, bytes uint64) {
	s.LiveObjects++
	s.LiveBytes += bytes
	s.Classes[class].Allocations++
	s.Classes[class].Bytes += bytes
	if typ >= layout.TypeFirstUser {
		types[typ]++
	} else if typ != layout.TypePlain {
		s.Kinds[typ].Allocations++
		s.Kinds[typ].Bytes += bytes
	}
}

func (s *Stats) compare(types map[uint32]uint64, got Stats, gotTypes []TypeStats) error {
	if got.LiveObjects != s.LiveObjects || got.LiveBytes != s.LiveBytes {
		return fmt.Errorf("%d objects of %d bytes are counted, there are %d of %d", got.LiveObjects, got.LiveBytes,
			s.LiveObjects, s.LiveBytes)
	}
	out := process.heap.Usage().Out
	waiting, _ := quarantined()
	for class := range s.Classes {
		k, want := &got.Classes[class], &s.Classes[class]
		if k.Live() != want.Live() || k.Bytes != want.Bytes ||
			uint64(out[class]) != k.Live()+cached(uint32(class))+uint64(waiting[class]) {
			return fmt.Errorf("class %d: %d objects of %d bytes are counted, there are %d of %d; %d slots are out",
				class,
				k.Live(), k.Bytes, want.Live(), want.Bytes, out[class])
		}
	}
	for kind := range s.Kinds {
		k, want := &got.Kinds[kind], &s.Kinds[kind]
		if k.Live() != want.Live() || k.Bytes != want.Bytes {
			return fmt.Errorf("kind %d: %d slots of %d bytes are counted, there are %d of %d", kind, k.Live(), k.Bytes,
				want.Live(), want.Bytes)
		}
	}
	var each KindStats
	for i := range gotTypes {
		t := &gotTypes[i]
		if t.Live() != types[t.Type] {
			return fmt.Errorf("type %s: %d objects are counted, there are %d", t.Name, t.Live(), types[t.Type])
		}
		each.Allocations += t.Allocations
		each.Frees += t.Frees
		each.Bytes += t.Bytes
	}
	if sum := SumTypes(); sum != each {
		return fmt.Errorf("types: the sum is %v, and that of each type %v", sum, each)
	}
	return nil
}

// cached returns how many free slots of a class are in magazines.
func cached(class uint32) (n uint64) {
	if class == 0 || class >= layout.ClassLarge {
		return 0
	}
	EachContext(func(c *Context) {
		n += uint64(c.Magazines[class].Top-c.Magazines[class].Base) / layout.EntryBytes
		c.eachWarm(func(warm uint32) {
			if warm == class {
				n++
			}
		})
	})
	return n
}
