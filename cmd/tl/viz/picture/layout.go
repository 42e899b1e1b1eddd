package picture

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// The SVG picture's measures, in pixels.
const (
	svgWidth, svgHeight = 1200.0, 760.0

	panelLeft, panelTop, panelWidth, panelHeight = 96.0, 150.0, 1000.0, 410.0
	lowerTop, lowerHeight                        = 600.0, 110.0

	fontSize   = 11.0
	lineHeight = 12.0
)

// axes turns steps and addresses into places of the picture.
type axes struct {
	start, end int
	frame      float64
	highest    float64 // of the lower panel
}

func (a axes) x(step float64) float64 {
	return panelLeft + (step-float64(a.start))/float64(a.end-a.start)*panelWidth
}

func (a axes) y(address int64) float64 {
	return panelTop + panelHeight - float64(address)/a.frame*panelHeight
}

func (a axes) live(bytes int64) float64 {
	return lowerTop + lowerHeight - float64(bytes)/a.highest*lowerHeight
}

// box is an area of the picture.
type box struct{ X, Y, W, H float64 }

func (a axes) box(r *Rect) box {
	x, y := a.x(float64(r.First)), a.y(r.Offset+r.Bytes)
	return box{x, y, a.x(float64(r.End)) - x, a.y(r.Offset) - y}
}

// crisp moves the edges to whole pixels and leaves a gap to the right and below
// where there is room for one. What is smaller than a pixel stays as it is.
func (b box) crisp() box {
	if b.W < 1 || b.H < 1 {
		return b
	}
	x, y := math.Round(b.X), math.Round(b.Y)
	w, h := math.Round(b.X+b.W)-x, math.Round(b.Y+b.H)-y
	if w >= 4 {
		w--
	}
	if h >= 3 {
		h--
	}
	return box{x, y, w, h}
}

func (b box) touches(c box) bool {
	return b.X < c.X+c.W+3 && c.X < b.X+b.W+3 && b.Y < c.Y+c.H && c.Y < b.Y+b.H
}

func (b box) area() float64 { return b.W * b.H }

// tick is a value of an axis and how it is called.
type tick struct {
	value int64
	text  string
}

// byteTicks are multiples of a power of two from 0 to high, at most most and 1 of
// them; their texts are exact.
func byteTicks(high int64, most float64) []tick {
	step := int64(1)
	for float64(high)/float64(step) > most {
		step *= 2
	}
	// The unit is the largest that leaves three binary places.
	unit := (bits.Len64(uint64(step)) + 2) / 10
	ticks := []tick{{0, "0"}}
	for v := step; v <= high; v += step {
		number := strconv.FormatFloat(float64(v)/math.Pow(1024, float64(unit)), 'f', -1, 64)
		ticks = append(ticks, tick{v, withCommas(number) + " " + []string{"B", "KiB", "MiB", "GiB", "TiB",
			"PiB"}[unit]})
	}
	return ticks
}

func withCommas(number string) string {
	whole, fraction, found := strings.Cut(number, ".")
	n, _ := strconv.ParseInt(whole, 10, 64)
	if found {
		fraction = "." + fraction
	}
	return humanize.Comma(n) + fraction
}

// stepTicks are steps one, two or five times a power of ten apart, and the columns
// before the first and after the last step where the axis has them.
func stepTicks(start, end, steps int, most float64) []tick {
	step := 1
	for i := 0; float64(end-start)/float64(step) > most; i++ {
		step = step * 2
		if i%3 == 1 {
			step = step / 4 * 5
		}
	}
	var ticks []tick
	for v := 0; v < steps; v += step {
		ticks = append(ticks, tick{int64(v), humanize.Comma(int64(v))})
	}
	if start < 0 {
		ticks = append(ticks, tick{-1, "before"})
	}
	if end > steps && steps > 0 {
		ticks = append(ticks, tick{int64(steps), "after"})
	}
	return ticks
}

// textWidth is how wide text may be in the widest of the usual fonts, in ems: an SVG
// picture cannot measure.
func textWidth(text string) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijlI.,:;|!'()[]/ ", r):
			w += 0.42
		case strings.ContainsRune("mMwW@%", r) || r > 0x2000:
			w += 1
		case r >= 'A' && r <= 'Z' || r > 0x7f:
			w += 0.78
		default:
			w += 0.64
		}
	}
	return w
}

// text is a label of the picture, centred at X, Y unless Anchor says otherwise.
type text struct {
	X, Y    float64
	Anchor  string // start, middle or end
	Class   string
	Upright bool // reads from below to above
	Text    string
}

func (t text) area() box {
	w := textWidth(t.Text) * fontSize
	switch {
	case t.Upright:
		return box{t.X - lineHeight/2, t.Y - w/2, lineHeight, w}
	case t.Anchor == "end":
		return box{t.X - w, t.Y - lineHeight/2, w, lineHeight}
	case t.Anchor == "start":
		return box{t.X, t.Y - lineHeight/2, w, lineHeight}
	}
	return box{t.X - w/2, t.Y - lineHeight/2, w, lineHeight}
}

// Place returns the attributes that put the label where it belongs; the base line
// is a third of the font's size below its middle.
func (t text) Place() string {
	if t.Upright {
		return fmt.Sprintf("translate(%.1f %.1f) rotate(-90)", t.X+fontSize/3, t.Y)
	}
	return fmt.Sprintf("translate(%.1f %.1f)", t.X, t.Y+fontSize/3)
}

// texts are labels that do not touch each other: add leaves out one that would
// touch an earlier one, or leave the picture.
type texts struct {
	list  []text
	areas []box
}

func (l *texts) add(t text) bool {
	if t.Anchor == "" {
		t.Anchor = "middle"
	}
	area := t.area()
	if area.X < 0 || area.Y < 0 || area.X+area.W > svgWidth || area.Y+area.H > svgHeight {
		return false
	}
	for _, other := range l.areas {
		if area.touches(other) {
			return false
		}
	}
	l.list = append(l.list, t)
	l.areas = append(l.areas, area)
	return true
}

// shorten keeps the end of a name, which tells more than its beginning; "" when
// fewer than twelve letters would be left. The room is in pixels, as the font's size.
func shorten(name string, room, size float64) string {
	if textWidth(name)*size <= room {
		return name
	}
	letters := []rune(name)
	for n := len(letters) - 1; n >= 12; n-- {
		if end := "…" + string(letters[len(letters)-n:]); textWidth(end)*size <= room {
			return end
		}
	}
	return ""
}

// beginning keeps the beginning of a text that has no room.
func beginning(text string, room, size float64) string {
	if textWidth(text)*size <= room {
		return text
	}
	letters := []rune(text)
	n := len(letters)
	for n > 1 && textWidth(string(letters[:n])+"…")*size > room {
		n--
	}
	return string(letters[:n]) + "…"
}
