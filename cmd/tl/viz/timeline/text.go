package timeline

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/dustin/go-humanize"
)

// Text writes what the page says of figures and sites, for terminals.
func (t *Trace) Text(w io.Writer, name string) error {
	live, peak, when := t.live()
	sites, _ := t.sites(when)
	all := Figures{}
	for i := range sites {
		all.plus(sites[i].Figures)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", printed(name), t.about())
	for _, m := range measures(&all, &all) {
		fmt.Fprintf(&b, "%-12s %9s\n", strings.ToLower(m.label), m.text(m.is))
	}
	if len(live.Steps) > 0 && peak > 0 {
		fmt.Fprintf(&b, "the peak is at %s\n", timeText(when))
	}
	rows := newTable(&b)
	table := shown(sites)
	for i := range table {
		rows.row(measures(&table[i].Figures, &table[i].Figures), func(m measure) string { return m.text(m.is) },
			table[i].Name)
	}
	rows.close(len(sites) - len(table))
	_, err := io.WriteString(w, b.String())
	return err
}

// about is what was traced, in a line.
func (t *Trace) about() string {
	all := t.remarks(len(t.Blocks))
	if t.Process != "" {
		all = append([]string{t.Process}, all...)
	}
	return printed(strings.Join(all, ", "))
}

// printed is a name with escapes for what is not printed, which could write to a terminal what is not there.
func printed(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Text writes what changed, for terminals.
func (c *Comparison) Text(w io.Writer, before, after string) error {
	var b strings.Builder
	for _, t := range []struct {
		when, name string
		*Trace
	}{{"before", before, c.Before}, {"after", after, c.After}} {
		fmt.Fprintf(&b, "%-7s %s: %s\n", t.when, printed(t.name), t.about())
	}
	fmt.Fprintf(&b, "\n%-12s %9s %9s %9s\n", "", "before", "after", "change")
	for _, m := range c.measures() {
		fmt.Fprintf(&b, "%-12s %9s %9s %9s%s\n", strings.ToLower(m.label), m.text(m.was), m.text(m.is), m.change(),
			m.percent())
	}
	grew, shrank := c.split()
	for _, part := range []struct {
		title   string
		changes []Change
	}{{"What grew", grew}, {"What shrank", shrank}} {
		if len(part.changes) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s", part.title)
		rows := newTable(&b)
		for i := range part.changes[:min(len(part.changes), mostChanges)] {
			d := &part.changes[i]
			name := d.Name
			if remark := d.remark(); remark != "" {
				name += " (" + remark + ")"
			}
			rows.row(measures(&d.Was, &d.Is), measure.change, name)
		}
		rows.close(len(part.changes) - mostChanges)
	}
	if same := c.same(); same != "" {
		fmt.Fprintf(&b, "\n%s\n", same)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textTable is a table of sites: figures to the right of their columns, names last.
type textTable struct {
	b *strings.Builder
	*tabwriter.Writer
}

func newTable(b *strings.Builder) textTable {
	t := textTable{b, tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)}
	b.WriteString("\n")
	fmt.Fprintln(t, "at the peak\tat the end\tallocations\tin all\t  site")
	return t
}

func (t textTable) row(figures []measure, text func(measure) string, name string) {
	for _, m := range figures {
		fmt.Fprintf(t, "%s\t", text(m))
	}
	fmt.Fprintf(t, "  %s\n", printed(name))
}

// close ends the table and says how many lines it leaves out.
func (t textTable) close(more int) {
	t.Flush()
	if more > 0 {
		fmt.Fprintf(t.b, "and %s more\n", humanize.Comma(int64(more)))
	}
}
