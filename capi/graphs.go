//go:build full

// # Graphs
//
// A graph says what to compute: operators of ONNX over named tensors. A program
// builds one call by call, or loads one from a file of ONNX or JSON. tl_graph_plan
// puts the operators in an order, finds which tensors share memory, and places all
// buffers in one frame. The result is an execution, from which the program reads
// instructions and offsets, or takes LLVM IR that computes the graph.
//
//	tl_graph* graph;
//	tl_graph_create("line", &graph);
//	int64_t shape[] = {64};
//	float weights[64] = {1};
//	tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, NULL);
//	tl_graph_add_constant(graph, "w", TL_DTYPE_F32, 1, shape, weights);
//	const char *multiplied[] = {"x", "w"}, *product[] = {"xw"}, *result[] = {"y"};
//	tl_graph_add_node(graph, "Mul", NULL, multiplied, 2, product, 1, NULL);
//	tl_graph_add_node(graph, "Relu", NULL, product, 1, result, 1, NULL);
//	tl_graph_add_output(graph, "y");
//	tl_execution* execution;
//	if (tl_graph_plan(graph, NULL, &execution) == TL_OK)
//	    compile(tl_execution_text(execution, "llvm", "line", 0));
//	tl_execution_destroy(execution);
//	tl_graph_destroy(graph);
//
// What depends on constants alone is computed when the graph is planned, up to 1 GiB, and
// under a limit of the process (RLIMIT_AS, RLIMIT_DATA) up to less. Beyond that it is left
// to the compiled function, or refused where an operator has to know it.
//
// Nodes may be added in any order: tl_graph_plan checks the graph as a whole, and its
// message names the node that is wrong and says what to do. A graph may be planned
// many times, and changed in between.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_graph is the handle of a graph. It is not an address: nothing can be read
// there.
//
//	C: typedef struct tl_graph tl_graph;
const _ = "tl_graph"

// tl_execution is the handle of a planned graph. It is not an address: nothing can
// be read there.
//
//	C: typedef struct tl_execution tl_execution;
const _ = "tl_execution"

// tl_graph_flag lists the bits of tl_graph_options.flags.
//
//	C: enum tl_graph_flag {
//	    TL_GRAPH_FLAG_NO_VIEWS = 1,     /* reshapes, transposes and slices copy */
//	    TL_GRAPH_FLAG_NO_IN_PLACE = 2,  /* no result takes over its argument's buffer */
//	    TL_GRAPH_FLAG_NO_CONCAT = 4,    /* concatenations and splits copy */
//	    TL_GRAPH_FLAG_NO_REORDER = 8,   /* nodes stay in the order in which they were added */
//	    TL_GRAPH_FLAG_PLACE_INPUTS = 16, /* inputs have a place in the frame, too */
//	    TL_GRAPH_FLAG_PLACE_OUTPUTS = 32, /* outputs have a place in the frame, too */
//	    TL_GRAPH_FLAG_NO_RECOMPUTE = 64, /* for a capacity no value is computed again */
//	    TL_GRAPH_FLAG_OUTSIDE = 128,     /* for a capacity values may be moved to a second space */
//	    TL_GRAPH_FLAG_SYMBOLIC = 256     /* the numbers of symbols are bounds: tl_execution_get_places */
//	};
const _ = "tl_graph_flag"

