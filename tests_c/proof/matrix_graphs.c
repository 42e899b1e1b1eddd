/* What the full library alone has: graphs, executions and arenas as fixtures, and what their functions read. */
#include "matrix.h"

static int64_t execution_buffers; /* of the fixtures */

/* y = Tanh(Exp(x)), of n elements. */
static tl_graph* new_graph(void)
{
	static const char* const symbols[] = {"n"};
	const int64_t shape[] = {0};
	const char *x[] = {"x"}, *h[] = {"h"}, *y[] = {"y"};
	tl_graph* graph = NULL;
	if (tl_graph_create("matrix", &graph) != TL_OK) return NULL;
	tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, symbols);
	tl_graph_add_node(graph, "Exp", NULL, x, 1, h, 1, NULL);
	tl_graph_add_node(graph, "Tanh", NULL, h, 1, y, 1, NULL);
	tl_graph_add_output(graph, "y");
	tl_graph_bind(graph, "n", 3);
	return graph;
}

static tl_execution* new_execution(tl_graph* graph)
{
	const tl_graph_options options = {.struct_size = sizeof options, .flags = TL_GRAPH_FLAG_SYMBOLIC};
	tl_execution_info info = {.struct_size = sizeof info};
	tl_execution* execution = NULL;
	if (tl_graph_plan(graph, &options, &execution) != TL_OK) return NULL;
	if (tl_execution_get_info(execution, &info) == TL_OK) execution_buffers = info.num_buffers;
	return execution;
}

/* 0 a graph, 2 an execution, 4 an arena; and one more for one that has ended. */
void make_graph(fixture* f, intptr_t which, intptr_t offset)
{
	tl_graph* graph = new_graph();
	void* handle = graph;
	f->graph = graph;
	if (which / 2 == 1) handle = f->execution = new_execution(graph);
	if (which / 2 == 2) {
		tl_graph_arena* arena = NULL;
		tl_graph_plan_together(&graph, NULL, 1, NULL, &arena);
		handle = f->arena = arena;
	}
	f->absent = handle == NULL;
	f->pointer = (void*)((uintptr_t)handle + (uintptr_t)offset);
	if (which % 2 == 1) drop_graph(f);
}

void drop_graph(fixture* f)
{
	if (f->arena != NULL) tl_graph_arena_destroy(f->arena);
	if (f->execution != NULL) tl_execution_destroy(f->execution);
	if (f->graph != NULL) tl_graph_destroy(f->graph);
	f->arena = f->execution = f->graph = NULL;
}

void drop_made(const arguments* a, const matrix_function* f)
{
	const uint64_t untouched = UINT64_C(0xA5A5A5A5A5A5A5A5);
	for (int i = 0; i < f->count; i++) {
		uint64_t word;
		if (f->params[i].role != MATRIX_OUTPUT || a->words[i] != (uint64_t)(uintptr_t)a->outputs[i]) continue;
		memcpy(&word, a->outputs[i], sizeof word);
		if (word == untouched || word == 0) continue;
		void* handle = (void*)(uintptr_t)word;
		if (strcmp(f->params[i].name, "out_graph") == 0) tl_graph_destroy(handle);
		if (strcmp(f->params[i].name, "out_execution") == 0) tl_execution_destroy(handle);
		if (strcmp(f->params[i].name, "out_arena") == 0) tl_graph_arena_destroy(handle);
	}
}

static tl_status computes(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch)
{
	(void)inputs, (void)outputs, (void)constants, (void)scratch;
	return TL_OK;
}

/* Spaces behind a graph belong to its JSON: a length up to 64 bytes is one of the text. */
static const char content[64 + 1] = "{\"tl_graph\": 1, \"outputs\": []}                                 ";

const void* graph_pointer(const matrix_param* p)
{
	static const char* const names[LIST_ENTRIES] = {"x"};
	static const tl_graph_options options = {.struct_size = sizeof options, .max_steps = 10};
	static const int64_t numbers[] = {2};
	static const struct {
		const char *name, *text;
	} texts[] = {{"form", "json"}, {"op", "Relu"}, {"attributes", "{}"},
	             {"symbol", "n"},  {"input", "x"}, {"state", "s"}};
	if (p->role == MATRIX_NAMES) return names;
	if (p->role == MATRIX_FUNCTION) return (const void*)(uintptr_t)computes;
	if (p->role == MATRIX_STRUCT) return &options;
	if (strcmp(p->name, "content") == 0) return content;
	if (strcmp(p->name, "numbers") == 0) return numbers;
	for (size_t i = 0; p->role == MATRIX_TEXT && i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(p->name, texts[i].name) == 0) return texts[i].text;
	return NULL;
}

int64_t graph_integer(const matrix_function* f, const matrix_param* p)
{
	if (strcmp(p->name, "num_buffers") == 0) return execution_buffers;
	if (strncmp(p->name, "num_", 4) == 0) return 1;
	if (strcmp(p->name, "number") == 0) return 2;
	return strcmp(p->name, "bytes") == 0 && is_called(f, "tl_graph_parse") ? 64 : -1;
}
