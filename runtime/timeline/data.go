package timeline

import (
	"fmt"

	"tlruntime/runtime/plan/picture"
)

// data lays the trace out for the page's scripts.
func (t *Trace) data(live curve, peak int64, when float64, sites []site, number map[uint32]int) *pageData {
	bands := t.bands()
	d := &pageData{Steps: t.End, End: t.End, Peak: peak, When: when, Live: live, Names: []string{}, Stacks: []string{}, Types: []string{},
		Group: []int{}, Kind: []int{}, Type: []int{}, First: []float64{}, Stop: []float64{}, Offset: []int64{}, Bytes: []int64{}, Freed: []int{},
		Kinds: []picture.Kind{}, Bands: []bandData{}, Chunks: []chunkData{}, Marks: marks(t.Marks), Alerts: marks(t.Alerts)}
	d.Pools, _ = t.pools()
	for _, s := range sites {
		d.Names = append(d.Names, s.Name)
		d.Stacks = append(d.Stacks, join3(s.Stack))
	}
	for _, b := range bands {
		bytes := int64(b.end - b.start)
		d.Bands = append(d.Bands, bandData{b.at, bytes, fmt.Sprintf("%#x", b.start), b.name})
		d.Frame = b.at + bytes
	}
	for _, c := range t.Chunks {
		if i := find(bands, c.Address); i >= 0 {
			d.Chunks = append(d.Chunks, chunkData{bands[i].at + int64(c.Address-bands[i].start), int64(c.Bytes), c.First, c.End})
		}
	}
	d.addBlocks(t, bands, number)
	return d
}

func (d *pageData) addBlocks(t *Trace, bands []band, number map[uint32]int) {
	kinds, types := map[string]int{}, map[string]int{}
	for _, b := range t.largest() {
		i := find(bands, b.Address)
		if i < 0 {
			continue
		}
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
		d.Offset, d.Bytes = append(d.Offset, bands[i].at+int64(b.Address-bands[i].start)), append(d.Bytes, int64(b.Bytes))
		freed := 0
		if b.Freed {
			freed = 1
		}
		d.Freed = append(d.Freed, freed)
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

// join3 keeps the frames that tell most.
func join3(stack []string) string {
	text := ""
	for i, f := range stack[:min(len(stack), 6)] {
		if i > 0 {
			text += "\n"
		}
		text += f
	}
	return text
}

func marks(all []Mark) []markData {
	const most = 400
	list := []markData{}
	for _, m := range all[:min(len(all), most)] {
		list = append(list, markData(m))
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
