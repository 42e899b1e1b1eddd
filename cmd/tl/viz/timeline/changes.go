package timeline

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"tlruntime/cmd/tl/viz/picture"
)

// Write writes the page of a comparison. The names are those of the traces.
func (c *Comparison) Write(w io.Writer, title, before, after string) error {
	terms, err := picture.Joined(assets, "sort.js", "flame.js", "compare.js")
	if err != nil {
		return err
	}
	style, err := picture.Joined(assets, "below.css", "flame.css", "compare.css")
	if err != nil {
		return err
	}
	below, err := c.below(before, after)
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	if title == "" {
		title = after
	}
	return picture.Page{
		Title: title, Subject: "what changed", Class: "long compared", Things: "sites", Find: "Find a call or a site",
		Remarks: c.remarks(before), Figures: c.figures(), Data: map[string]any{"flame": c.tree},
		Terms: template.JS(terms), Style: template.CSS(style), Below: below,
	}.Write(w)
}

func (c *Comparison) remarks(before string) []string {
	all := []string{"compared with " + before}
	for i, t := range []*Trace{c.Before, c.After} {
		if text := t.incomplete(); text != "" {
			all = append(all, [2]string{"before: ", "after: "}[i]+text)
		}
	}
	return all
}

func (c *Comparison) figures() (all []picture.Figure) {
	for i, m := range c.measures() {
		all = append(all, picture.Figure{Label: m.label, Value: m.text(m.is), Exact: "was " + m.text(m.was),
			Remark: m.change()})
		if i == 0 {
			all[0].Remark += m.percent()
		}
	}
	return all
}

// measure is one figure of both traces.
type measure struct {
	label   string
	was, is int64
	number  bool // not bytes
}

func measures(was, is *Figures) []measure {
	return []measure{{"At the peak", was.Peak, is.Peak, false}, {"At the end", was.End, is.End, false},
		{"Allocations", int64(was.Count), int64(is.Count), true}, {"In all", was.Bytes, is.Bytes, false}}
}

func (c *Comparison) measures() []measure { return measures(&c.Was, &c.Is) }

func (m measure) text(n int64) string {
	if m.number {
		return humanize.Comma(n)
	}
	return bytesText(uint64(n))
}

// change is the difference with its sign.
func (m measure) change() string {
	switch {
	case m.is > m.was:
		return "+" + m.text(m.is-m.was)
	case m.is < m.was:
		return "−" + m.text(m.was-m.is)
	}
	return "±0"
}

// percent is the difference in percent of what was, where there was something.
func (m measure) percent() string {
	if m.was == 0 || m.is == m.was {
		return ""
	}
	text := fmt.Sprintf(" (%+.1f %%)", 100*float64(m.is-m.was)/float64(m.was))
	return strings.Replace(text, "-", "−", 1)
}

// mostChanges bounds the lines of a table, and of a text.
const mostChanges = 24

// split returns the sites that grew and those that shrank.
func (c *Comparison) split() (grew, shrank []Change) {
	for i := range c.Sites {
		if c.Sites[i].Grew() {
			grew = append(grew, c.Sites[i])
		} else {
			shrank = append(shrank, c.Sites[i])
		}
	}
	return grew, shrank
}

// changeTable is a table of the page.
type changeTable struct {
	Title string
	Rows  []changeRow
	More  int
}

type changeRow struct {
	*site
	Remark string
	Cells  []changeCell
}

type changeCell struct {
	Order       int64
	Change, Now string
}

func table(title string, changes []Change) changeTable {
	t := changeTable{Title: title, More: max(len(changes)-mostChanges, 0)}
	for i := range changes[:min(len(changes), mostChanges)] {
		d := &changes[i]
		row := changeRow{site: d.site, Remark: d.remark()}
		for _, m := range measures(&d.Was, &d.Is) {
			row.Cells = append(row.Cells, changeCell{max(m.is-m.was, m.was-m.is), m.change(), "now " + m.text(m.is)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// remark tells what is new, gone or elsewhere.
func (c *Change) remark() string {
	switch {
	case c.Was.Count == 0:
		return "new"
	case c.Is.Count == 0:
		return "gone"
	case c.Moved != "":
		return "was " + c.Moved
	}
	return ""
}

func (c *Comparison) same() string {
	if len(c.Sites) == 0 {
		return "Nothing differs: " + picture.Plural(c.Same, "site") + " with the same bytes and numbers."
	}
	if c.Same == 0 {
		return ""
	}
	return picture.Plural(c.Same, "more site") + " with the same bytes and numbers."
}

func (c *Comparison) below(before, after string) (template.HTML, error) {
	var b strings.Builder
	grew, shrank := c.split()
	was, high, _ := c.Before.live()
	is, higher, _ := c.After.live()
	high, end := max(high, higher, 1), max(c.Before.End, c.After.End)
	err := belowTemplate.ExecuteTemplate(&b, "compare.html", map[string]any{
		"Grew": table("What grew", grew), "Shrank": table("What shrank", shrank), "Same": c.same(),
		"Was": was.path(end, high), "Is": is.path(end, high), "High": high, "End": timeText(end),
		"Before": before, "After": after, "Flame": c.Was.Count+c.Is.Count > 0,
	})
	return template.HTML(b.String()), err
}

// path draws a curve into 1000 by 100: of what falls into one column the highest.
func (c *curve) path(end float64, high int64) string {
	var b strings.Builder
	b.WriteString("M0 100")
	last, highest := 0, int64(0)
	flush := func(column int) {
		fmt.Fprintf(&b, "V%.1fH%d", 100-100*float64(highest)/float64(high), column)
	}
	for i, at := range c.Steps {
		if column := int(1000 * at / end); column > last {
			flush(column)
			last, highest = column, c.Bytes[i]
		}
		highest = max(highest, c.Bytes[i])
	}
	return b.String()
}
