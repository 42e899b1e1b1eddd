package trace

// recent is a ring of the newest allocations and releases. It stays after the end of
// the trace, for snapshots.
type recent struct {
	ring []Event
	next uint64 // how many were added
}

// recentEvents is how many are kept: with 64 bytes each, 4 MiB.
const recentEvents = 1 << 16

// clear keeps the memory of the ring, whose pages would cost more than the events that it takes.
func (r *recent) clear() {
	if r.ring == nil {
		r.ring = make([]Event, 0, recentEvents)
	}
	r.ring, r.next = r.ring[:0], 0
}

func (r *recent) add(e Event) {
	if len(r.ring) < recentEvents {
		r.ring = append(r.ring, e)
	} else {
		r.ring[r.next%recentEvents] = e
	}
	r.next++
}

// name gives the newest allocation at an address its site.
func (r *recent) name(address uint64, site uint32) {
	const near = 64 // it was made just now, perhaps by another thread between
	for back := uint64(1); back <= min(near, r.next); back++ {
		e := &r.ring[(r.next-back)%recentEvents]
		if e.Address == address && !e.Free {
			e.Site = site
			return
		}
	}
}

// Recent returns the newest allocations and releases of the trace that runs, or that
// ran last, oldest first.
func Recent() []Event {
	r := &recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	n := uint64(len(r.recent.ring))
	all := make([]Event, 0, n)
	for i := range n {
		all = append(all, r.recent.ring[(r.recent.next-n+i)%recentEvents])
	}
	return all
}
