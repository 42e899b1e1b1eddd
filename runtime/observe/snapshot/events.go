package snapshot

import (
	"maps"
	"slices"

	"tlruntime/runtime/observe/trace"
	"tlruntime/runtime/observe/track"
)

// replay turns the events of a trace into a history that leads to the segments. What
// the trace has not seen, such as the end of a block that another thread freed on the
// fast path, is made up for where it shows: the page runs the history backwards, and has
// to find each block that it needs, and the segment around it.
type replay struct {
	s      *Snapshot
	live   map[uint64]trace.Event // by address
	chunks map[uint64]trace.Event
}

func (s *Snapshot) history(all []trace.Event) {
	devices := 1
	for _, g := range s.segments {
		devices = max(devices, g.device+1)
	}
	for _, e := range all {
		devices = max(devices, deviceOf(e.Device)+1)
	}
	s.events = make([][]event, devices)
	r := &replay{s, map[uint64]trace.Event{}, map[uint64]trace.Event{}}
	for _, e := range all {
		r.step(e)
	}
	if len(all) > 0 {
		r.settle(all[len(all)-1].Micros)
	}
}

func (r *replay) step(e trace.Event) {
	if e.Kind == "chunk" {
		r.chunk(e)
		return
	}
	old, isLive := r.live[e.Address]
	switch {
	case e.Free && isLive:
		e.Bytes, e.Kind = old.Bytes, old.Kind
		r.end(e)
	case e.Free:
		r.end(e)
	case isLive:
		old.Micros = e.Micros
		r.end(old)
		r.begin(e)
	default:
		r.begin(e)
	}
}

func (r *replay) chunk(e trace.Event) {
	action := "segment_alloc"
	if e.Free {
		action = "segment_free"
	}
	if _, known := r.chunks[e.Address]; known && !e.Free {
		return // told twice: when the trace began
	}
	if e.Free {
		delete(r.chunks, e.Address)
	} else {
		r.chunks[e.Address] = e
	}
	r.add(deviceOf(e.Device), action, e)
}

func (r *replay) begin(e trace.Event) {
	r.live[e.Address] = e
	device := r.deviceOf(e)
	if e.Kind == track.Foreign.String() {
		r.add(device, "segment_alloc", e)
	}
	r.add(device, "alloc", e)
}

func (r *replay) end(e trace.Event) {
	delete(r.live, e.Address)
	device := r.deviceOf(e)
	r.add(device, "free_requested", e)
	r.add(device, "free_completed", e)
	if e.Kind == track.Foreign.String() {
		r.add(device, "segment_free", e)
	}
}

func (r *replay) add(device int, action string, e trace.Event) {
	r.s.events[device] = append(r.s.events[device], event{action, e.Address, max(e.Bytes, 1), e.Site, e.Micros})
}

// deviceOf finds the device of a pool's block by the chunk around it.
func (r *replay) deviceOf(e trace.Event) int {
	if e.Kind != track.Block.String() {
		return 0
	}
	for _, c := range r.chunks {
		if e.Address-c.Address < c.Bytes {
			return deviceOf(c.Device)
		}
	}
	for _, g := range r.s.segments {
		if g.kind == "pool" && e.Address-g.address < g.bytes {
			return g.device
		}
	}
	return 0
}

// settle ends what the segments do not have.
func (r *replay) settle(now uint64) {
	there := map[uint64]bool{}
	for _, g := range r.s.segments {
		for _, b := range g.blocks {
			if b.state != inactive {
				there[b.address] = true
			}
		}
	}
	for _, address := range slices.Sorted(maps.Keys(r.live)) {
		if !there[address] {
			e := r.live[address]
			e.Micros = now
			r.end(e)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(r.chunks)) {
		if e := r.chunks[address]; !r.s.has(address) {
			e.Free, e.Micros = true, now
			r.chunk(e)
		}
	}
}

// has tells whether a chunk of a pool starts at an address.
func (s *Snapshot) has(address uint64) bool {
	return slices.ContainsFunc(s.segments, func(g segment) bool { return g.kind == "pool" && g.address == address })
}
