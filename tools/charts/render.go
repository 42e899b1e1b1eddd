package main

import (
	"fmt"
	"html"
	"strings"
)

// Measures of a picture, in pixels. Characters of labels and of the title are
// at most so wide; the test holds every text to its room.
const (
	left      = 44
	right     = 16
	column    = 132
	level     = 30 // height of one reference
	between   = 22 // objects
	titleBase = 26
)

// style is how a holder is drawn.
type style struct{ fill, stroke, text, dash string }

func styleOf(holder string) style {
	switch {
	case holder == floating:
		return style{"#f3f4f6", "#6b7280", "#374151", "4 3"}
	case holder == inbox:
		return style{"#ffffff", "#b91c1c", "#b91c1c", "4 3"}
	case strings.HasSuffix(holder, "scope"):
		return style{"#dbeafe", "#1d4ed8", "#1e3a8a", ""}
	case strings.Contains(holder, "->"):
		return style{"#ffedd5", "#c2410c", "#7c2d12", ""}
	}
	return style{"#dcfce7", "#15803d", "#14532d", ""}
}

// canvas collects the elements of an SVG.
type canvas struct{ b strings.Builder }

func (c *canvas) box(x, y, w, h float64, s style, radius float64) {
	dash := ""
	if s.dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, s.dash)
	}
	fmt.Fprintf(&c.b, `<rect x="%g" y="%g" width="%g" height="%g" rx="%g" fill="%s" stroke="%s"%s/>`+"\n",
		x, y, w, h, radius, s.fill, s.stroke, dash)
}

func (c *canvas) line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(&c.b, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="%s" stroke-width="%g"/>`+"\n", x1, y1, x2, y2,
		colour, width)
}

func (c *canvas) text(x, y float64, anchor, attributes, s string) {
	fmt.Fprintf(&c.b, `<text x="%g" y="%g" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, attributes,
		html.EscapeString(s))
}

const (
	bold  = `font-size="12" font-weight="600" fill="#111827"`
	small = `font-size="11" fill="#4b5563"`
	axis  = `font-size="11" fill="#6b7280"`
)

// render draws the story: a strip that tells who calls, a row for each object,
// and the calls below.
func (s *story) render() string {
	c := &canvas{}
	y := float64(titleBase)
	c.text(left, y, "start", `font-size="14" font-weight="600" fill="#111827"`, s.title)
	y += 14
	if s.steps[0].who != "" {
		s.drawWho(c, y)
		y += 30
	}
	for i := range s.objects {
		y = s.drawObject(c, i, y+between)
	}
	for i, step := range s.steps {
		middle := s.middle(i)
		c.text(middle, y+20, "middle", bold, step.verb)
		c.text(middle, y+36, "middle", small, step.detail)
	}
	width, height := s.x(len(s.steps))+right, y+50
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" `+
		`font-family="Helvetica, Arial, sans-serif" role="img" aria-label="%s">`+"\n"+
		`<!-- Written by tools/charts; do not edit. -->`+"\n"+
		`<rect width="100%%" height="100%%" rx="8" fill="#ffffff"/>`+"\n%s</svg>\n",
		width, height, width, height, html.EscapeString(s.title), c.b.String())
}

// x is where a step begins; middle is its centre.
func (s *story) x(step int) float64      { return left + float64(step)*column }
func (s *story) middle(step int) float64 { return s.x(step) + column/2 }

// runs splits the steps where same says that two neighbours differ.
func (s *story) runs(same func(i, j int) bool, draw func(from, to int)) {
	from := 0
	for i := 1; i <= len(s.steps); i++ {
		if i == len(s.steps) || !same(from, i) {
			draw(from, i)
			from = i
		}
	}
}

func (s *story) drawWho(c *canvas, y float64) {
	s.runs(func(i, j int) bool { return s.steps[i].who == s.steps[j].who }, func(from, to int) {
		c.box(s.x(from)+1, y, s.x(to)-s.x(from)-2, 20, style{"#f9fafb", "#d1d5db", "", ""}, 4)
		c.text((s.x(from)+s.x(to))/2, y+14, "middle", small, s.steps[from].who)
	})
}

// drawObject draws one row and returns where it ends.
func (s *story) drawObject(c *canvas, object int, y float64) float64 {
	top := 1
	for _, step := range s.steps {
		top = max(top, len(step.holders[object]))
	}
	base := y + float64(top)*level
	c.text(14, base-float64(top)*level/2+4, "middle", `font-size="13" font-style="italic" fill="#111827"`,
		s.objects[object])
	for n := 0; n <= top; n++ {
		at := base - float64(n)*level
		c.line(left, at, s.x(len(s.steps)), at, "#e5e7eb", 1)
		c.text(left-6, at+4, "end", axis, fmt.Sprint(n))
	}
	for n := range top {
		s.drawLevel(c, object, n, base-float64(n+1)*level)
	}
	s.drawEnds(c, object, base)
	return base
}

// holder returns who holds reference n after a step, "" for nobody.
func (s *story) holder(step, object, n int) string {
	if h := s.steps[step].holders[object]; n < len(h) {
		return h[n]
	}
	return ""
}

func (s *story) drawLevel(c *canvas, object, n int, y float64) {
	s.runs(func(i, j int) bool { return s.holder(i, object, n) == s.holder(j, object, n) }, func(from, to int) {
		h := s.holder(from, object, n)
		if h == "" {
			return
		}
		look := styleOf(h)
		c.box(s.x(from)+2, y+3, s.x(to)-s.x(from)-4, level-6, look, 4)
		c.text((s.x(from)+s.x(to))/2, y+level/2+4, "middle", fmt.Sprintf(`font-size="12" fill="%s"`, look.text), h)
	})
}

// drawEnds marks the steps after which an object that lived is gone.
func (s *story) drawEnds(c *canvas, object int, base float64) {
	lived := false
	s.runs(func(i, j int) bool {
		return s.holder(i, object, 0) == "" && s.holder(j, object, 0) == ""
	}, func(from, to int) {
		if h := s.holder(from, object, 0); h != "" {
			lived = true
			return
		}
		if lived {
			c.text((s.x(from)+s.x(to))/2, base-level/2+4, "middle", `font-size="12" font-style="italic" fill="#6b7280"`,
				"freed")
		}
	})
}
