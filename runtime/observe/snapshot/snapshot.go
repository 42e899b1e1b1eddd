// Package snapshot writes where memory lies at a moment in the form that
// torch.cuda.memory._snapshot has, for https://pytorch.org/memory_viz and the tools that
// read the same: segments tiled by blocks, and, of a trace, the events that led there.
//
//	snapshot.go  what there is, and how it is written
//	collect.go   segments
//	blocks.go    slots of the heap, and registered blocks
//	events.go    events that agree with the segments
//	pickle.go    the format
//
// Segments are chunks of memory pools, stretches of the heap, and registered blocks.
// The CPU is device 0.
package snapshot

import (
	"strings"

	"tlruntime/runtime/observe/trace"
)

// States of blocks, as PyTorch calls them.
const (
	active   = "active_allocated"
	waiting  = "active_pending_free"
	inactive = "inactive"
)

// Snapshot is memory at one moment.
type Snapshot struct {
	segments []segment
	events   [][]event // by device
	frames   func(site uint32) []trace.Frame
}

// segment is a stretch of addresses that blocks tile.
type segment struct {
	address, bytes uint64
	device         int
	kind           string // "pool", "heap" or "registered"
	blocks         []block
}

type block struct {
	address, bytes, requested uint64
	state                     string
	site                      uint32
}

// event is a step of the history, by PyTorch's names.
type event struct {
	action         string
	address, bytes uint64
	site           uint32
	micros         uint64
}

// Pickle renders the snapshot as Python would pickle it.
func (s *Snapshot) Pickle() []byte {
	w := &pickled{pickler: newPickler(), s: s, known: map[uint32]uint32{}}
	w.dict(func() {
		w.text("segments")
		w.list(len(s.segments), func(i int) { w.segment(&s.segments[i]) })
		w.text("device_traces")
		w.list(len(s.events), func(d int) {
			w.list(len(s.events[d]), func(i int) { w.event(s.events[d][i]) })
		})
		w.text("allocator_settings")
		w.dict(func() {})
		w.text("external_annotations")
		w.list(0, nil)
	})
	return w.finish()
}

type pickled struct {
	*pickler
	s     *Snapshot
	known map[uint32]uint32 // frames of a site that were written already
}

func (w *pickled) segment(g *segment) {
	var allocated, requested uint64
	for _, b := range g.blocks {
		if b.state != inactive {
			allocated += b.bytes
			requested += b.requested
		}
	}
	w.dict(func() {
		w.numberOf("device", uint64(g.device))
		w.numberOf("address", g.address)
		w.numberOf("total_size", g.bytes)
		w.numberOf("allocated_size", allocated)
		w.numberOf("active_size", allocated)
		w.numberOf("requested_size", requested)
		w.numberOf("stream", 0)
		w.textOf("segment_type", g.kind)
		w.text("is_expandable")
		w.out = append(w.out, opFalse)
		w.text("frames")
		w.list(0, nil)
		w.text("blocks")
		w.list(len(g.blocks), func(i int) { w.block(g.blocks[i]) })
	})
}

func (w *pickled) block(b block) {
	w.dict(func() {
		w.numberOf("address", b.address)
		w.numberOf("size", b.bytes)
		w.numberOf("requested_size", b.requested)
		w.textOf("state", b.state)
		w.framesOf(b.site)
	})
}

func (w *pickled) event(e event) {
	w.dict(func() {
		w.textOf("action", e.action)
		w.numberOf("addr", e.address)
		w.numberOf("size", e.bytes)
		w.numberOf("stream", 0)
		w.numberOf("time_us", e.micros)
		w.framesOf(e.site)
	})
}

// framesOf writes the frames of a site, once.
func (w *pickled) framesOf(site uint32) {
	w.text("frames")
	if n, known := w.known[site]; known {
		w.refer(n)
		return
	}
	var frames []trace.Frame
	if site != 0 {
		frames = w.s.frames(site)
	}
	w.list(len(frames), func(i int) {
		w.dict(func() {
			w.textOf("name", strings.ToValidUTF8(frames[i].Name, "?"))
			w.textOf("filename", strings.ToValidUTF8(frames[i].File, "?"))
			w.numberOf("line", uint64(max(frames[i].Line, 0)))
		})
	})
	w.known[site] = w.keep()
}
