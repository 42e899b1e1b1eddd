package picture

import (
	"bufio"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed assets
var assets embed.FS

var pageTemplate = template.Must(template.ParseFS(assets, "assets/page.html"))

// pageData is what the page's script reads: a list for each property, with an
// element for each rectangle, as names of members a hundred thousand times over
// would be most of the file.
type pageData struct {
	Steps     int      `json:"steps"`
	Start     int      `json:"start"` // of the time axis
	End       int      `json:"end"`
	Frame     int64    `json:"frame"`
	Bound     int64    `json:"bound"`
	Peak      int64    `json:"peak"` // of the live bytes
	Live      curve    `json:"live"`
	Names     []string `json:"names"`
	Looks     []string `json:"looks"` // classes, by name
	Kinds     []Kind   `json:"kinds"`
	Details   []string `json:"details"`
	StepNames []string `json:"stepNames"`

	Group  []int   `json:"group"`  // index into Names
	Kind   []int   `json:"kind"`   // index into Kinds
	Detail []int   `json:"detail"` // index into Details
	First  []int   `json:"first"`
	Stop   []int   `json:"stop"`
	Offset []int64 `json:"offset"`
	Bytes  []int64 `json:"bytes"`
}

// WriteHTML writes the picture as a page of one file, which needs nothing else and
// asks nothing of the network. Equal charts give equal bytes. An error is w's, or
// names what of the chart cannot be drawn.
func WriteHTML(w io.Writer, c *Chart) error {
	if err := c.check(); err != nil {
		return err
	}
	terms, err := assetText("plan.js")
	if err != nil {
		return err
	}
	data := c.pageData()
	p := Page{
		Title: c.title(), Subject: "memory plan", Things: "buffers", Find: "Find a buffer",
		Axes:    "Buffers by step and address.",
		Remarks: c.remarks(len(data.Names)), Figures: c.figures(), Proved: c.Optimal, Kinds: data.Kinds,
		Textures: textures, Data: data, Terms: template.JS(terms),
	}
	return p.Write(w)
}

// Page is a page of this kind: rectangles over two axes, a curve below them, search and
// details. Text comes from anywhere; Terms, Style and Below are a package's own.
type Page struct {
	Title, Subject string // of what, and what the page is
	Class          string // of the body; may be empty
	Things, Find   string // what rectangles are, and the invitation to search
	Axes           string // for who cannot see the picture; "" is a page without one, whose Terms define fromAddress
	Remarks        []string
	Figures        []Figure
	Proved         bool // the first figure's remark is good news
	Kinds          []Kind
	Textures       []texture     // of kinds; without, kinds are told by hues
	Data           any           // for the scripts: the members of pageData
	Terms          template.JS   // script: defines terms, see assets/plan.js
	Style          template.CSS  // beyond that of all pages
	Below          template.HTML // what follows the picture
}

// Write writes the page as one file, which needs nothing else and asks nothing of the
// network.
func (p Page) Write(w io.Writer) error {
	style, err := pageStyle()
	if err != nil {
		return err
	}
	script, err := pageScript(string(p.Terms), p.Axes != "")
	if err != nil {
		return err
	}
	p.Style = style + p.Style
	out := bufio.NewWriter(w)
	if err := pageTemplate.Execute(out, struct {
		Page
		Script template.JS
	}{p, script}); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return out.Flush()
}

func (c *Chart) title() string {
	if c.Title == "" {
		return "Memory plan"
	}
	return printable(c.Title)
}

func (c *Chart) pageData() pageData {
	d := pageData{Steps: c.Steps, Frame: c.FrameBytes, Bound: c.LowerBound, Live: c.live(), StepNames: []string{}}
	d.Start, d.End = c.span()
	d.Peak = d.Live.peak()
	d.Names, d.Group = c.groups()
	d.Looks = []string{}
	for _, l := range c.colours(d.Group, len(d.Names)) {
		d.Looks = append(d.Looks, l.class())
	}
	d.Kinds, d.Kind = c.kinds(d.Group)
	for _, name := range c.StepNames {
		d.StepNames = append(d.StepNames, printable(name))
	}
	details := map[string]int{}
	for i := range c.Buffers {
		r := &c.Buffers[i]
		if _, known := details[r.Detail]; !known {
			details[r.Detail] = len(d.Details)
			d.Details = append(d.Details, printable(r.Detail))
		}
		d.Detail = append(d.Detail, details[r.Detail])
		d.First, d.Stop = append(d.First, r.First), append(d.Stop, r.End)
		d.Offset, d.Bytes = append(d.Offset, r.Offset), append(d.Bytes, r.Bytes)
	}
	return d.withoutNil()
}

// withoutNil makes empty lists of those that JSON would call null.
func (d pageData) withoutNil() pageData {
	if len(d.Names) > 0 {
		return d
	}
	d.Names, d.Kinds, d.Details = []string{}, []Kind{}, []string{}
	d.Group, d.Kind, d.Detail = []int{}, []int{}, []int{}
	d.First, d.Stop = []int{}, []int{}
	d.Offset, d.Bytes = []int64{}, []int64{}
	return d
}

// pageStyle is the page's own style sheet: its files are part of this package, so
// none of it comes from a chart.
func pageStyle() (template.CSS, error) {
	text, err := assetText("palette.css", "page.css")
	return template.CSS(strings.NewReplacer("KINDS\n", kindRules(), "TEXTURES\n", textureRules()).Replace(text)), err
}

// kindRules gives the classes kN tM the colours of the palette.
func kindRules() string {
	var b strings.Builder
	for slot := range slots {
		for tone := range tones {
			fmt.Fprintf(&b, ".k%[1]d.t%[2]d { --fill: var(--k%[1]dt%[2]d); }\n", slot, tone)
		}
	}
	return b.String()
}

// textureRules gives the classes xN the patterns of the picture.
func textureRules() string {
	var b strings.Builder
	for _, t := range textures {
		fmt.Fprintf(&b, "rect.x%[1]d { fill: url(#x%[1]d); }\n", t.Number)
	}
	return b.String()
}

// pageScript is the page's own script, in a scope of its own.
func pageScript(terms string, picture bool) (template.JS, error) {
	files := []string{"numbers.js", "scale.js", "paint.js", "page.js", "check.js"}
	if !picture {
		files = []string{"numbers.js", "check.js"}
	}
	text, err := assetText(files...)
	head, rest, _ := strings.Cut(text, "// TERMS\n")
	return template.JS("(() => {\n" + head + terms + rest + "})();\n"), err
}

func assetText(files ...string) (string, error) { return Joined(assets, files...) }

// Joined returns what some files of a folder assets have, one behind the other.
func Joined(assets embed.FS, files ...string) (string, error) {
	var b strings.Builder
	for _, file := range files {
		text, err := assets.ReadFile("assets/" + file)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}
