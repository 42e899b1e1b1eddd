package timeline

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"tlruntime/cmd/tl/viz/picture"
)

//go:embed assets
var assets embed.FS

var belowTemplate = template.Must(template.New("below.html").Funcs(template.FuncMap{
	"size":  func(n int64) string { return picture.Size("", n, "").Value },
	"comma": func(n int) string { return humanize.Comma(int64(n)) },
}).ParseFS(assets, "assets/below.html", "assets/compare.html"))

// pageData is for the page's scripts: time is in microseconds, addresses are places on
// the axis.
type pageData struct {
	Steps   float64        `json:"steps"`
	Start   float64        `json:"start"`
	End     float64        `json:"end"`
	Frame   int64          `json:"frame"` // bytes of the axis of addresses
	Bound   int64          `json:"bound"`
	Peak    int64          `json:"peak"`
	When    float64        `json:"when"` // the peak is
	Live    curve          `json:"live"`
	Names   []string       `json:"names"` // of sites
	Kinds   []picture.Kind `json:"kinds"`
	Flame   *flameData     `json:"flame"`
	Pieces  []pieceData    `json:"pieces"`
	Regions []region       `json:"regions"`
	Chunks  []chunkData    `json:"chunks"`
	Marks   []markData     `json:"marks"`
	Alerts  []markData     `json:"alerts"`
	Pools   curve          `json:"pools"` // what memory pools had from their devices

	Stacks []string  `json:"stacks"` // by site
	Types  []string  `json:"types"`  // with tag
	Group  []int     `json:"group"`  // index into Names
	Kind   []int     `json:"kind"`
	Type   []int     `json:"type"`
	First  []float64 `json:"first"`
	Stop   []float64 `json:"stop"`
	Offset []int64   `json:"offset"`
	Bytes  []int64   `json:"bytes"`
	Freed  []int     `json:"freed"`
	Paths  []string  `json:"paths"` // of references
	Path   []int     `json:"path"`  // index into Paths
}

// pieceData is a piece of the axis of addresses. One that nobody used may take less room
// there than it has bytes.
type pieceData struct {
	At    int64  `json:"at"`
	Room  int64  `json:"room"`
	Bytes uint64 `json:"bytes"`
	Start string `json:"start"`
	Name  string `json:"name"`
	Used  bool   `json:"used"`
}

type chunkData struct {
	At    int64   `json:"at"`
	Bytes int64   `json:"bytes"`
	First float64 `json:"first"`
	End   float64 `json:"end"`
}

type markData struct {
	Time float64 `json:"time"`
	Name string  `json:"name"`
}

// Write writes the page. title names it; "" is the process.
func (t *Trace) Write(w io.Writer, title string) error {
	terms, err := picture.Joined(assets, "time.js", "sort.js", "flame.js")
	if err != nil {
		return err
	}
	style, err := picture.Joined(assets, "below.css", "flame.css")
	if err != nil {
		return err
	}
	live, peak, when := t.live()
	sites, number := t.sites(when)
	data := t.data(live, peak, when, sites, number)
	data.Flame = flameOf(sites)
	below, err := t.below(sites, peak)
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	if title == "" {
		title = t.Process
	}
	return picture.Page{
		Title: title, Subject: "memory over time", Class: "long", Things: "allocations", Find: "Find a site",
		Axes: "Allocations by time and address.", Remarks: t.remarks(len(data.First)), Figures: t.figures(peak, when),
		Kinds: data.Kinds, Data: data, Terms: template.JS(terms), Style: template.CSS(style), Below: below,
	}.Write(w)
}

// below renders what follows the picture: sites and sizes.
func (t *Trace) below(sites []site, peak int64) (template.HTML, error) {
	var b strings.Builder
	bins, table := t.sizes(), shown(sites)
	most := 1
	for _, x := range bins {
		most = max(most, x.Count)
	}
	err := belowTemplate.Execute(&b, map[string]any{
		"Sites": rows(table, peak), "More": len(sites) - len(table), "Bins": bars(bins, most),
	})
	return template.HTML(b.String()), err
}

// row is a line of the table of sites.
type row struct {
	site
	Share float64 // percent of the peak
}

func rows(sites []site, peak int64) (all []row) {
	for _, s := range sites {
		all = append(all, row{s, 100 * float64(s.Peak) / float64(max(peak, 1))})
	}
	return all
}

// bar is a line of the histogram.
type bar struct {
	bin
	Label string
	Share float64 // percent of the longest
	Total string
}

func bars(bins []bin, most int) (all []bar) {
	for _, x := range bins {
		label := "0 B"
		if x.Low > 0 {
			label = bytesText(x.Low) + " – " + bytesText(2*x.Low)
		}
		all = append(all, bar{x, label, 100 * float64(x.Count) / float64(most), bytesText(x.Bytes)})
	}
	return all
}

func bytesText(n uint64) string { return humanize.IBytes(n) }

func (t *Trace) figures(peak int64, when float64) []picture.Figure {
	count, released, left := len(t.Blocks), 0, int64(0)
	for _, b := range t.Blocks {
		if b.Freed {
			released++
		} else {
			left += int64(b.Bytes)
		}
	}
	all := []picture.Figure{
		picture.Size("Peak", peak, "at "+timeText(when)),
		picture.Size("At the end", left, humanize.Comma(int64(count-released))+" live"),
		{Label: "Allocations", Value: humanize.Comma(int64(count)), Exact: humanize.Comma(int64(released)) +
			" released"},
	}
	if _, pools := t.pools(); pools > 0 {
		all = append(all, picture.Size("Memory pools", pools, picture.Plural(len(t.Chunks), "chunk")))
	}
	return all
}

func (t *Trace) remarks(drawn int) []string {
	all := []string{timeText(t.End), picture.Plural(t.Threads, "thread"), picture.Plural(t.Scopes, "scope")}
	if began, _, ok := strings.Cut(t.Began, "."); ok {
		all = append([]string{strings.Replace(began, "T", " ", 1) + " UTC"}, all...)
	}
	if len(t.Alerts) > 0 {
		all = append(all, picture.Plural(len(t.Alerts), "sign")+" of memory being short")
	}
	if left := len(t.Marks) - len(marks(t.Marks)); left > 0 {
		all = append(all, "of "+picture.Plural(len(t.Marks), "mark")+" some are drawn")
	}
	if left := len(t.Blocks) - drawn; left > 0 {
		all = append(all, humanize.Comma(int64(left))+" small or short-lived ones are not drawn")
	}
	if t.Dropped > 0 {
		all = append(all, picture.Plural(int(t.Dropped), "event")+" not in the file, which was full")
	}
	if text := t.incomplete(); text != "" {
		all = append(all, text)
	}
	return all
}

// incomplete tells what a file lacks that was not written to its end.
func (t *Trace) incomplete() string {
	switch {
	case t.Broken > 0:
		return "the file breaks off: what came after is not known"
	case !t.Whole:
		return "nobody completed the file: its end may be missing"
	}
	return ""
}

// timeText is a time for people.
func timeText(micros float64) string {
	switch {
	case micros < 1000:
		return fmt.Sprintf("%.0f µs", micros)
	case micros < 999_500: // else three digits are 1e+03
		return fmt.Sprintf("%.3g ms", micros/1e3)
	case micros >= 1000e6:
		return fmt.Sprintf("%.0f s", micros/1e6)
	}
	return fmt.Sprintf("%.4g s", micros/1e6)
}
