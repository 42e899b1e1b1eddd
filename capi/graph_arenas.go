//go:build full

// # Arenas of graphs
//
// Computations that run in turns share one block of memory: an arena. States come first:
// tensors that one computation leaves for the next one (a cache, weights in training), at
// the same place for all. Behind them each computation has its scratch, in the same bytes
// as all others.
//
//	tl_graph_add_state(prefill, "present", "cache");
//	tl_graph_add_state(decode, "past", "cache");
//	tl_graph_add_state(decode, "present", "cache");
//	tl_graph* graphs[] = {prefill, decode};
//	tl_graph_arena* arena;
//	tl_graph_plan_together(graphs, NULL, 2, NULL, &arena);
//	compile(tl_graph_arena_text(arena, "llvm", "chat", 0)); // functions chat_prefill and chat_decode
//	tl_execution* decoding;
//	tl_graph_arena_get_entry(arena, 1, &decoding);
//	tl_execution_run_in(decoding, chat_decode, inputs, 2, outputs, 2, memory, bytes, NULL, 0);
//
// The memory is the program's: as many bytes as tl_graph_arena_info says, with the content
// of each state at its offset. There may be several such blocks for one arena; one call at
// a time may be in a block.
package main

import "C"

import (
	"fmt"
	"maps"
	"strings"

	"tlruntime/compiler/export"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/models"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_graph_arena is the handle of graphs that were planned together. It is not an
// address: nothing can be read there.
//
//	C: typedef struct tl_graph_arena tl_graph_arena;
const _ = "tl_graph_arena"

// tl_graph_arena_info describes an arena. Set struct_size before the call, which fills in
// as much as there is room for.
//
//	C: typedef struct tl_graph_arena_info {
//	    size_t struct_size;    /* sizeof(tl_graph_arena_info) */
//	    const char* name;      /* those of the entries */
//	    size_t bytes;          /* of the memory */
//	    size_t alignment;      /* of its address */
//	    size_t state_bytes;    /* at its start */
//	    size_t separate_bytes; /* what plans of their own and buffers for the states would take */
//	    int64_t num_states;
//	    int64_t num_entries;
//	} tl_graph_arena_info;
const _ = "tl_graph_arena_info"

// tl_graph_arena_state describes a state: a tensor that keeps its content between calls,
// row by row without gaps.
//
//	C: typedef struct tl_graph_arena_state {
//	    size_t struct_size;   /* sizeof(tl_graph_arena_state) */
//	    const char* name;
//	    int64_t dtype;        /* tl_dtype */
//	    int64_t rank;
//	    const int64_t* shape;
//	    size_t bytes;
//	    size_t offset;        /* in the memory */
//	    const void* data;     /* what it begins with: a constant of a graph; NULL: nothing tells */
//	} tl_graph_arena_state;
const _ = "tl_graph_arena_state"

// tl_graph_plan_together plans graphs for one arena. States are those that
// tl_graph_add_state has told of each graph. A state that a graph reads and gives out
// changes in place where the graph allows it; else the new content is made in the scratch
// and copied in the end. names has the name of each entry, which is that of its function;
// NULL takes those of the graphs. The options are those of tl_graph_plan, without a
// capacity and without TL_GRAPH_FLAG_SYMBOLIC.
//
//	C: tl_status tl_graph_plan_together(tl_graph* const* graphs, const char* const* names, size_t num_graphs,
//	    const tl_graph_options* options, tl_graph_arena** out_arena);
//
// Ownership: the caller ends the arena with tl_graph_arena_destroy; it does not need the
// graphs. Arrays, strings and options are only read.
// Threads: any thread; other calls for the graphs wait.
// Returns: TL_OK and the arena in *out_arena, or why there is none.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no graph, no array, more than 65,536
// graphs, no out_arena, options that make no sense, a graph that makes none, two entries
// of one name, a state whose type, shape or first content is not the same everywhere; the
// message names entry and value), TL_E_LIMIT (4,096 arenas).
// Cost: slow call; that of tl_graph_plan for each graph, up to three times.
//
//export tlgo_graph_plan_together
func tlgo_graph_plan_together(c, graphs, names, numGraphs, options, outArena uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return planTogether(o, addressList{graphs, numGraphs}, names, options, outArena)
	})
}

