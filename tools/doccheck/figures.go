package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A figure is a row of README's table. {label} stands for the first number in
// the row of that label, in the section of bench/RESULTS.md that is called so, up to a colon; {label@N} for the
// cell N columns right of the label. Alternatives whose label is not there, because a peer was not installed, are
// left out.
type figure struct {
	what    string
	section string
	ours    string
	beside  []string
}

var figures = []figure{
	{"acquire + release of a live object, by the thread that made it", "Counting", "{ours, by the owner} ns",
		[]string{"{floor: two calls, plain ++/--} ns two calls that only count",
			"{std::shared_ptr, inlined} ns `std::shared_ptr`"}},
	{"the same, by another thread", "Counting", "{ours, by a thread that does not own it} ns",
		[]string{"{floor: two calls, atomic ++/--} ns two calls that only count",
			"{std::shared_ptr, inlined} ns `std::shared_ptr`"}},
	{"a scope: enter, 8 objects of 64 bytes, leave", "Scopes", "{ours} ns",
		[]string{"{glibc malloc x 8 + free x 8} ns malloc and free", "{mimalloc x 8 pairs} ns mimalloc",
			"{vector of unique_ptr} ns vector of `unique_ptr`"}},
	{"alloc + release, 64 bytes", "Allocation", "{ours, pair of 64 bytes} ns",
		[]string{"{glibc, pair of 64 bytes} ns malloc and free", "{mimalloc, pair of 64 bytes} ns mimalloc"}},
	{"alloc + release, 64 KiB", "Allocation", "{ours, pair of 65536 bytes} ns",
		[]string{"{glibc, pair of 65536 bytes} ns malloc and free", "{mimalloc, pair of 65536 bytes} ns mimalloc"}},
	{"a tensor of 64 x 64 f32, made and freed", "Tensors", "{tl_tensor_empty + tl_tensor_free} ns",
		[]string{"{glibc malloc + free of header and data} ns malloc and free of header and data"}},
	{"a memory pool of blocks of 256 bytes to 4 MiB: one replaced", "Memory pool", "{ours, trace random} ns",
		[]string{"{mimalloc, trace random} ns mimalloc", "{glibc, trace random} ns malloc and free"}},
	{"the frame of DenseNet-121, over the least that is possible", "Placing buffers at offsets", "{light_densenet121@2} x",
		[]string{"{light_densenet121@11} x by TFLite's rule of breadth", "{light_densenet121@12} x by its rule of size"}},
	{"ten million live objects of 64 bytes: resident memory", "Memory", "{ours, floating} x payload",
		[]string{"{glibc} x with malloc", "{mimalloc} x with mimalloc"}},
}

// costs are what the plain way may do for less.
var costs = []figure{
	{"registering memory from `malloc` in a scope that frees it", "What a compiler emits around objects",
		"{enter, malloc + register_struct, exit} ns",
		[]string{"{glibc malloc + free, 64 bytes} ns malloc and free"}},
	{"counting objects that another thread made", "Counting", "{ours, by a thread that does not own it} ns",
		[]string{"{floor: two calls, atomic ++/--} ns two calls that count atomically"}},
	{"counting one object on two threads at the same time", "Counting", "{two threads, one object of a third: ours} ns",
		[]string{"{two threads: atomic floor, one object} ns the same two calls"}},
	{"allocating 1000 objects of 64 bytes before the first is freed", "Allocation", "{ours, 1000 x 64, each} ns",
		[]string{"{mimalloc, 1000 x 64, each} ns mimalloc"}},
	{"an object of 70,000 bytes, allocated and released", "What varies", "{object of 70,000 bytes} ns",
		[]string{"{object of 70,000 bytes@3} ns malloc and free"}},
	{"a tensor of n x 64, n from 1 to 2048, made and freed", "What varies",
		"{tensors of n x 64, n from 1 to 2048} ns",
		[]string{"{tensors of n x 64, n from 1 to 2048@3} ns malloc and free of one block"}},
	{"an array of 4,000 bytes in the registry", "What varies", "{tl_registry_new_array of 4,000 bytes} ns",
		[]string{"{tl_registry_new_array of 4,000 bytes@3} ns malloc and free, not aligned"}},
	{"a memory pool under a recorded training, an event", "Memory pool", "{ours, trace digits} ns",
		[]string{"{mimalloc, trace digits} ns mimalloc"}},
	{"a pair of 4096 bytes of a memory pool", "Memory pool", "{ours, pair of 4096 bytes} ns",
		[]string{"{mimalloc, pair of 4096 bytes} ns mimalloc"}},
	{"replacing any of a million blocks of a memory pool", "Memory pool", "{any block replaced, of 1e6 live} ns",
		[]string{"{mimalloc, any block replaced, of 1e6 live} ns mimalloc"}},
	{"starting: from `dlopen` to the end of the first allocation", "Whole process",
		"{dlopen to the end of the first allocation, ms} ms",
		[]string{"none: malloc is loaded already"}},
	{"being there: memory that the idle library adds", "Whole process", "{idle resident memory added, MiB} MiB",
		[]string{"none"}},
}

