package picture

import (
	"bufio"
	"fmt"
	"html/template"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/dustin/go-humanize"
)

var svgTemplate = template.Must(template.ParseFS(assets, "assets/chart.svg"))

// drawing is what the template of the SVG picture is filled with.
type drawing struct {
	Width, Height float64
	Title         string
	Remarks       string
	Style         template.CSS
	Textures      []texture
	Figures       []placedFigure
	Legend        []placedKind
	More          string // kinds that the legend leaves out
	MoreX         float64
	Grid, Axis    []line
	Bounds        []boundLine
	Areas         []area
	Rects         []element
	Steps         []namedStep
	Curve         string
	Texts         []text
}

type placedFigure struct {
	Figure
	X             float64
	First, Proved bool
}

type placedKind struct {
	Kind
	X float64
}

// boundLine is a line of the class "frame" or "bound".
type boundLine struct {
	line
	Class string
}

type line struct{ X1, Y1, X2, Y2 float64 }

type element struct {
	box
	look
	Hover   string
	Texture int
	Weave   box // where the texture lies; nothing when there is no room
}

// namedStep is the column of a step below the frame, with what happens there.
type namedStep struct {
	box
	Hover string
}

// WriteSVG writes the picture as SVG, which needs nothing else. Pointing at a buffer or
// a step shows its details where the viewer shows titles. Of more than five thousand
// rectangles the smallest are merged into areas without details. Equal charts give
// equal bytes. An error is w's, or names what of the chart cannot be drawn.
func WriteSVG(w io.Writer, c *Chart) error {
	if err := c.check(); err != nil {
		return err
	}
	d, err := c.draw()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := svgTemplate.Execute(out, d); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return out.Flush()
}

func (c *Chart) draw() (*drawing, error) {
	style, err := assetText("palette.css", "chart.css")
	if err != nil {
		return nil, err
	}
	names, groups := c.groups()
	legend, kindOf := c.kinds(groups)
	live := c.live()
	a := axes{frame: math.Max(float64(c.FrameBytes), 1)}
	a.start, a.end = c.span()
	a.highest = math.Max(a.frame, float64(max(c.LowerBound, live.peak())))
	d := &drawing{
		Width: svgWidth, Height: svgHeight, Title: c.title(), Remarks: strings.Join(c.remarks(len(names)), " · "),
		Style:    template.CSS(strings.Replace(style, "TEXTURES\n", textureRules(), 1) + kindRules()),
		Textures: textures, Curve: a.curve(live),
	}
	d.placeHead(c, legend)
	labels := &texts{}
	d.drawAxes(c, a, labels)
	boxes := make([]box, len(c.Buffers))
	for i := range c.Buffers {
		boxes[i] = a.box(&c.Buffers[i])
	}
	large, small := split(boxes)
	colours := c.colours(groups, len(names))
	d.Areas = merge(boxes, small, func(i int) int { return colours[groups[i]].Slot })
	for _, i := range large {
		kind := &legend[kindOf[i]]
		b := boxes[i].crisp()
		text := hover(&c.Buffers[i], c, kind.Name)
		d.Rects = append(d.Rects, element{b, colours[groups[i]], text, kind.Slot, b.woven()})
	}
	c.nameRects(large, boxes, labels, func(i int) string { return "on " + colours[groups[i]].class() })
	d.Texts = labels.list
	return d, nil
}

// woven is where a texture lies in a rectangle: inside an edge of its own colour.
func (b box) woven() box {
	if b.W < 8 || b.H < 8 {
		return box{}
	}
	return box{b.X + 2, b.Y + 2, b.W - 4, b.H - 4}
}

// placeHead puts the figures at the right end of the head and the legend below.
func (d *drawing) placeHead(c *Chart, legend []Kind) {
	figures := c.figures()
	x := panelLeft + panelWidth + 80
	for i := len(figures) - 1; i >= 0; i-- {
		f := figures[i]
		x -= max(textWidth(f.Label)*12, textWidth(f.Value)*23, textWidth(f.Exact)*12, textWidth(f.Remark)*13)
		d.Figures = append(d.Figures, placedFigure{f, math.Floor(x), i == 0, i == 0 && c.Optimal})
		x -= 30
	}
	// Bold letters of the title are wider.
	d.Title, d.Remarks = beginning(d.Title, x-28, 24), beginning(d.Remarks, x-28, 12)
	d.placeLegend(legend)
}

