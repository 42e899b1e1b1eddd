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
type tl_graph_arena_info struct {
	StructSize    uintptr
	Name          uintptr
	Bytes         uintptr
	Alignment     uintptr
	StateBytes    uintptr
	SeparateBytes uintptr
	NumStates     int64
	NumEntries    int64
}

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
type tl_graph_arena_state struct {
	StructSize uintptr
	Name       uintptr
	Dtype      int64
	Rank       int64
	Shape      uintptr
	Bytes      uintptr
	Offset     uintptr
	Data       uintptr
}

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
// Cost: slow call.
//
//export tlgo_graph_arena_destroy
func tlgo_graph_arena_destroy(c, arena uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return destroyArena(o, arena) })
}

// tl_graph_arena_get_info describes an arena.
//
//	C: tl_status tl_graph_arena_get_info(const tl_graph_arena* arena, tl_graph_arena_info* out_info);
//
// Ownership: the name belongs to the arena.
// Threads: any thread.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such arena, no out_info, a struct_size that is too
// small).
// Cost: slow call.
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
// Threads: any thread.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such arena or state, no out_state, a struct_size that
// is too small).
// Cost: slow call.
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
// Threads: any thread.
// Returns: TL_OK and the execution in *out_execution, or why there is none.
// Errors: TL_E_INVALID_ARGUMENT (no such arena or entry, no out_execution), TL_E_LIMIT
// (4,096 executions).
// Cost: slow call.
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
// Threads: any thread.
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
// Threads: any thread.
// Returns: TL_OK; else the plan has a defect, which is one of this library, and the
// message names it.
// Errors: TL_E_INVALID_ARGUMENT (no such arena), TL_E_OUT_OF_MEMORY.
// Cost: slow call; grows with the square of the number of buffers, and with the elements.
//
//export tlgo_graph_arena_validate
func tlgo_graph_arena_validate(c, arena uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return validateArena(o, arena) })
}
