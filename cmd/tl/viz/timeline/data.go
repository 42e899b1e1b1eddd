package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/cmd/tl/viz/picture"
)

// data lays the trace out for the page's scripts.
func (t *Trace) data(live curve, peak int64, when float64, sites []site, number map[uint32]int) *pageData {
	axis := t.axis()
	d := &pageData{Steps: t.End, End: t.End, Peak: peak, When: when, Live: live, Names: []string{}, Stacks: []string{},
		Types: []string{},
		Group: []int{}, Kind: []int{}, Type: []int{}, First: []float64{}, Stop: []float64{}, Offset: []int64{},
		Bytes: []int64{}, Freed: []int{}, Paths: []string{}, Path: []int{},
		Kinds: []picture.Kind{}, Pieces: []pieceData{}, Regions: regions(axis), Chunks: []chunkData{},
		Marks: marks(t.Marks), Alerts: marks(t.Alerts)}
	d.Pools, _ = t.pools()
	blocks := t.largest()
	number = d.addSites(sites, number, blocks)
	for i := range axis {
		p := &axis[i]
		d.Pieces = append(d.Pieces, pieceData{p.at, p.room, p.bytes(), fmt.Sprintf("%#x", p.start), p.name, p.used})
		d.Frame = p.at + p.room
	}
	for _, c := range largest(t.Chunks, mostChunks, (*Chunk).area) {
		low := placeOf(axis, c.Address)
		d.Chunks = append(d.Chunks, chunkData{low, placeOf(axis, c.Address+c.Bytes) - low, c.First, c.End})
	}
	d.addBlocks(blocks, axis, number)
	d.addPaths(blocks, t.heldBy)
	return d
}

// addSites adds the sites of the blocks that are drawn, in the order of all, and returns
// the number there of each site of the file.
func (d *pageData) addSites(sites []site, number map[uint32]int, blocks []*Block) map[uint32]int {
	drawn := map[int]int{}
	for _, b := range blocks {
		drawn[number[b.Site]] = 0
	}
	for n, at := range slices.Sorted(maps.Keys(drawn)) {
		s := &sites[at]
		d.Names, d.Stacks = append(d.Names, s.Name), append(d.Stacks, innermost(s.calls))
		drawn[at] = n
	}
	of := map[uint32]int{}
	for _, b := range blocks {
		of[b.Site] = drawn[number[b.Site]]
	}
	return of
}

func (d *pageData) addBlocks(blocks []*Block, axis []piece, number map[uint32]int) {
	kinds, types := map[string]int{}, map[string]int{}
	for _, b := range blocks {
		kind, known := kinds[b.kindOf()]
		if !known {
			kind = len(d.Kinds)
			kinds[b.kindOf()] = kind
			d.Kinds = append(d.Kinds, picture.Kind{Name: b.kindOf(), Slot: slotOf[b.kindOf()]})
		}
		d.Kinds[kind].Count++
		text := typeText(b)
		if _, known := types[text]; !known {
			types[text] = len(d.Types)
			d.Types = append(d.Types, text)
		}
		d.Group, d.Kind, d.Type = append(d.Group, number[b.Site]), append(d.Kind, kind), append(d.Type, types[text])
		d.First, d.Stop = append(d.First, b.First), append(d.Stop, b.End)
		d.Offset, d.Bytes = append(d.Offset, placeOf(axis, b.Address)), append(d.Bytes, int64(b.Bytes))
		freed := 0
		if b.Freed {
			freed = 1
		}
		d.Freed = append(d.Freed, freed)
	}
}

// addPaths tells who holds the blocks at the end.
func (d *pageData) addPaths(blocks []*Block, heldBy func(*Block) string) {
	paths := map[string]int{}
	for _, b := range blocks {
		text := heldBy(b)
		if _, known := paths[text]; !known {
			paths[text] = len(d.Paths)
			d.Paths = append(d.Paths, text)
		}
		d.Path = append(d.Path, paths[text])
	}
}

// typeText is the type of a block and its tag, two lines.
func typeText(b *Block) string {
	text := b.Type
	if text == "" {
		text = "plain bytes"
	}
	return text + "\n" + b.Tag
}

// innermost are the calls that tell most, a line each.
func innermost(calls []string) string { return strings.Join(calls[:min(len(calls), 6)], "\n") }

// mostMarks bounds marks, and signs of pressure: of more an even selection is drawn.
const mostMarks = 400

func marks(all []Mark) []markData {
	list, every := []markData{}, (len(all)+mostMarks-1)/mostMarks
	for i := 0; i < len(all); i += every {
		list = append(list, markData(all[i]))
	}
	return list
}

// pools is the curve of what chunks take, by the events themselves: counters come late.
func (t *Trace) pools() (c curve, most int64) {
	var changes []change
	for _, x := range t.Chunks {
		changes = append(changes, change{x.First, int64(x.Bytes)})
		if x.returned {
			changes = append(changes, change{x.End, -int64(x.Bytes)})
		}
	}
	c, most, _ = t.sum(changes)
	return c, most
}