// tl_graph_options control tl_graph_plan. Set struct_size first. Zeros are the
// defaults. The same graph and options give the same plan everywhere, unless a budget
// in time ends a search.
//
// With a capacity, values that are idle for long are given up where the frame would be
// larger: they are computed again, or moved to a second space and back, whichever takes
// less time. The rates say what operators take; bench/planner/cost measures those of a
// machine. tl_execution_info tells what the plan costs.
//
//	C: typedef struct tl_graph_options {
//	    size_t struct_size;    /* sizeof(tl_graph_options) */
//	    uint64_t seed;         /* of every random choice */
//	    int64_t max_steps;     /* of the search for offsets; 0: 20000 for small plans */
//	    int64_t budget_ms;     /* milliseconds that planning may take, with symbols for each number that is tried; 0: bounded by steps alone */
//	    size_t alignment;      /* of the frame and each buffer: a power of two; 0: 64 */
//	    size_t capacity_bytes; /* the most bytes of the frame; 0: any */
//	    uint64_t flags;        /* tl_graph_flag */
//	    size_t outside_bytes;  /* the most bytes of the second space; 0: any */
//	    double outside_bandwidth; /* bytes that are moved in a second; 0: as many as a copy in memory moves */
//	    const char* rates;     /* JSON, as bench/planner/cost writes it; NULL: those of one server */
//	} tl_graph_options;
const _ = "tl_graph_options"

// tl_graph_create makes a graph without nodes. The name is that of the function and
// the macros that are written for its plans.
//
//	C: tl_status tl_graph_create(const char* name, tl_graph** out_graph);
//
// Ownership: the caller ends the graph with tl_graph_destroy; the name is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK and the graph in *out_graph, or why none was made.
// Errors: TL_E_INVALID_ARGUMENT (no name, or one above 4095 bytes; no out_graph),
// TL_E_LIMIT (65,536 graphs).
//
//export tlgo_graph_create
func tlgo_graph_create(c, name, outGraph uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return createGraph(o, name, outGraph) })
}

// tl_graph_load reads a graph from a file, whose ending tells its form: .onnx or
// .json. Tensors that an ONNX model keeps in files of their own are read from beside
// it. The graph's name is that of the file.
//
//	C: tl_status tl_graph_load(const char* path, tl_graph** out_graph);
//
// Ownership: the caller ends the graph with tl_graph_destroy.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK and the graph in *out_graph, or why none was made.
// Errors: TL_E_INVALID_ARGUMENT (no path, no out_graph, a file that cannot be read, or
// is no graph; the message tells where it is wrong), TL_E_LIMIT (65,536 graphs),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; that of reading the file.
//
//export tlgo_graph_load
func tlgo_graph_load(c, path, outGraph uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return loadGraph(o, path, outGraph) })
}

// tl_graph_parse reads a graph from memory. form is "onnx" or "json". An ONNX model
// that keeps tensors in files of their own is refused; tl_graph_load finds them.
//
//	C: tl_status tl_graph_parse(const void* content, size_t bytes, const char* form, tl_graph** out_graph);
//
// Ownership: the caller ends the graph with tl_graph_destroy; the content is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK and the graph in *out_graph, or why none was made.
// Errors: TL_E_INVALID_ARGUMENT (no content, no such form, no out_graph, content that is
// no graph; the message tells where it is wrong), TL_E_LIMIT (65,536 graphs),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; that of reading the content.
//
//export tlgo_graph_parse
func tlgo_graph_parse(c, content, bytes, form, outGraph uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return parseGraph(o, content, bytes, form, outGraph)
	})
}

// tl_graph_destroy ends a graph. Its executions stay.
//
//	C: tl_status tl_graph_destroy(tl_graph* graph);
//
// Ownership: takes the graph.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such graph).
//
//export tlgo_graph_destroy
func tlgo_graph_destroy(c, graph uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return ownGraphs.destroy(o, graph) })
}

// tl_graph_add_input declares an input. Where symbols is not NULL, an entry that is
// not NULL is the name of an axis whose extent is not known yet; its number in shape
// is not looked at. tl_graph_bind gives the symbol a number.
//
//	C: tl_status tl_graph_add_input(tl_graph* graph, const char* name, int32_t dtype, int64_t rank,
//	    const int64_t* shape, const char* const* symbols);
//
// Ownership: the strings and arrays are only read.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no name, a type that no operator takes,
// a rank below 0 or above 64, no shape, a negative extent, a symbol that is no string).
//
//export tlgo_graph_add_input
func tlgo_graph_add_input(c, graph, name uintptr, dtype int32, rank int64, shape, symbols uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return addGraphInput(o, graph, name, tensorType{dtype, rank, shape}, symbols)
	})
}

