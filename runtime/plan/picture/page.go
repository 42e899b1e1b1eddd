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
	Kinds     []kind   `json:"kinds"`
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
	style, err := pageStyle()
	if err != nil {
		return err
	}
	script, err := pageScript()
	if err != nil {
		return err
	}
	data := c.pageData()
	out := bufio.NewWriter(w)
	err = pageTemplate.Execute(out, map[string]any{
		"Title": c.title(), "Remarks": c.remarks(len(data.Names)), "Figures": c.figures(), "Optimal": c.Optimal,
		"Style": style, "Script": script, "Data": data,
	})
	if err != nil {
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
	d.Names, d.Kinds, d.Details = []string{}, []kind{}, []string{}
	d.Group, d.Kind, d.Detail = []int{}, []int{}, []int{}
	d.First, d.Stop = []int{}, []int{}
	d.Offset, d.Bytes = []int64{}, []int64{}
	return d
}

// pageStyle is the page's own style sheet: its files are part of this package, so
// none of it comes from a chart.
func pageStyle() (template.CSS, error) {
	text, err := assetText("palette.css", "page.css")
	return template.CSS(strings.Replace(text, "KINDS\n", kindRules(), 1)), err
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

// pageScript is the page's own script, in a scope of its own.
func pageScript() (template.JS, error) {
	text, err := assetText("scale.js", "paint.js", "page.js", "check.js")
	return template.JS("(() => {\n" + text + "})();\n"), err
}

func assetText(files ...string) (string, error) {
	var b strings.Builder
	for _, file := range files {
		text, err := assets.ReadFile("assets/" + file)
		if err != nil {
			return "", fmt.Errorf("picture: %w", err)
		}
		b.Write(text)
	}
	return b.String(), nil
}
