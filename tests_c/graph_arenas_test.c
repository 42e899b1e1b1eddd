/* Graphs that share an arena: states at one place, each graph's scratch behind them, and running in the caller's memory. */
#include "graphs.h"

enum { WIDTH = 16, BYTES = WIDTH * (int)sizeof(float) };

/* fill: cache = Relu(prompt). */
static tl_graph* new_fill(int64_t width)
{
	const char *prompt[] = {"prompt"}, *present[] = {"present"};
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_create("fill", &graph));
	CHECK_OK(tl_graph_add_input(graph, "prompt", TL_DTYPE_F32, 1, &width, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Relu", NULL, prompt, 1, present, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "present"));
	CHECK_OK(tl_graph_add_state(graph, "present", "cache"));
	return graph;
}

/* step: cache += token * w, sum = ReduceSum(cache); w is a state that begins with 2, 3, ... */
static tl_graph* new_step(void)
{
	static const float weights[WIDTH] = {2, 3, 4, 5};
	const int64_t shape[] = {WIDTH};
	const char *scaled[] = {"token", "w"}, *s[] = {"s"}, *added[] = {"past", "s"}, *present[] = {"present"};
	const char* sum[] = {"sum"};
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_create("step", &graph));
	CHECK_OK(tl_graph_add_input(graph, "past", TL_DTYPE_F32, 1, shape, NULL));
	CHECK_OK(tl_graph_add_input(graph, "token", TL_DTYPE_F32, 1, shape, NULL));
	CHECK_OK(tl_graph_add_constant(graph, "w", TL_DTYPE_F32, 1, shape, weights));
	CHECK_OK(tl_graph_add_node(graph, "Mul", NULL, scaled, 2, s, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Add", NULL, added, 2, present, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "ReduceSum", NULL, present, 1, sum, 1, "{\"keepdims\": 0}"));
	CHECK_OK(tl_graph_add_output(graph, "present"));
	CHECK_OK(tl_graph_add_output(graph, "sum"));
	CHECK_OK(tl_graph_add_state(graph, "past", "cache"));
	CHECK_OK(tl_graph_add_state(graph, "present", "cache"));
	CHECK_OK(tl_graph_add_state(graph, "w", "weights"));
	return graph;
}

static tl_graph_arena* together(tl_graph* const* graphs, size_t n, const char* const* names)
{
	tl_graph_arena* arena = NULL;
	CHECK_OK(tl_graph_plan_together(graphs, names, n, NULL, &arena));
	CHECK(arena != NULL);
	return arena;
}

static tl_graph_arena* fill_and_step(const char* const* names)
{
	tl_graph* graphs[] = {new_fill(WIDTH), new_step()};
	tl_graph_arena* arena = together(graphs, 2, names);
	for (int i = 0; i < 2; i++) CHECK_OK(tl_graph_destroy(graphs[i]));
	return arena;
}

static tl_graph_arena_info about(const tl_graph_arena* arena)
{
	tl_graph_arena_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_graph_arena_get_info(arena, &info));
	return info;
}

static tl_graph_arena_state state_of(const tl_graph_arena* arena, int64_t index)
{
	tl_graph_arena_state state = {.struct_size = sizeof state};
	CHECK_OK(tl_graph_arena_get_state(arena, index, &state));
	return state;
}

static tl_execution* entry_of(const tl_graph_arena* arena, int64_t index)
{
	tl_execution* execution = NULL;
	CHECK_OK(tl_graph_arena_get_entry(arena, index, &execution));
	return execution;
}

static tl_execution_buffer buffer_of(const tl_execution* execution, int64_t index)
{
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	CHECK_OK(tl_execution_get_buffer(execution, index, &buffer));
	return buffer;
}