// tl_graph_add_constant adds a tensor whose content is known: row by row without
// gaps, in the byte order of the machine.
//
//	C: tl_status tl_graph_add_constant(tl_graph* graph, const char* name, int32_t dtype, int64_t rank,
//	    const int64_t* shape, const void* data);
//
// Ownership: the data is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no name, a type that no operator takes,
// a rank below 0 or above 64, no shape, a negative extent, no data),
// TL_E_OVERFLOW (more bytes than any memory has), TL_E_OUT_OF_MEMORY.
// Cost: slow call; that of the copy.
//
//export tlgo_graph_add_constant
func tlgo_graph_add_constant(c, graph, name uintptr, dtype int32, rank int64, shape, data uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return addGraphConstant(o, graph, name, tensorType{dtype, rank, shape}, data)
	})
}

// tl_graph_freeze makes an input a constant when the graph is planned: weights that
// came as inputs, or a shape that an operator takes as an argument. Another call for
// the same input replaces the content.
//
//	C: tl_status tl_graph_freeze(tl_graph* graph, const char* input, int32_t dtype, int64_t rank,
//	    const int64_t* shape, const void* data);
//
// Ownership: the data is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed. Whether the input exists and takes this
// type and shape is told by tl_graph_plan.
// Errors: TL_E_INVALID_ARGUMENT (as of tl_graph_add_constant), TL_E_OVERFLOW (more bytes
// than any memory has), TL_E_OUT_OF_MEMORY.
// Cost: slow call; that of the copy.
//
//export tlgo_graph_freeze
func tlgo_graph_freeze(c, graph, input uintptr, dtype int32, rank int64, shape, data uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return freezeGraphInput(o, graph, input, tensorType{dtype, rank, shape}, data)
	})
}

// tl_graph_add_node adds an operator. op is its name in ONNX; one of another domain
// has the domain in front, with a point. An input of "" or NULL is an argument that is
// left out, an output of "" or NULL a result that nobody wants. attributes is NULL or
// a JSON object, such as {"axis": 1, "perm": [1, 0]}; a float has a point. name is for
// messages, and may be NULL.
//
// A node that runs graphs (If, Loop, Scan) has them by tl_graph_add_node_with_bodies.
//
//	C: tl_status tl_graph_add_node(tl_graph* graph, const char* op, const char* name,
//	    const char* const* inputs, size_t num_inputs, const char* const* outputs, size_t num_outputs,
//	    const char* attributes);
//
// Ownership: the strings and arrays are only read.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no op, no output, no array, more than
// 65,536 entries, a string above 4095 bytes, attributes that are not in that form or
// above 16 MiB).
//
//export tlgo_graph_add_node
func tlgo_graph_add_node(c, graph, op, name, inputs, numInputs, outputs, numOutputs, attributes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return addGraphNode(o, graph, nodeTexts{op, name, attributes}, addressList{inputs, numInputs},
			addressList{outputs, numOutputs}, nil)
	})
}

