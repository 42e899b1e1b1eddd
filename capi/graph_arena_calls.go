//go:build full

package main

import (
	"fmt"
	"maps"
	"strings"

	"tlruntime/compiler/export"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// graphArena is graphs that were planned together.
type graphArena struct {
	lent
	arena   *plan.Arena
	seconds []float64          // of the entries
	begins  map[string]uintptr // content of constants, by state
}

var graphArenas = handles[graphArena, *graphArena]{kind: "arena", maker: "tl_graph_plan_together", most: 1 << 12}

func addGraphState(o *object.Context, h, value, state uintptr) status.Status {
	return ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		called, st := textOf(o, value, "the name of a value")
		if st != status.OK {
			return st
		}
		name, st := textOf(o, state, "the name of a state")
		switch {
		case st != status.OK:
			return st
		case called == "" || name == "":
			return fail(o, status.InvalidArgument, "value %q as state %q; both have a name", called, name)
		}
		if other, told := g.states[called]; told && other != name {
			return fail(o, status.InvalidArgument, "%q is state %q already", called, other)
		}
		g.states[called] = name
		return status.OK
	})
}

func planTogether(o *object.Context, graphs addressList, names, options, out uintptr) status.Status {
	switch {
	case graphs.n == 0 || graphs.n > mostArguments || !usable(graphs.at):
		return fail(o, status.InvalidArgument, "an array of %d graphs is needed, of 1 to %d; %#x is none", graphs.n,
			mostArguments, graphs.at)
	case !optional(names):
		return fail(o, status.InvalidArgument, "names are %#x, which is no array; NULL takes those of the graphs", names)
	}
	st := needsOutput(o, out, "out_arena")
	if st != status.OK {
		return st
	}
	p, st := planOptions(o, options)
	switch {
	case st != status.OK:
		return st
	case p.Capacity > 0 || p.symbolic:
		return fail(o, status.InvalidArgument, "a capacity and TL_GRAPH_FLAG_SYMBOLIC are for one graph; an arena is as "+
			"large as the plan says")
	}
	begins := map[string]models.Begin{}
	entries := make([]plan.Entry, graphs.n)
	for i := range entries {
		if entries[i], st = entryOf(o, graphs.entry(i), addressList{names, graphs.n}, i, begins); st != status.OK {
			return st
		}
	}
	made, err := plan.Together(entries, p.Plan)
	if err != nil {
		return invalid(o, err)
	}
	return keepArena(o, made, entries, p.Options, begins, out)
}

// keepArena hands an arena to the program.
func keepArena(o *object.Context, made *plan.Arena, entries []plan.Entry, p remat.Options,
	begins map[string]models.Begin, out uintptr) status.Status {
	a := &graphArena{arena: made, begins: map[string]uintptr{}}
	for i := range entries {
		a.seconds = append(a.seconds, remat.Total(entries[i].Graph, p.Cost))
	}
	for state, b := range begins {
		a.begins[state] = a.content(b.Data, b.DType.Bytes())
	}
	handle, st := graphArenas.add(o, a)
	if st != status.OK {
		a.end()
		return st
	}
	store(out, handle)
	return status.OK
}

// entryOf checks one of the graphs.
func entryOf(o *object.Context, h uintptr, names addressList, i int, begins map[string]models.Begin) (e plan.Entry,
	st status.Status) {
	st = ownGraphs.with(o, h, func(g *ownGraph) status.Status {
		name := g.graph.Name
		if names.at != 0 {
			if at := names.entry(i); at != 0 {
				var st status.Status
				if name, st = textOf(o, at, "the name of an entry"); st != status.OK {
					return st
				}
			}
		}
		if len(g.graph.Outputs) == 0 {
			return fail(o, status.InvalidArgument, "entry %q has no output, so there is nothing to compute; add one", name)
		}
		var err error
		check := graph.CheckOptions{Bind: maps.Clone(g.bind), Freeze: maps.Clone(g.frozen), FoldBytes: foldable()}
		if e, err = models.Entry(g.graph, name, g.states, check, begins); err != nil {
			return fail(o, status.InvalidArgument, "entry %q: %v", name, err)
		}
		return status.OK
	})
	return e, st
}