TEST(states_lie_at_one_place)
{
	tl_graph_arena* arena = fill_and_step(NULL);
	tl_graph_arena_info info = about(arena);
	CHECK(strcmp(info.name, "fill_step") == 0);
	CHECK_INT(info.alignment, 64);
	CHECK_INT(info.num_states, 2);
	CHECK_INT(info.num_entries, 2);
	CHECK_INT(info.state_bytes, 2 * BYTES);
	CHECK(info.bytes >= info.state_bytes && info.bytes < info.separate_bytes);
	CHECK_OK(tl_graph_arena_validate(arena));
	tl_graph_arena_state cache = state_of(arena, 0), weights = state_of(arena, 1);
	CHECK(strcmp(cache.name, "cache") == 0 && strcmp(weights.name, "weights") == 0);
	CHECK_INT(cache.offset, 0);
	CHECK_INT(cache.bytes, BYTES);
	CHECK_INT(cache.dtype, TL_DTYPE_F32);
	CHECK(cache.rank == 1 && cache.shape[0] == WIDTH);
	CHECK_PTR(cache.data, NULL);
	CHECK(weights.offset >= BYTES && ((const float*)weights.data)[1] == 3);
	CHECK_PTR(state_of(arena, 1).data, weights.data);
	for (int64_t i = 0; i < 2; i++) {
		tl_execution* entry = entry_of(arena, i);
		tl_execution_info plan = info_of(entry);
		int64_t states = 0;
		CHECK(strcmp(plan.name, i == 0 ? "fill" : "step") == 0);
		CHECK(plan.frame_bytes <= info.bytes);
		CHECK(plan.seconds > 0);
		for (int64_t n = 0; n < plan.num_buffers; n++) {
			tl_execution_buffer buffer = buffer_of(entry, n);
			if (buffer.kind != TL_BUFFER_KIND_STATE) {
				CHECK(buffer.offset < 0 || (size_t)buffer.offset >= info.state_bytes);
				continue;
			}
			CHECK_INT(buffer.offset, strcmp(buffer.name, "cache") == 0 ? cache.offset : weights.offset);
			states++;
		}
		CHECK_INT(states, 2);
		CHECK_OK(tl_execution_destroy(entry));
	}
	CHECK_OK(tl_graph_arena_destroy(arena));
	CHECK_OK(tl_graph_arena_destroy(NULL));
}

TEST(texts_have_all_entries)
{
	tl_graph_arena* arena = fill_and_step(NULL);
	const char* module = tl_graph_arena_text(arena, "llvm", "chat", 0);
	CHECK(strstr(module, "define i32 @chat_fill(ptr %inputs, ptr %outputs, ptr %constants, ptr %scratch)") != NULL);
	CHECK(strstr(module, "define i32 @chat_step(") != NULL && strstr(module, "tl_mem_frame_enter") == NULL);
	CHECK_PTR(tl_graph_arena_text(arena, "llvm", "chat", 0), module);
	CHECK(strstr(tl_graph_arena_text(arena, "llvm", NULL, 14), "define i32 @step(") != NULL);
	CHECK(strncmp(tl_graph_arena_text(arena, "json", NULL, 0), "{\n\"tl_arena\": 1", 15) == 0);
	const char* header = tl_graph_arena_text(arena, "header", "chat", 0);
	CHECK(strstr(header, "#define CHAT_STATE_WEIGHTS_OFFSET 64") != NULL);
	CHECK(strstr(header, "int32_t chat_step(") != NULL);
	/* A plan with states has no code that takes its memory from the library. */
	tl_execution* entry = entry_of(arena, 1);
	CHECK_REFUSED(tl_execution_text(entry, "llvm", NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_execution_text(entry, "llvm-caller", NULL, 0), "define i32 @step(") != NULL);
	CHECK_OK(tl_execution_destroy(entry));
	CHECK_OK(tl_graph_arena_destroy(arena));
}

/* What a compiler would make of the entries, by the places of the plan. */
static size_t cache_at, weights_at;

static tl_status fill(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch)
{
	const float* prompt = inputs[0];
	float* cache = (float*)((char*)scratch + cache_at);
	(void)outputs, (void)constants;
	for (int i = 0; i < WIDTH; i++) cache[i] = prompt[i] > 0 ? prompt[i] : 0;
	return TL_OK;
}

static tl_status step(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch)
{
	const float *token = inputs[1], *weights = (float*)((char*)scratch + weights_at);
	float *cache = (float*)((char*)scratch + cache_at), *sum = outputs[1];
	(void)constants;
	for (int i = 0; i < WIDTH; i++) cache[i] += token[i] * weights[i];
	*sum = 0;
	for (int i = 0; i < WIDTH; i++) *sum += cache[i];
	return TL_OK;
}

static void* address_of(tl_status (*function)(const void* const*, void* const*, const void* const*, void*))
{
	return (void*)(uintptr_t)function;
}

