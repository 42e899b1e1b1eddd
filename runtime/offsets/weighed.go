package offsets

import "slices"

// life is that of an item in weighed time.
type life struct{ begin, end float64 }

const (
	// loadBins is the number of classes of loads, by their distance from the largest one.
	loadBins = 1 << 12
	// Up to hotLives mean lives of sections, those with the largest loads, weigh about the same.
	hotLives = 3
)

// weighed is the weighed time before each section, and that of all of them. An outward sweep compares holes by what is
// left of them for how long, and by how long one neighbour outlives the other. Where many are alive at once, that costs
// nothing while the load is low, since there is room for holes then: a section weighs less, the more sections
// have a larger load. Where few are alive all weigh the same: what is left over is for mending, which needs room at all
// times.
func (in *instance) weighed() []float64 {
	if in.weights != nil {
		return in.weights
	}
	load := in.load()
	in.weights = make([]float64, len(load)+1)
	weight := func(int64) float64 { return 1 }
	if in.alivePerSection() > crowded {
		weight = in.byLoad(load)
	}
	for t, bytes := range load {
		in.weights[t+1] = in.weights[t] + weight(bytes)
	}
	in.watch(int64(len(load)))
	return in.weights
}

// byLoad gives each load a weight: 1 / (hotLives + L), where L is the time with a larger load, in mean lives.
func (in *instance) byLoad(load []int64) func(bytes int64) float64 {
	most, least := slices.Max(load), slices.Min(load)
	level := func(bytes int64) int {
		return min(loadBins-1, int(loadBins*(float64(most-bytes)/float64(max(1, most-least)))))
	}
	weights, larger := make([]float64, loadBins), make([]int, loadBins+1)
	for _, bytes := range load {
		larger[level(bytes)+1]++
	}
	in.watch(int64(2 * len(load)))
	mean := in.meanLife()
	for b := range weights {
		larger[b+1] += larger[b]
		weights[b] = 1 / (hotLives + float64(larger[b])/mean)
	}
	return func(bytes int64) float64 { return weights[level(bytes)] }
}

// meanLife is the mean number of sections that an item is alive in.
func (in *instance) meanLife() float64 { return float64(in.volume()) / float64(max(1, len(in.items))) }

// weighed is the life of an item as the sweep sees it.
func (o *outward) weighed(i int32) life {
	x := o.in.items[i].span
	if o.backwards {
		return life{-o.weights[x.end], -o.weights[x.first]}
	}
	return life{o.weights[x.first], o.weights[x.end]}
}