// tl_graph_arena_destroy ends an arena, and with it every string and array that its
// functions have returned. Its executions stay, and the memory is the program's.
//
//	C: tl_status tl_graph_arena_destroy(tl_graph_arena* arena);
//
// Ownership: takes the arena.
// Threads: any thread, when no other one uses the arena.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such arena).
//
//export tlgo_graph_arena_destroy
func tlgo_graph_arena_destroy(c, arena uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return graphArenas.destroy(o, arena) })
}

// tl_graph_arena_get_info describes an arena.
//
//	C: tl_status tl_graph_arena_get_info(const tl_graph_arena* arena, tl_graph_arena_info* out_info);
//
// Ownership: the name belongs to the arena.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such arena, no out_info, a struct_size that is too
// small).
//
//export tlgo_graph_arena_get_info
func tlgo_graph_arena_get_info(c, arena, outInfo uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return arenaInfo(o, arena, outInfo) })
}

// tl_graph_arena_get_state describes a state, by its index: in the order in which the
// graphs have them.
//
//	C: tl_status tl_graph_arena_get_state(const tl_graph_arena* arena, int64_t state,
//	    tl_graph_arena_state* out_state);
//
// Ownership: name, shape and data belong to the arena.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such arena or state, no out_state, a struct_size that
// is too small).
//
//export tlgo_graph_arena_get_state
func tlgo_graph_arena_get_state(c, arena uintptr, state int64, outState uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return arenaState(o, arena, state, outState) })
}

// tl_graph_arena_get_entry returns the execution of an entry, by its index: in the order
// of the graphs. Its frame is the memory as far as the entry needs it, with the states as
// buffers of kind TL_BUFFER_KIND_STATE; offsets count from the start of the memory.
//
//	C: tl_status tl_graph_arena_get_entry(const tl_graph_arena* arena, int64_t entry, tl_execution** out_execution);
//
// Ownership: the caller ends the execution with tl_execution_destroy; it does not need
// the arena. Each call makes one.
// Returns: TL_OK and the execution in *out_execution, or why there is none.
// Errors: TL_E_INVALID_ARGUMENT (no such arena or entry, no out_execution), TL_E_LIMIT
// (4,096 executions).
//
//export tlgo_graph_arena_get_entry
func tlgo_graph_arena_get_entry(c, arena uintptr, entry int64, outExecution uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return arenaEntry(o, arena, entry, outExecution) })
}

// tl_graph_arena_text writes an arena down. form is "json", "llvm" (a module in LLVM IR
// with one function for each entry, for tl_execution_run_in) or "header" (size, places and
// functions for C). Functions are called as the entries, with name and _ in front; NULL
// puts nothing there. llvm_version is as in tl_execution_text.
//
//	C: const char* tl_graph_arena_text(const tl_graph_arena* arena, const char* form, const char* name,
//	    int32_t llvm_version);
//
// Ownership: the text belongs to the arena, which keeps one for each form, name and
// version.
// Returns: the text; NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such arena or form, a name above 4095 bytes, a version
// that is too old, entries whose names become one in code), TL_E_UNSUPPORTED (LLVM alone:
// operators that have no kernel; the message names them).
// Cost: slow call; that of writing the text.
//
//export tlgo_graph_arena_text
func tlgo_graph_arena_text(c, arena, form, name uintptr, llvmVersion int32) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr {
		return arenaText(o, arena, form, name, llvmVersion)
	})
}

// tl_graph_arena_validate checks an arena with code that is independent of the planner:
// states, and lifetimes, overlaps and offsets of each entry.
//
//	C: tl_status tl_graph_arena_validate(const tl_graph_arena* arena);
//
// Ownership: none.
// Returns: TL_OK; else the plan has a defect, which is one of this library, and the
// message names it.
// Errors: TL_E_INVALID_ARGUMENT (no such arena), TL_E_OUT_OF_MEMORY.
// Cost: slow call; grows with the square of the number of buffers, and with the elements.
//
//export tlgo_graph_arena_validate
func tlgo_graph_arena_validate(c, arena uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return validateArena(o, arena) })
}

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
		check := check.Options{Bind: maps.Clone(g.bind), Freeze: maps.Clone(g.frozen), FoldBytes: foldable()}
		if e, err = models.Entry(g.graph, name, g.states, check, begins); err != nil {
			return fail(o, status.InvalidArgument, "entry %q: %v", name, err)
		}
		return status.OK
	})
	return e, st
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
