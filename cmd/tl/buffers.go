package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"tlruntime/cmd/tl/viz/picture"
	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// buffers plans a list of buffers.
func (p *planning) buffers(out io.Writer, path string) error {
	list, err := readBuffers(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p.hints = list.Hints
	problem := &list.Problem
	_, err = p.solve(out, path, problem, english.Plural(len(problem.Buffers), "buffer", ""))
	return err
}

// solve places buffers, writes what -o names, and prints a summary.
func (p *planning) solve(out io.Writer, path string, problem *offsets.Problem, what string) (*offsets.Solution, error) {
	if err := p.sound(); err != nil {
		return nil, err
	}
	if p.options.Alignment != 0 {
		for i := range problem.Buffers {
			problem.Buffers[i].Alignment = p.options.Alignment
		}
	}
	capacity, err := p.capacity()
	if err != nil {
		return nil, err
	}
	if capacity > 0 && len(problem.Spaces) > 0 {
		return nil, fmt.Errorf("%s has spaces of its own; leave --capacity out, or the spaces", path)
	}
	if capacity > 0 {
		problem.Spaces = []offsets.Space{{Capacity: capacity, Name: "capacity"}}
	}
	o := offsets.Options{Seed: p.options.Seed, MaxSteps: max(p.options.MaxSteps, 0), Budget: p.options.Budget,
		Start: p.hints}
	solution, err := offsets.Solve(*problem, o)
	if err != nil {
		return nil, fileError{path, err}
	}
	if p.validate {
		if err := check.Solution(*problem, solution); err != nil {
			return nil, fmt.Errorf("%s: the solution is wrong, which is a defect: %w", path, err)
		}
	}
	for _, file := range p.outputs {
		if err := writeBuffers(file, path, problem, solution); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(out, "%s: %s\n", filepath.Base(path), what)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	frame, bound := solution.FrameBytes(), solution.LowerBound()
	comparable := bound
	if len(solution.Frames) > 1 {
		comparable = 0 // it bounds each space alone
	}
	fmt.Fprintf(w, "  frame\t%s\t%s\t%s\n", humanize.IBytes(uint64(frame)), humanize.Comma(frame),
		verdict(frame, comparable, solution.Optimal))
	fmt.Fprintf(w, "  lower bound\t%s\t%s\n", humanize.IBytes(uint64(bound)), humanize.Comma(bound))
	return solution, w.Flush()
}

// columns of a list of buffers: those that it must have, and those that it may have, which are minimalloc's, and for
// buffers that lie inside of others.
var (
	neededColumns  = []string{"id", "lower", "upper", "size"}
	furtherColumns = []string{"alignment", "gaps", "offset", "hint", "alias", "alias_offset"}
)

// bufferList is a list of buffers with what it says of where they might lie well: for all of them, or for none.
type bufferList struct {
	offsets.Problem
	Hints []int64 `json:"hints"` // -1: anywhere
}

func readBuffers(path string) (*bufferList, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if strings.EqualFold(filepath.Ext(path), ".json") {
		list := &bufferList{}
		d := json.NewDecoder(f)
		d.DisallowUnknownFields()
		return list, jsonError(d.Decode(list))
	}
	return readTable(f)
}

func readTable(f io.Reader) (*bufferList, error) {
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("the first line names no columns: %w", err)
	}
	for i, name := range header {
		known := slices.Contains(neededColumns, name) || slices.Contains(furtherColumns, name)
		if !known || slices.Contains(header[:i], name) {
			return nil, fmt.Errorf("the first line has a column %q; %s are needed, and %s may follow", name,
				strings.Join(neededColumns, ","), strings.Join(furtherColumns, ","))
		}
	}
	for _, name := range neededColumns {
		if !slices.Contains(header, name) {
			return nil, fmt.Errorf("the first line is %q; %s is needed", strings.Join(header, ","),
				strings.Join(neededColumns, ","))
		}
	}
	r.ReuseRecord = true
	list := &bufferList{}
	bases := map[int]string{}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return list, nameBases(&list.Problem, bases)
		}
		if err != nil {
			return nil, err
		}
		b, hint := offsets.Buffer{}, int64(-1)
		for i, text := range record {
			if header[i] == "alias" && text != "" {
				b.Alias, bases[len(list.Buffers)] = true, strings.Clone(text)
				continue
			}
			if err := parseColumn(&b, &hint, header[i], text); err != nil {
				line, _ := r.FieldPos(i)
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
		}
		list.Buffers = append(list.Buffers, b)
		if slices.Contains(header, "hint") {
			list.Hints = append(list.Hints, hint)
		}
	}
}

