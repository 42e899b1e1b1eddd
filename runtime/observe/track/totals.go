package track

import (
	"cmp"
	"sort"
)

// origin is where allocations are made, and under which tags.
type origin struct{ site, tag uint32 }

// Made is what was ever recorded of a site. Samples count for what they stand for.
type Made struct {
	Site, Tag    uint32
	Count, Bytes float64
}

// count adds the allocation to the totals of its site, or takes it off again.
func (e *Entry) count(sign float64) {
	key := origin{e.Site, e.Tag}
	m := tracker.made[key]
	if m == nil {
		m = &Made{Site: e.Site, Tag: e.Tag}
		tracker.made[key] = m
	}
	n := sign * float64(e.Weight)
	m.Count += n
	m.Bytes += n * float64(e.Bytes)
}

// Totals returns what was ever recorded, by site and tag, in their order.
func Totals() []Made {
	tracker.mu.Lock()
	defer tracker.mu.Unlock()
	all := make([]Made, 0, len(tracker.made))
	for _, m := range tracker.made {
		if m.Count > 0.5 {
			all = append(all, *m)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return cmp.Or(cmp.Compare(all[i].Site, all[j].Site), cmp.Compare(all[i].Tag, all[j].Tag)) < 0
	})
	return all
}
