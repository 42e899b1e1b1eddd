// Package picture draws where the buffers of a frame lie: time along one axis,
// addresses along the other, a rectangle for each buffer, and below it how many
// bytes are live at each step. It writes SVG, and an HTML page of one file with
// zoom, search and details, which needs nothing from the network.
//
// A Chart comes from an execution plan (FromPlan) or is filled in from any other
// list of buffers. Functions here only read what they are given and keep nothing:
// any number of goroutines may call them on one Chart.
package picture

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Chart is what a picture shows.
type Chart struct {
	Title string

	// Steps is the number of points in time, such as a plan's instructions.
	Steps     int
	StepNames []string // what happens at each step; empty, or Steps of them

	Buffers []Rect

	FrameBytes int64
	LowerBound int64 // no placement of these buffers is smaller; 0: not known
	Optimal    bool  // proved: no placement is smaller than FrameBytes
	NaiveBytes int64 // what the buffers take without any reuse; 0: not known

	Notes []string // short remarks for under the title, such as what the picture leaves out
}

// Rect is a buffer, or a part of its life: a buffer whose content is not needed for
// a while is several rectangles with one name. Names tell buffers apart.
type Rect struct {
	Name string
	Kind string // gives the colour: "activation", "input", "output", "constant", "scratch", or any other word

	// The buffer is alive in steps First to End-1. First is -1 for what is alive
	// before the first step, End is Steps+1 for what is alive after the last.
	First, End int

	Offset, Bytes int64  // in the frame
	Detail        string // for people, such as "f32 1x64x56x56"; may be empty
}

// maxExact is the highest number of bytes that the page's arithmetic, in doubles,
// keeps exact.
const maxExact = 1 << 53

// check tells what of a chart cannot be drawn.
func (c *Chart) check() error {
	if c == nil {
		return errors.New("picture: there is no chart (nil) to draw")
	}
	if c.Steps < 0 {
		return fmt.Errorf("picture: %d steps; a number from 0 is needed", c.Steps)
	}
	if n := len(c.StepNames); n != 0 && n != c.Steps {
		return fmt.Errorf("picture: %d names for %d steps; give each one, or none", n, c.Steps)
	}
	for _, figure := range []struct {
		name  string
		value int64
	}{{"FrameBytes", c.FrameBytes}, {"LowerBound", c.LowerBound}, {"NaiveBytes", c.NaiveBytes}} {
		if figure.value < 0 || figure.value > maxExact {
			return fmt.Errorf("picture: %s is %d; 0 to 2^53 can be drawn", figure.name, figure.value)
		}
	}
	for i := range c.Buffers {
		if err := c.checkRect(&c.Buffers[i]); err != nil {
			return fmt.Errorf("picture: buffer %d, %q: %w", i, c.Buffers[i].Name, err)
		}
	}
	return nil
}

func (c *Chart) checkRect(r *Rect) error {
	if r.First < -1 || r.End <= r.First || r.End > c.Steps+1 {
		return fmt.Errorf("alive from step %d to before %d; -1 <= First < End <= %d (Steps+1) is needed", r.First,
			r.End,
			c.Steps+1)
	}
	if r.Bytes < 0 || r.Offset < 0 || r.Offset > c.FrameBytes-r.Bytes {
		return fmt.Errorf("%d bytes at offset %d do not lie in the frame of %d bytes", r.Bytes, r.Offset, c.FrameBytes)
	}
	return nil
}

// span returns the steps that the time axis shows, first and end: the columns
// before the first and after the last step only where something is alive there.
func (c *Chart) span() (first, end int) {
	end = max(c.Steps, 1)
	for i := range c.Buffers {
		first = min(first, c.Buffers[i].First)
		end = max(end, c.Buffers[i].End)
	}
	return first, end
}

// groups numbers the names in the order in which they first appear, and returns
// them with the number of each rectangle's.
func (c *Chart) groups() (names []string, of []int) {
	known := make(map[string]int, len(c.Buffers))
	of = make([]int, len(c.Buffers))
	for i := range c.Buffers {
		name := c.Buffers[i].Name
		g, ok := known[name]
		if !ok {
			g = len(names)
			known[name] = g
			names = append(names, printable(name))
		}
		of[i] = g
	}
	return names, of
}

// printable replaces what XML forbids and what would reorder or hide text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == 0xFFFE ||
			r == 0xFFFF {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Kind is an entry of the legend.
type Kind struct {
	Name  string `json:"name"`
	Slot  int    `json:"slot"` // of the palette; of the textures in a picture of buffers
	Count int    `json:"count"`
}

// People is the count with commas.
func (k Kind) People() string { return humanize.Comma(int64(k.Count)) }

var usualSlots = map[string]int{"activation": 0, "input": 1, "output": 2, "constant": 3, "scratch": 4}

// kinds returns the legend, in the order in which kinds first appear, and the entry
// of each rectangle. Kinds without a texture of their own take the free ones in turn.
func (c *Chart) kinds(groups []int) (legend []Kind, of []int) {
	of = make([]int, len(c.Buffers))
	entries, counted := map[string]int{}, map[[2]int]bool{}
	free := freeSlots(c.Buffers)
	unusual := 0
	for i := range c.Buffers {
		name := c.Buffers[i].Kind
		e, ok := entries[name]
		if !ok {
			slot, usual := usualSlots[name]
			if !usual {
				slot = free[unusual%len(free)]
				unusual++
			}
			e = len(legend)
			entries[name] = e
			legend = append(legend, Kind{Name: kindLabel(name), Slot: slot})
		}
		of[i] = e
		if !counted[[2]int{e, groups[i]}] {
			counted[[2]int{e, groups[i]}] = true
			legend[e].Count++
		}
	}
	return legend, of
}

func kindLabel(name string) string {
	if name == "" {
		return "buffer"
	}
	return printable(name)
}

// freeSlots are those that no usual kind of these buffers takes; never none.
func freeSlots(buffers []Rect) []int {
	var taken [weaves]bool
	for i := range buffers {
		if s, usual := usualSlots[buffers[i].Kind]; usual {
			taken[s] = true
		}
	}
	var free []int
	for s, t := range taken {
		if !t {
			free = append(free, s)
		}
	}
	return free
}