// placeLegend leaves out the kinds that find no room, and says how many.
func (d *drawing) placeLegend(legend []Kind) {
	x := 28.0
	for i, k := range legend {
		width := 28 + textWidth(k.Name+" "+k.People())*12 + 20
		if x+width > svgWidth-120 && i+1 < len(legend) {
			d.More = fmt.Sprintf("and %d more", len(legend)-i)
			d.MoreX = x
			return
		}
		d.Legend = append(d.Legend, placedKind{k, math.Floor(x)})
		x += width
	}
}

func (d *drawing) drawAxes(c *Chart, a axes, labels *texts) {
	const right, bottom, floor = panelLeft + panelWidth, panelTop + panelHeight, lowerTop + lowerHeight
	labels.add(text{X: panelLeft - 8, Y: panelTop - 14, Anchor: "end", Class: "strong", Text: "Address"})
	labels.add(text{X: panelLeft - 8, Y: lowerTop - 15, Anchor: "end", Class: "strong", Text: "Live bytes"})
	labels.add(text{X: right + 8, Y: floor + 14, Anchor: "start", Class: "strong", Text: "Step"})
	for _, t := range byteTicks(int64(a.frame), panelHeight/34) {
		y := math.Round(a.y(t.value)) + 0.5
		d.Grid = append(d.Grid, line{panelLeft, y, right, y})
		labels.add(text{X: panelLeft - 8, Y: y, Anchor: "end", Text: t.text})
	}
	for _, t := range byteTicks(int64(a.highest), lowerHeight/30) {
		y := math.Round(a.live(t.value)) + 0.5
		d.Grid = append(d.Grid, line{panelLeft, y, right, y})
		labels.add(text{X: panelLeft - 8, Y: y, Anchor: "end", Text: t.text})
	}
	d.drawSteps(c, a, labels)
	d.nameSteps(c, a, labels)
	d.Axis = append(d.Axis, line{panelLeft, bottom + 0.5, right, bottom + 0.5},
		line{panelLeft, floor + 0.5, right, floor + 0.5})
	d.drawBounds(c, a, labels)
}

// drawSteps leads a line to each step that is named, or parts it from the one before
// where each is.
func (d *drawing) drawSteps(c *Chart, a axes, labels *texts) {
	ticks := stepTicks(a.start, a.end, c.Steps, panelWidth/46)
	lead := 0.0
	if len(ticks) > 1 && ticks[1].value-ticks[0].value > 1 {
		lead = 0.5
	}
	for _, t := range ticks {
		x := math.Round(a.x(float64(t.value)+lead)) + 0.5
		if labels.add(text{X: a.x(float64(t.value) + 0.5), Y: lowerTop + lowerHeight + 14, Text: t.text}) {
			d.Grid = append(d.Grid, line{x, panelTop, x, panelTop + panelHeight},
				line{x, lowerTop, x, lowerTop + lowerHeight})
		}
	}
}

// nameSteps writes what happens at each step that has room for a word of it. Steps that are narrower than a pixel have
// no details.
func (d *drawing) nameSteps(c *Chart, a axes, labels *texts) {
	const leastRoom, size = 40, 12
	width := a.x(1) - a.x(0)
	if width < 1 {
		return
	}
	for i, name := range c.StepNames {
		x, name := a.x(float64(i)), printable(name)
		d.Steps = append(d.Steps, namedStep{
			box{math.Floor(x), lowerTop, math.Ceil(width), lowerHeight}, fmt.Sprintf("step %d: %s", i, name),
		})
		if width >= leastRoom {
			labels.add(text{X: x + width/2, Y: lowerTop + lowerHeight + 30, Text: beginning(name, width-4, size)})
		}
	}
}