// tl_graph_add_node_with_bodies adds an operator that runs graphs: If with the bodies
// "then_branch" and "else_branch", Loop and Scan with "body". body_names has what the
// operator calls each. A body may use the names of the graph around it. Its inputs have
// the types that the operator gives them, whatever was said of them; what was bound,
// frozen or made a state there is not looked at.
//
//	C: tl_status tl_graph_add_node_with_bodies(tl_graph* graph, const char* op, const char* name,
//	    const char* const* inputs, size_t num_inputs, const char* const* outputs, size_t num_outputs,
//	    const char* attributes, const char* const* body_names, tl_graph* const* bodies, size_t num_bodies);
//
// Ownership: the strings and arrays are only read; the bodies are copied, and stay the
// caller's.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (as of tl_graph_add_node; a body that is no graph, has no
// name, or one of another body).
// Cost: slow call; grows with the nodes of the bodies.
//
//export tlgo_graph_add_node_with_bodies
func tlgo_graph_add_node_with_bodies(c, graph, op, name, inputs, numInputs, outputs, numOutputs, attributes, bodyNames,
	bodies, numBodies uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return addGraphNodeWithBodies(o, graph, nodeTexts{op, name, attributes}, addressList{inputs, numInputs},
			addressList{outputs, numOutputs}, bodyNames, addressList{bodies, numBodies})
	})
}

// tl_graph_add_output makes a value an output, behind those that there are.
//
//	C: tl_status tl_graph_add_output(tl_graph* graph, const char* name);
//
// Ownership: the name is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no name, or one above 4095 bytes).
//
//export tlgo_graph_add_output
func tlgo_graph_add_output(c, graph, name uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return addGraphOutput(o, graph, name) })
}

// tl_graph_bind gives a symbol in the shapes of inputs a number, for the plans that
// follow.
//
//	C: tl_status tl_graph_bind(tl_graph* graph, const char* symbol, int64_t number);
//
// Ownership: the name is copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no symbol, a number below 1).
//
//export tlgo_graph_bind
func tlgo_graph_bind(c, graph, symbol uintptr, number int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return bindGraph(o, graph, symbol, number) })
}

// tl_graph_add_state says that an input, an output or a constant is a state of the arenas
// that follow: a tensor that keeps its content between calls, at one place for all graphs
// that have it (tl_graph_plan_together). An input and an output that are one state are its
// content before and after the call. A constant that is a state becomes an input there.
// tl_graph_plan does not look at states.
//
//	C: tl_status tl_graph_add_state(tl_graph* graph, const char* value, const char* state);
//
// Ownership: the names are copied.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why nothing was changed. Whether the value exists is told by
// tl_graph_plan_together.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no name or an empty one, one above 4095
// bytes, a value that is another state already).
//
//export tlgo_graph_add_state
func tlgo_graph_add_state(c, graph, value, state uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return addGraphState(o, graph, value, state) })
}

// tl_graph_save writes a graph to a file, whose ending tells its form: .onnx or .json.
// ONNX wants the types of the outputs, so a graph that cannot be checked can be saved
// as JSON alone. Symbols that have no number stay symbols. The file is replaced by the
// rule that stands under Profiles.
//
//	C: tl_status tl_graph_save(tl_graph* graph, const char* path);
//
// Ownership: none.
// Threads: any thread; calls for one graph take turns.
// Returns: TL_OK, or why no file was written.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no path or another ending, a file that
// cannot be written, a graph that the form cannot hold).
// Cost: slow call; that of writing the file.
//
//export tlgo_graph_save
func tlgo_graph_save(c, graph, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return saveGraph(o, graph, path) })
}

// tl_graph_plan checks a graph and plans it.
//
//	C: tl_status tl_graph_plan(tl_graph* graph, const tl_graph_options* options, tl_execution** out_execution);
//
// Ownership: the caller ends the execution with tl_execution_destroy; it does not need
// the graph. The options are only read; NULL are the defaults.
// Threads: any thread; other calls for the graph wait.
// Returns: TL_OK and the execution in *out_execution, or why there is none.
// Errors: TL_E_INVALID_ARGUMENT (no such graph, no out_execution, options that make no
// sense, or a graph that makes none: the message names node, fault and remedy),
// TL_E_LIMIT (no plan was found that fits into the capacity, or 4,096 executions).
// Cost: slow call; milliseconds for a hundred nodes, and what the budget allows.
//
//export tlgo_graph_plan
func tlgo_graph_plan(c, graph, options, outExecution uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return planGraph(o, graph, options, outExecution) })
}