func destroyArena(o *object.Context, h uintptr) status.Status {
	if h == 0 {
		return status.OK
	}
	a := graphArenas.remove(o, h)
	if a == nil {
		return status.InvalidArgument
	}
	a.end()
	return status.OK
}

func arenaInfo(o *object.Context, h, out uintptr) status.Status {
	return graphArenas.with(o, h, func(a *graphArena) status.Status {
		return fillStruct(o, out, "tl_graph_arena_info", func() tl_graph_arena_info {
			p := a.arena
			return tl_graph_arena_info{Name: a.text(p.Name), Bytes: uintptr(p.Bytes),
				Alignment: uintptr(llvm.ScratchAlignment(p.Entries[0])), StateBytes: uintptr(p.StateBytes),
				SeparateBytes: uintptr(p.SeparateBytes), NumStates: int64(len(p.States)),
				NumEntries: int64(len(p.Entries))}
		})
	})
}

func arenaState(o *object.Context, h uintptr, state int64, out uintptr) status.Status {
	return graphArenas.with(o, h, func(a *graphArena) status.Status {
		if state < 0 || state >= int64(len(a.arena.States)) {
			return outside(o, "state", state, len(a.arena.States))
		}
		return fillStruct(o, out, "tl_graph_arena_state", func() tl_graph_arena_state {
			s := &a.arena.States[state]
			return tl_graph_arena_state{Name: a.text(s.Name), Dtype: int64(s.DType), Rank: int64(len(s.Shape)),
				Shape: a.numbers(s.Shape), Bytes: uintptr(s.Bytes), Offset: uintptr(s.Offset), Data: a.begins[s.Name]}
		})
	})
}

func arenaEntry(o *object.Context, h uintptr, entry int64, out uintptr) status.Status {
	a := graphArenas.find(o, h)
	if a == nil {
		return status.InvalidArgument
	}
	if st := needsOutput(o, out, "out_execution"); st != status.OK {
		return st
	}
	if entry < 0 || entry >= int64(len(a.arena.Entries)) {
		return outside(o, "entry", entry, len(a.arena.Entries))
	}
	made := &remat.Result{Plan: a.arena.Entries[entry], Cost: a.seconds[entry], Given: a.seconds[entry]}
	return keepExecution(o, made, out)
}

func arenaText(o *object.Context, h, form, name uintptr, version int32) (at uintptr) {
	graphArenas.with(o, h, func(a *graphArena) status.Status {
		at = a.written(o, form, name, version, func(asked formOfText) ([]byte, status.Status) {
			return writeText(o, func(b *strings.Builder) error { return a.write(b, asked) })
		})
		return status.OK
	})
	return at
}

// write writes the arena down.
func (a *graphArena) write(b *strings.Builder, asked formOfText) error {
	code := llvm.Options{Name: asked.name, Version: int(asked.version)}
	switch asked.form {
	case "json":
		return export.WriteArenaJSON(b, a.arena, export.WithoutContent)
	case "llvm":
		text, err := llvm.ArenaModule(a.arena, code)
		b.WriteString(text)
		return err
	case "header":
		if err := export.WriteArenaHeader(b, a.arena, asked.name); err != nil {
			return err
		}
		text, err := llvm.ArenaHeader(a.arena, code)
		b.WriteString("\n" + text)
		return err
	}
	return fmt.Errorf("the form %q is unknown; there are json, llvm and header", asked.form)
}

func validateArena(o *object.Context, h uintptr) status.Status {
	return graphArenas.with(o, h, func(a *graphArena) status.Status {
		for _, e := range a.arena.Entries {
			if bytes := plan.ValidationBytes(e); !memory.Obtainable(bytes) {
				return fail(o, status.OutOfMemory, "the system refuses %d bytes for the check of entry %q", bytes, e.Name)
			}
		}
		if err := plan.ValidateArena(a.arena); err != nil {
			return fail(o, status.Internal, "the plan is wrong, which is a defect of this library: %v", err)
		}
		return status.OK
	})
}