// A place is where README shows a table.
type place struct {
	begin, end string
	head       string
	figures    []figure
	isDated    bool // day and machine stand below
	isDearer   bool // only rows in which ours is the larger number are shown
}

var places = []place{
	{
		begin: "<!-- figures of bench/RESULTS.md -->\n", end: "<!-- end of figures -->",
		head: "| | TL Runtime | others, in the same run |", figures: figures, isDated: true,
	},
	{
		begin: "<!-- costs of bench/RESULTS.md -->\n", end: "<!-- end of costs -->",
		head: "| the work | TL Runtime | the plain way |", figures: costs, isDearer: true,
	},
}

// results are the tables of bench/RESULTS.md: the first row whose first cell is a number, by section and label.
type results struct {
	about    string // day and machine
	sections map[string]map[string][]string
}

func loadResults(root string) (*results, error) {
	text, err := os.ReadFile(filepath.Join(root, "bench", "RESULTS.md"))
	if err != nil {
		return nil, err
	}
	r := &results{sections: map[string]map[string][]string{}}
	for i, part := range strings.Split(string(text), "\n## ") {
		if i == 0 {
			_, below, _ := strings.Cut(part, "\n")
			r.about, _, _ = strings.Cut(strings.TrimSpace(below), ", Linux")
			continue
		}
		heading, body, _ := strings.Cut(part, "\n")
		title, _, _ := strings.Cut(heading, ":")
		numbers := r.sections[title]
		if numbers == nil {
			numbers = map[string][]string{}
			r.sections[title] = numbers
		}
		for _, row := range rows(body) {
			if _, twice := numbers[row[0]]; !twice && len(row) > 1 && strings.Trim(row[1], "0123456789.,") == "" {
				numbers[row[0]] = row
			}
		}
	}
	return r, nil
}

// fill replaces the {label} in a template, if there is one; false when there is no such row.
func (r *results) fill(section, template string) (string, bool) {
	before, rest, isFigure := strings.Cut(template, "{")
	if !isFigure {
		return template, true
	}
	label, after, _ := strings.Cut(rest, "}")
	label, column, found := strings.Cut(label, "@")
	at := 1
	if found {
		at, _ = strconv.Atoi(column)
	}
	row := r.sections[section][label]
	if at >= len(row) || row[at] == "" {
		return "", false
	}
	return before + row[at] + after, true
}

// numberOf is the number that a figure begins with, 0 without one.
func numberOf(text string) float64 {
	first, _, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(strings.ReplaceAll(first, ",", ""), 64)
	if err != nil {
		return 0
	}
	return n
}

// table renders the table of a place.
func (r *results) table(p place) (string, error) {
	var b strings.Builder
	b.WriteString("\n" + p.head + "\n|---|---:|---|\n")
	for _, f := range p.figures {
		ours, found := r.fill(f.section, f.ours)
		if !found {
			return "", fmt.Errorf("bench/RESULTS.md has no row for %s in %s", f.ours, f.section)
		}
		var beside []string
		for _, template := range f.beside {
			if text, found := r.fill(f.section, template); found {
				beside = append(beside, text)
			}
		}
		if p.isDearer && len(beside) > 0 && numberOf(ours) <= numberOf(beside[0]) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.what, ours, strings.Join(beside, "; "))
	}
	b.WriteString("\n")
	if p.isDated {
		fmt.Fprintf(&b, "%s; some sections are of another day and machine, as bench/RESULTS.md says.\n", r.about)
	}
	return b.String(), nil
}

// withFigures puts the tables into README's text.
func withFigures(text, root string) (string, error) {
	r, err := loadResults(root)
	if err != nil {
		return "", err
	}
	for _, p := range places {
		table, err := r.table(p)
		if err != nil {
			return "", err
		}
		before, rest, begun := strings.Cut(text, p.begin)
		_, after, ended := strings.Cut(rest, p.end)
		if !begun || !ended {
			return "", fmt.Errorf("README.md has no place for %s", strings.Trim(p.begin, "<!->\n "))
		}
		text = before + p.begin + table + p.end + after
	}
	return text, nil
}

func checkFigures(readme *document, root string) []string {
	if readme == nil {
		return nil // said already
	}
	text, err := withFigures(readme.text, root)
	if err != nil {
		return []string{err.Error()}
	}
	if text != readme.text {
		return []string{"README.md shows other figures than bench/RESULTS.md; run `go run ./tools/doccheck -write`"}
	}
	return nil
}
