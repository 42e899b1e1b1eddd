package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"tlruntime/cmd/tl/internal/infer"
	"tlruntime/compiler/export"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
)

// arena plans several models, or one with states, for one block of memory.
func (p *planning) arena(out io.Writer, paths []string) error {
	if p.limit != "" || p.slots || p.symbolic {
		return errors.New("--capacity, --slots and --symbolic are for one model without states; an arena is the caller's, " +
			"and as large as the plan says")
	}
	entries, begun, err := p.entries(paths)
	if err != nil {
		return err
	}
	a, err := plan.Together(entries, p.options)
	if err != nil {
		return fileError{strings.Join(paths, ", "), err}
	}
	if p.validate {
		if err := plan.VerifyArena(a, entries); err != nil {
			return fmt.Errorf("the plan is wrong, which is a defect: %w", err)
		}
	}
	for _, file := range p.outputs {
		if err := p.writeArena(a, file); err != nil {
			return err
		}
	}
	return arenaSummary(out, a, begun)
}

// entries reads and checks the models. It also tells where each state has its first
// content from, if that is a constant of a model.
func (p *planning) entries(paths []string) ([]plan.Entry, map[string]models.Begin, error) {
	states, err := p.stateOf()
	if err != nil {
		return nil, nil, err
	}
	var graphs []*graph.Graph
	for _, path := range paths {
		g, err := p.load(path)
		if err != nil {
			return nil, nil, err
		}
		graphs = append(graphs, g)
	}
	options, err := p.checkOptions(graphs)
	if err != nil {
		return nil, nil, err
	}
	entries, begun := make([]plan.Entry, len(graphs)), map[string]models.Begin{}
	found := map[string]bool{}
	for i, g := range graphs {
		own := statesOf(g, states)
		for _, state := range own {
			found[state] = true
		}
		options[i].Infer = infer.New(p.python).Ask
		if entries[i], err = models.Entry(g, g.Name, own, options[i], begun); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", paths[i], err)
		}
	}
	for _, state := range slices.Sorted(maps.Values(states)) {
		if !found[state] {
			return nil, nil, fmt.Errorf("--state %s: no model has an input, output or constant of that name", state)
		}
	}
	return entries, begun, nil
}

// statesOf returns the states of the values that a graph has.
func statesOf(g *graph.Graph, states map[string]string) map[string]string {
	own := map[string]string{}
	add := func(name string) {
		if state := states[name]; state != "" {
			own[name] = state
		}
	}
	for _, in := range g.Inputs {
		add(in.Name)
	}
	for _, k := range g.Constants {
		add(k.Name)
	}
	for _, name := range g.Outputs {
		add(name)
	}
	return own
}

// stateOf returns which state each value is that --state names.
func (p *planning) stateOf() (map[string]string, error) {
	states := map[string]string{}
	for _, text := range p.states {
		name, values, several := strings.Cut(text, "=")
		if !several {
			values = name
		}
		for value := range strings.SplitSeq(values, ",") {
			if name == "" || value == "" {
				return nil, fmt.Errorf("--state %s: NAME=VALUE,... or NAME is needed", text)
			}
			if other, twice := states[value]; twice {
				return nil, fmt.Errorf("--state %s: %q is state %q already", text, value, other)
			}
			states[value] = name
		}
	}
	return states, nil
}

// checkOptions gives each model the symbols and the frozen inputs that it has. A symbol
// may be bound for one model alone: MODEL:SYMBOL.
func (p *planning) checkOptions(graphs []*graph.Graph) ([]check.Options, error) {
	bind, err := p.bound()
	if err != nil {
		return nil, err
	}
	frozen, err := p.frozen()
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	list := make([]check.Options, len(graphs))
	for i, g := range graphs {
		o := check.Options{Bind: map[string]int64{}, Freeze: map[string]graph.Tensor{}}
		for _, key := range slices.Sorted(maps.Keys(bind)) {
			symbol, own := strings.CutPrefix(key, g.Name+":")
			if !hasSymbol(g, symbol) {
				continue
			}
			used[key] = true
			if _, told := o.Bind[symbol]; own || !told {
				o.Bind[symbol] = bind[key]
			}
		}
		for _, in := range g.Inputs {
			if t, is := frozen[in.Name]; is {
				used[in.Name], o.Freeze[in.Name] = true, t
			}
		}
		list[i] = o
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(bind)), slices.Sorted(maps.Keys(frozen))) {
		if !used[key] {
			return nil, fmt.Errorf("no model has a symbol or an input %q; a symbol of one model is MODEL:SYMBOL", key)
		}
	}
	return list, nil
}

func hasSymbol(g *graph.Graph, symbol string) bool {
	has := func(shape []graph.Dim) bool {
		return slices.ContainsFunc(shape, func(d graph.Dim) bool { return d.Symbol == symbol })
	}
	return slices.ContainsFunc(g.Inputs, func(v graph.Value) bool { return has(v.Shape) }) ||
		slices.ContainsFunc(g.Declared, func(d graph.Declaration) bool { return has(d.Shape) })
}

func (p *planning) writeArena(a *plan.Arena, path string) error {
	o := llvm.Options{Name: p.name, Version: p.version}
	return create(path, func(w io.Writer) error {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".json":
			return export.WriteArenaJSON(w, a, export.WithoutContent)
		case ".h":
			if err := export.WriteArenaHeader(w, a, p.name); err != nil {
				return err
			}
			text, err := llvm.ArenaHeader(a, o)
			if err == nil {
				_, err = io.WriteString(w, "\n"+text)
			}
			return err
		case ".ll":
			text, err := llvm.ArenaModule(a, o)
			if err != nil {
				return withoutKernels(err)
			}
			_, err = io.WriteString(w, text)
			return err
		}
		return fmt.Errorf("%s: an arena is written as .json, .h or .ll", path)
	})
}

// arenaSummary prints what an arena comes to.
func arenaSummary(out io.Writer, a *plan.Arena, begun map[string]models.Begin) error {
	fmt.Fprintf(out, "%s: %s in one arena\n", a.Name, english.Plural(len(a.Entries), "entry", "entries"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, bytes int64, remark string) {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", name, humanize.IBytes(uint64(bytes)), humanize.Comma(bytes), remark)
	}
	row("arena", a.Bytes, "")
	row("separate plans", a.SeparateBytes, ratio(a.SeparateBytes, a.Bytes, "the arena"))
	row("state", a.StateBytes, "")
	for _, s := range a.States {
		remark := fmt.Sprintf("%s %v at %d", s.DType, s.Shape, s.Offset)
		if b, is := begun[s.Name]; is {
			remark += fmt.Sprintf(", begins as constant %q of %s", b.Name, b.Graph)
		}
		row("  "+s.Name, s.Bytes, remark)
	}
	for _, p := range a.Entries {
		remark := verdict(p.Frame.Bytes, p.Frame.LowerBound, p.Frame.Optimal)
		row("scratch of "+p.Name, p.Frame.Bytes-a.StateBytes, remark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range a.Entries {
		if err := kernelSummary(out, p); err != nil {
			return err
		}
	}
	return nil
}
