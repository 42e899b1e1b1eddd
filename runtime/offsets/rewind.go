package offsets

import "slices"

const (
	// checkpoints are kept of an outward sweep at most, and so many cells in all of them.
	checkpoints, checkpointCells = 16, 1 << 20
	// rewoundNoise is the part by which the costs of holes differ by chance in what is placed again.
	rewoundNoise = 0.25
)

// rewinding takes an outward sweep back in time when it finds no room for something, to go on from there with other
// choices. Only what began before is in the way then, and that is what changes.
type rewinding struct {
	due      []bool        // by section of the sweep: a checkpoint is made
	points   []*checkpoint // the earliest first
	spare    []*checkpoint
	farthest int   // in begin: the latest item that found no room
	tried    int64 // attempts in a row to get past it
}

// checkpoint is the state of an outward sweep before it places begin[next].
type checkpoint struct {
	cells    []cell
	unused   []int32
	bins     [binCount]int32
	filled   [binCount / 64]uint64
	since    []int32 // of the items, from the lowest
	next     int
	ended    int
	unplaced int
	limit    int64
}

// startRewinding makes a checkpoint now, and marks where others are due: in every stretch of half a mean life, at the
// section with the least load.
func (o *outward) startRewinding(next int) {
	if o.attempts == 0 {
		return
	}
	load, step := o.in.load(), int(o.mean)/2+1
	o.due = make([]bool, len(load))
	for low := 0; low < len(load); low += step {
		part := load[low:min(low+step, len(load))]
		o.due[low+slices.Index(part, slices.Min(part))] = true
	}
	if o.backwards {
		slices.Reverse(o.due)
	}
	o.save(next)
}

// checkpoint saves the state before begin[next], if that is due.
func (o *outward) checkpoint(next int) {
	if o.due == nil || !o.due[o.in.when(o.begin[next], o.backwards).first] {
		return
	}
	if next > 0 && o.in.when(o.begin[next-1], o.backwards).first == o.in.when(o.begin[next], o.backwards).first {
		return
	}
	if n := len(o.points); n == 0 || o.points[n-1].next < next {
		o.save(next)
	}
}

func (o *outward) save(next int) {
	var c *checkpoint
	switch n := len(o.spare); {
	case n > 0:
		c, o.spare = o.spare[n-1], o.spare[:n-1]
	case len(o.points) >= max(1, min(checkpoints, checkpointCells/len(o.cells))):
		c = o.points[0]
		o.points = slices.Delete(o.points, 0, 1)
	default:
		c = &checkpoint{}
	}
	c.cells, c.unused = append(c.cells[:0], o.cells...), append(c.unused[:0], o.unused...)
	c.bins, c.filled, c.since = o.bins, o.filled, c.since[:0]
	o.eachItem(func(_ int32, x *cell) { c.since = append(c.since, o.since[x.item]) })
	c.next, c.ended, c.unplaced, c.limit = next, o.ended, len(o.unplaced), o.limit
	o.points = append(o.points, c)
	if next > o.farthest {
		o.tried, o.noise = 0, 0
	}
	o.looks += int64(len(c.cells)) / 4
}

// eachItem calls visit with every cell that an item lies in, the lowest first.
func (o *outward) eachItem(visit func(k int32, x *cell)) {
	for k := o.cells[o.floor].after; k != o.top; k = o.cells[k].after {
		if x := &o.cells[k]; !x.free {
			visit(k, x)
		}
	}
}

// rewind goes back to a checkpoint since begin[next] found no room: one half of the attempts to the last one, a quarter
// to the one before, and so on. It says whether it did. Where the limit goes up instead, the checkpoints stay, for the
// next item that finds no room nearby.
func (o *outward) rewind(next *int) bool {
	if o.due == nil {
		return false
	}
	o.farthest = max(o.farthest, *next)
	switch o.tried++; {
	case len(o.points) > 0 && o.tried <= o.attempts && o.again >= 0:
	case o.stretch > 0:
		o.tried, o.noise = 0, 0
		return false
	default:
		o.spare = append(o.spare, o.points...)
		o.points = o.points[:0]
		return false
	}
	last := len(o.points) - 1
	for x := luby(o.tried); x > 1 && last > 0; x /= 2 {
		last--
	}
	c := o.points[last]
	o.spare = append(o.spare, o.points[last+1:]...)
	o.points = o.points[:last+1]
	o.cells, o.unused = append(o.cells[:0], c.cells...), append(o.unused[:0], c.unused...)
	o.bins, o.filled = c.bins, c.filled
	since := c.since
	o.eachItem(func(k int32, x *cell) {
		o.owner[x.item], o.offset[x.item], o.since[x.item] = k, x.at, since[0]
		since = since[1:]
	})
	if c.limit < o.limit {
		o.extend(c.limit)
	}
	o.again -= int64(*next - c.next)
	o.looks += int64(len(c.cells)) / 4
	if o.noise = rewoundNoise; o.stretch == 0 {
		o.preference = preferences[o.tried%2]
	}
	o.ended, o.unplaced, *next = c.ended, o.unplaced[:c.unplaced], c.next
	return true
}