// nameBases sets what buffers lie in, which a list names by their ids.
func nameBases(p *offsets.Problem, bases map[int]string) error {
	if len(bases) == 0 {
		return nil
	}
	indices := map[string]int{}
	for i, b := range p.Buffers {
		if _, twice := indices[b.Name]; twice {
			return fmt.Errorf("two buffers have the id %q; where some lie in others each has one of its own", b.Name)
		}
		indices[b.Name] = i
	}
	for i, base := range bases {
		at, known := indices[base]
		if !known {
			return fmt.Errorf("%q is to lie in %q, and no buffer has that id", p.Buffers[i].Name, base)
		}
		p.Buffers[i].Base = at
	}
	return nil
}

// parseColumn reads one column of a buffer, or the hint where it might lie well.
func parseColumn(b *offsets.Buffer, hint *int64, name, text string) (err error) {
	into := map[string]*int64{"lower": &b.First, "upper": &b.End, "size": &b.Bytes, "alignment": &b.Alignment,
		"offset": &b.Offset, "hint": hint, "alias_offset": &b.BaseOffset}
	switch {
	case name == "id":
		b.Name = strings.Clone(text)
	case text == "" && slices.Contains(furtherColumns, name), name == "offset" && text == "-1":
	case name == "gaps":
		for gap := range strings.FieldsSeq(text) {
			first, end, _ := strings.Cut(gap, "-")
			g := offsets.Interval{}
			if g.First, err = strconv.ParseInt(first, 10, 64); err == nil {
				g.End, err = strconv.ParseInt(end, 10, 64)
			}
			if err != nil {
				return fmt.Errorf("the gap %q is not FIRST-END, steps in which the whole buffer is not needed", gap)
			}
			b.Gaps = append(b.Gaps, g)
		}
	default:
		if *into[name], err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		b.Pinned = b.Pinned || name == "offset"
	}
	return nil
}

func writeBuffers(path, title string, p *offsets.Problem, s *offsets.Solution) error {
	draw := func(w io.Writer, format func(io.Writer, *picture.Chart) error) error {
		c, err := chart(title, p, s)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return format(w, c)
	}
	ending := strings.ToLower(filepath.Ext(path))
	if len(s.Frames) > 1 && ending != ".json" {
		return fmt.Errorf("%s: where buffers lie in several spaces is written as .json", path)
	}
	return create(path, func(w io.Writer) error {
		switch ending {
		case ".json":
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(s)
		case ".csv":
			return writeOffsets(w, p, s)
		case ".svg":
			return draw(w, picture.WriteSVG)
		case ".html":
			return draw(w, picture.WriteHTML)
		}
		return fmt.Errorf("%s: a list of buffers, and an arena, is written as .csv, .json, .svg or .html", path)
	})
}

func writeOffsets(w io.Writer, p *offsets.Problem, s *offsets.Solution) error {
	c := csv.NewWriter(w)
	header := slices.Clone(neededColumns)
	gaps := slices.ContainsFunc(p.Buffers, func(b offsets.Buffer) bool { return len(b.Gaps) > 0 })
	if gaps {
		header = append(header, "gaps")
	}
	aliases := slices.ContainsFunc(p.Buffers, func(b offsets.Buffer) bool { return b.Alias })
	if aliases {
		header = append(header, "alias", "alias_offset")
	}
	_ = c.Write(append(header, "offset"))
	for i, b := range p.Buffers {
		record := []string{b.Name}
		for _, number := range []int64{b.First, b.End, b.Bytes} {
			record = append(record, strconv.FormatInt(number, 10))
		}
		if gaps {
			var list []string
			for _, g := range b.Gaps {
				list = append(list, fmt.Sprintf("%d-%d", g.First, g.End))
			}
			record = append(record, strings.Join(list, " "))
		}
		switch {
		case aliases && b.Alias:
			record = append(record, p.Buffers[b.Base].Name, strconv.FormatInt(b.BaseOffset, 10))
		case aliases:
			record = append(record, "", "")
		}
		_ = c.Write(append(record, strconv.FormatInt(s.Offsets[i], 10)))
	}
	c.Flush()
	return c.Error()
}

// chart is the picture's view of the buffers. Its steps begin with 0, or with the
// first one of the list where that is negative.
func chart(title string, p *offsets.Problem, s *offsets.Solution) (*picture.Chart, error) {
	const most = 1 << 53 // beyond, not every step has a place of its own on a page
	c := &picture.Chart{Title: filepath.Base(title), FrameBytes: s.FrameBytes(), LowerBound: s.LowerBound(),
		Optimal: s.Optimal}
	start := int64(0)
	for _, b := range p.Buffers {
		start = min(start, b.First)
	}
	for i, b := range p.Buffers {
		if b.End > most || start < -most {
			return nil, fmt.Errorf("buffer %d (%q) is alive in [%d, %d); a picture shows 2^53 steps", i, b.Name,
				b.First, b.End)
		}
		c.NaiveBytes += b.Bytes
		c.Steps = max(c.Steps, int(b.End-start))
		c.Buffers = append(c.Buffers, picture.Rect{Name: b.Name, Kind: "buffer", First: int(b.First - start),
			End:    int(b.End - start),
			Offset: s.Offsets[i], Bytes: b.Bytes})
	}
	return c, nil
}