TEST(states_stay_between_calls)
{
	tl_graph_arena* arena = fill_and_step((const char* const[]){"begin", NULL});
	tl_graph_arena_info info = about(arena);
	CHECK(strcmp(info.name, "begin_step") == 0);
	char* memory = aligned_alloc(info.alignment, (info.bytes + info.alignment - 1) / info.alignment * info.alignment);
	memset(memory, 0xff, info.bytes);
	for (int64_t i = 0; i < info.num_states; i++) {
		tl_graph_arena_state state = state_of(arena, i);
		*(i == 0 ? &cache_at : &weights_at) = state.offset;
		if (state.data != NULL) memcpy(memory + state.offset, state.data, state.bytes);
	}
	tl_execution *begin = entry_of(arena, 0), *more = entry_of(arena, 1);
	CHECK_OK(tl_graph_arena_destroy(arena)); /* executions do not need it */
	float prompt[WIDTH] = {1, -1, 2, -2}, token[WIDTH] = {10, 20}, sum = 0;
	const void *first[] = {prompt}, *rest[] = {NULL, token, NULL};
	void *none[] = {NULL}, *total[] = {NULL, &sum};
	CHECK_INT(info_of(more).num_inputs, 3); /* past, token, and the weights that were a constant */
	CHECK_OK(tl_execution_run_in(begin, address_of(fill), first, 1, none, 1, memory, info.bytes, NULL, 0));
	for (int i = 1; i <= 3; i++) {
		CHECK_OK(tl_execution_run_in(more, address_of(step), rest, 3, total, 2, memory, info.bytes, NULL, 0));
		CHECK(sum == 3 + (float)i * (10 * 2 + 20 * 3));
	}
	/* A new beginning, and other weights. */
	((float*)(memory + weights_at))[0] = 7;
	CHECK_OK(tl_execution_run_in(begin, address_of(fill), first, 1, none, 1, memory, info.bytes, NULL, 0));
	CHECK_OK(tl_execution_run_in(more, address_of(step), rest, 3, total, 2, memory, info.bytes, NULL, 0));
	CHECK(sum == 3 + 10 * 7 + 20 * 3);
	CHECK_FAILS(tl_execution_run(more, address_of(step), rest, 3, total, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "is a state of an arena") != NULL);
	rest[1] = NULL;
	CHECK_FAILS(tl_execution_run_in(more, address_of(step), rest, 3, total, 2, memory, info.bytes, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "\"token\"") != NULL);
	CHECK_OK(tl_execution_destroy(begin));
	CHECK_OK(tl_execution_destroy(more));
	free(memory);
}

TEST(states_have_to_agree)
{
	tl_graph *narrow = new_fill(WIDTH / 2), *wide = new_fill(WIDTH), *stepping = new_step(), *empty = NULL;
	tl_graph_arena* arena = NULL;
	CHECK_OK(tl_graph_create("empty", &empty));
	static const struct {
		int graphs[2];
		size_t n;
		const char* names[2];
		const char* says;
	} wrong[] = {
		{{0, 2}, 2, {NULL, NULL}, "a state has one type and one shape"},
		{{1, 1}, 2, {NULL, NULL}, "each entry needs a name of its own"},
		{{1, 2}, 2, {"same", "same"}, "each entry needs a name of its own"},
		{{3, 2}, 2, {NULL, NULL}, "entry \"empty\" has no output"},
		{{1, 2}, 0, {NULL, NULL}, "an array of 0 graphs"},
		{{1, 4}, 2, {NULL, NULL}, "the graph is NULL"},
	};
	tl_graph* const known[] = {narrow, wide, stepping, empty, NULL};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		tl_graph* const graphs[] = {known[wrong[i].graphs[0]], known[wrong[i].graphs[1]]};
		CHECK_FAILS(tl_graph_plan_together(graphs, wrong[i].names, wrong[i].n, NULL, &arena), TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), wrong[i].says) != NULL);
	}
	tl_graph* const graphs[] = {wide, stepping};
	tl_graph_options tight = {.struct_size = sizeof tight, .capacity_bytes = 4096};
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, 2, &tight, &arena), TL_E_INVALID_ARGUMENT);
	tight = (tl_graph_options){.struct_size = sizeof tight, .flags = TL_GRAPH_FLAG_SYMBOLIC};
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, 2, &tight, &arena), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, 2, NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_plan_together(NULL, NULL, 2, NULL, &arena), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, (1 << 16) + 1, NULL, &arena), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_plan_together(graphs, (const char* const*)(uintptr_t)8, 2, NULL, &arena),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_state(wide, "present", "other"), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "is state \"cache\" already") != NULL);
	CHECK_FAILS(tl_graph_add_state(wide, "", "s"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_state(wide, "prompt", ""), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_state(wide, NULL, "s"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_state(wide, "prompt", NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_state(NULL, "prompt", "s"), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_graph_add_state(wide, "nobody", "s"));
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, 2, NULL, &arena), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "\"nobody\" should be state \"s\"") != NULL);
	CHECK_PTR(arena, NULL);
	/* A graph with states is planned alone as any other. */
	CHECK_OK(tl_execution_destroy(planned(stepping, NULL)));
	for (int i = 0; i < 4; i++) CHECK_OK(tl_graph_destroy(known[i]));
}

