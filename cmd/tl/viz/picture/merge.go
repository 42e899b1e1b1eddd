package picture

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// mostElements bounds the rectangles of an SVG picture that are elements of their
// own. The smaller ones become areas: pixels, as strong as they are covered.
const mostElements = 5000

// split returns the rectangles that are elements and those that are merged, both in
// their own order.
func split(boxes []box) (large, small []int) {
	order := make([]int, len(boxes))
	for i := range order {
		order[i] = i
	}
	if len(boxes) <= mostElements {
		return order, nil
	}
	sort.SliceStable(order, func(i, j int) bool { return boxes[order[i]].area() > boxes[order[j]].area() })
	large, small = order[:mostElements], order[mostElements:]
	sort.Ints(large)
	sort.Ints(small)
	return large, small
}

// cover is how much of a pixel is covered, and by which slot of the palette first.
type cover struct {
	part float64
	slot int
}

// levels is how many steps of opacity there are.
const levels = 8

// area is one path of merged pixels of one slot, with an opacity in eighths.
type area struct {
	Slot  int
	Level int
	Path  string
}

// Opacity is the attribute's value.
func (a area) Opacity() float64 { return float64(a.Level) / levels }

// merge adds up what the rectangles cover of each pixel of the panel. Rectangles of
// no height or width cover nothing.
func merge(boxes []box, small []int, slotOf func(int) int) []area {
	const width, height = int(panelWidth), int(panelHeight)
	cells := make([]cover, width*height)
	for _, i := range small {
		b := boxes[i]
		left, top := b.X-panelLeft, b.Y-panelTop
		for x := int(left); x < width && float64(x) < left+b.W; x++ {
			for y := int(top); y < height && float64(y) < top+b.H; y++ {
				cell := &cells[x*height+y]
				if cell.part == 0 {
					cell.slot = slotOf(i)
				}
				cell.part += overlap(float64(x), left, b.W) * overlap(float64(y), top, b.H)
			}
		}
	}
	return areasOf(cells, height)
}

// overlap is how much of the pixel at p lies between from and from+length.
func overlap(p, from, length float64) float64 {
	return max(0, math.Min(p+1, from+length)-math.Max(p, from))
}

// areasOf writes columns of equal pixels as parts of paths. Cells lie column by
// column.
func areasOf(cells []cover, height int) []area {
	var paths [slots][levels + 1]strings.Builder
	for begin := 0; begin < len(cells); {
		slot, strength := cells[begin].slot, level(cells[begin].part)
		end := begin + 1
		for end%height != 0 && cells[end].slot == slot && level(cells[end].part) == strength {
			end++
		}
		if strength > 0 {
			fmt.Fprintf(&paths[slot][strength], "M%d %dv%dh1v-%dz", int(panelLeft)+begin/height,
				int(panelTop)+begin%height, end-begin, end-begin)
		}
		begin = end
	}
	var areas []area
	for slot := range paths {
		for strength := range paths[slot] {
			if path := paths[slot][strength].String(); path != "" {
				areas = append(areas, area{slot, strength, path})
			}
		}
	}
	return areas
}

// level rounds to eighths, but never anything down to nothing that can be seen.
func level(part float64) int {
	switch {
	case part < 0.02:
		return 0
	case part < 1.0/levels:
		return 1
	}
	return min(int(math.Round(part*levels)), levels)
}