func (d *drawing) drawBounds(c *Chart, a axes, labels *texts) {
	const right = panelLeft + panelWidth
	across := func(y float64, class string) boundLine {
		return boundLine{line{panelLeft, y, right, y}, class}
	}
	if c.FrameBytes > 0 {
		d.Bounds = append(d.Bounds, across(panelTop-0.5, "frame"))
		labels.add(text{X: right + 8, Y: panelTop, Anchor: "start", Class: "strong", Text: "frame"})
	}
	if c.LowerBound <= 0 {
		return
	}
	y := math.Round(a.live(c.LowerBound)) + 0.5
	d.Bounds = append(d.Bounds, across(y, "bound"))
	labels.add(text{X: right + 8, Y: y, Anchor: "start", Class: "bound", Text: "lower bound"})
	if c.FrameBytes > c.LowerBound {
		y = math.Round(a.live(c.FrameBytes)) + 0.5
		d.Bounds = append(d.Bounds, across(y, "frame"))
		labels.add(text{X: right + 8, Y: y, Anchor: "start", Class: "strong", Text: "frame"})
	}
}

// curve is the path of the live bytes: as they are, or where there are more changes
// than pixels, the highest of each pixel.
func (a axes) curve(live curve) string {
	var path strings.Builder
	fmt.Fprintf(&path, "M%g %g", panelLeft, lowerTop+lowerHeight)
	highest := make([]int64, int(panelWidth))
	many := len(live.Steps) > len(highest)
	for i, step := range live.Steps {
		from, to := a.x(float64(step)), panelLeft+panelWidth
		if i+1 < len(live.Steps) {
			to = a.x(float64(live.Steps[i+1]))
		}
		if !many {
			fmt.Fprintf(&path, "L%.1f %.1fH%.1f", from, a.live(live.Bytes[i]), to)
			continue
		}
		for x := int(from - panelLeft); x < len(highest) && float64(x) < to-panelLeft; x++ {
			highest[x] = max(highest[x], live.Bytes[i])
		}
	}
	if many {
		for x, bytes := range highest {
			fmt.Fprintf(&path, "L%g %.1fh1", panelLeft+float64(x), a.live(bytes))
		}
	}
	fmt.Fprintf(&path, "V%gZ", lowerTop+lowerHeight)
	return path.String()
}

// nameRects writes the names of the largest first, where they fit. A class has the colour
// of the rectangle, which keeps its texture away from the letters.
func (c *Chart) nameRects(large []int, boxes []box, labels *texts, class func(int) string) {
	order := append([]int{}, large...)
	sort.SliceStable(order, func(i, j int) bool { return boxes[order[i]].area() > boxes[order[j]].area() })
	for _, i := range order {
		b := boxes[i].crisp()
		if min(b.W, b.H) < 13 || max(b.W, b.H) < 16 {
			continue
		}
		name := printable(c.Buffers[i].Name)
		upright := b.H > b.W && textWidth(name)*fontSize+8 > b.W
		room := b.W - 8
		if upright {
			room = b.H - 8
		}
		if name = shorten(name, room, fontSize); name == "" {
			continue
		}
		x, y, bytes := b.X+b.W/2, b.Y+b.H/2, size(c.Buffers[i].Bytes)
		if upright || b.H < 34 || textWidth(bytes)*fontSize+8 > b.W {
			labels.add(text{X: x, Y: y, Class: class(i), Upright: upright, Text: name})
		} else if labels.add(text{X: x, Y: y - 7, Class: class(i), Text: name}) {
			labels.add(text{X: x, Y: y + 7, Class: class(i), Text: bytes})
		}
	}
}

// hover is the text that pointing at a buffer shows.
func hover(r *Rect, c *Chart, kind string) string {
	lines := []string{printable(r.Name) + " (" + kind + ")"}
	if r.Detail != "" {
		lines = append(lines, printable(r.Detail))
	}
	return strings.Join(append(lines, fmt.Sprintf("%s (%s bytes) at offset %s", size(r.Bytes), humanize.Comma(r.Bytes),
		humanize.Comma(r.Offset)), lifetime(r, c.Steps)), "\n")
}

func lifetime(r *Rect, steps int) string {
	first, last := humanize.Comma(int64(r.First)), humanize.Comma(int64(r.End-1))
	if r.First < 0 {
		first = "before the first"
	}
	if r.End > steps {
		last = "after the last"
	}
	return fmt.Sprintf("steps %s to %s", first, last)
}