TEST(first_contents_have_to_agree)
{
	const float other[WIDTH] = {9};
	const int64_t shape[] = {WIDTH};
	tl_graph *stepping = new_step(), *again = new_step(), *differs = new_fill(WIDTH);
	const char* const names[] = {"one", "two"};
	tl_graph* const same[] = {stepping, again};
	CHECK_OK(tl_graph_arena_destroy(together(same, 2, names)));
	CHECK_OK(tl_graph_add_constant(differs, "u", TL_DTYPE_F32, 1, shape, other));
	CHECK_OK(tl_graph_add_state(differs, "u", "weights"));
	tl_graph* const graphs[] = {stepping, differs};
	tl_graph_arena* arena = NULL;
	CHECK_FAILS(tl_graph_plan_together(graphs, NULL, 2, NULL, &arena), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "state \"weights\" begins as constant \"w\" of step and as constant \"u\" of fill") !=
	      NULL);
	CHECK_OK(tl_graph_destroy(stepping));
	CHECK_OK(tl_graph_destroy(again));
	CHECK_OK(tl_graph_destroy(differs));
}

TEST(questions_need_sense)
{
	tl_graph_arena *arena = fill_and_step(NULL), *bad[] = {NULL, (tl_graph_arena*)(uintptr_t)1, fill_and_step(NULL)};
	tl_graph_arena_info info = {.struct_size = sizeof info};
	tl_graph_arena_state state = {.struct_size = sizeof state};
	tl_execution* execution = NULL;
	CHECK_OK(tl_graph_arena_destroy(bad[2]));
	for (int i = 0; i < 3; i++) {
		if (bad[i] != NULL) CHECK_FAILS(tl_graph_arena_destroy(bad[i]), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_arena_get_info(bad[i], &info), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_arena_get_state(bad[i], 0, &state), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_arena_get_entry(bad[i], 0, &execution), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_arena_validate(bad[i]), TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_graph_arena_text(bad[i], "json", NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	}
	CHECK_FAILS(tl_graph_arena_get_info(arena, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_state(arena, 2, &state), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_state(arena, -1, &state), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_state(arena, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_entry(arena, 2, &execution), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_entry(arena, -1, &execution), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_arena_get_entry(arena, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_graph_arena_text(arena, "llvm-caller", NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_graph_arena_text(arena, NULL, NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_graph_arena_text(arena, "llvm", NULL, 3), 0, TL_E_INVALID_ARGUMENT);
	state.struct_size = 8;
	CHECK_FAILS(tl_graph_arena_get_state(arena, 0, &state), TL_E_INVALID_ARGUMENT);
	CHECK_PTR(execution, NULL);
	CHECK_OK(tl_graph_arena_destroy(arena));
}

TEST(missing_kernels_are_named)
{
	static const char text[] =
		"{\"tl_graph\": 1, \"name\": \"own\", \"inputs\": [{\"name\": \"x\", \"dtype\": \"f32\", \"shape\": [4]}],"
		" \"outputs\": [\"y\"], \"nodes\": [{\"op\": \"com.example.Mystery\", \"inputs\": [\"x\"], \"outputs\": "
		"[\"y\"]}],"
		" \"values\": [{\"name\": \"y\", \"dtype\": \"f32\", \"shape\": [4]}]}";
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_parse(text, sizeof text - 1, "json", &graph));
	CHECK_OK(tl_graph_add_state(graph, "x", "x"));
	tl_graph_arena* arena = together(&graph, 1, NULL);
	CHECK(tl_graph_arena_text(arena, "json", NULL, 0) != NULL);
	CHECK_REFUSED(tl_graph_arena_text(arena, "llvm", NULL, 0), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(tl_last_error(), "com.example.Mystery") != NULL);
	CHECK_OK(tl_graph_arena_destroy(arena));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(numbers_have_limits)
{
	enum { MOST = 1 << 12 };
	static tl_graph_arena* arenas[MOST];
	static tl_execution* entries[MOST];
	tl_graph* graph = new_fill(WIDTH);
	tl_graph_arena* arena = NULL;
	tl_execution* execution = NULL;
	for (int i = 0; i < MOST; i++) arenas[i] = together(&graph, 1, NULL);
	CHECK_FAILS(tl_graph_plan_together(&graph, NULL, 1, NULL, &arena), TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), "4096 arenas") != NULL);
	for (int i = 0; i < MOST; i++) entries[i] = entry_of(arenas[i], 0);
	CHECK_FAILS(tl_graph_arena_get_entry(arenas[0], 0, &execution), TL_E_LIMIT);
	for (int i = 0; i < MOST; i++) CHECK_OK(tl_graph_arena_destroy(arenas[i]));
	for (int i = 0; i < MOST; i++) CHECK_OK(tl_execution_destroy(entries[i]));
	CHECK_OK(tl_graph_destroy(graph));
}

int main(void) { return check_tests(); }
