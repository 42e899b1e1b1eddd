/* Plans that hold up to a bound: frame, places and sizes for other numbers of a symbol. */
#include "graphs.h"

enum { BOUND = 20, ROOM = 32 };

/* The scores of n rows for each other, and a row for each column: sizes grow with n and with its square. */
static tl_graph* new_scores(void)
{
	static const char* const symbols[] = {"n", NULL};
	const int64_t shape[] = {0, 8};
	const char *x[] = {"x"}, *t[] = {"t"}, *xt[] = {"x", "t"}, *s[] = {"s"}, *a[] = {"a"}, *ax[] = {"a", "x"},
			   *z[] = {"z"};
	const char *zx[] = {"z", "x"}, *y[] = {"y"};
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_create("scores", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 2, shape, symbols));
	CHECK_OK(tl_graph_add_node(graph, "Transpose", NULL, x, 1, t, 1, "{\"perm\": [1, 0]}"));
	CHECK_OK(tl_graph_add_node(graph, "MatMul", NULL, xt, 2, s, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Softmax", NULL, s, 1, a, 1, "{\"axis\": 1}"));
	CHECK_OK(tl_graph_add_node(graph, "MatMul", NULL, ax, 2, z, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Add", NULL, zx, 2, y, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	CHECK_OK(tl_graph_bind(graph, "n", BOUND));
	return graph;
}

static tl_execution* symbolic(tl_graph* graph)
{
	const tl_graph_options options = {.struct_size = sizeof options, .flags = TL_GRAPH_FLAG_SYMBOLIC};
	return planned(graph, &options);
}

static tl_execution_symbol symbol_of(const tl_execution* execution, int64_t index)
{
	tl_execution_symbol symbol = {.struct_size = sizeof symbol};
	CHECK_OK(tl_execution_get_symbol(execution, index, &symbol));
	return symbol;
}

static tl_execution_buffer buffer_of(const tl_execution* execution, int64_t index)
{
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	CHECK_OK(tl_execution_get_buffer(execution, index, &buffer));
	return buffer;
}

/* The places for n hold what a plan for n has: buffers as large, of which none that are alive at once overlap. */
static void check_places(const tl_execution* execution, tl_graph* graph, int64_t n)
{
	int64_t offsets[ROOM];
	size_t frame = 0, bytes[ROOM];
	tl_execution_info info = info_of(execution);
	size_t buffers = (size_t)info.num_buffers;
	CHECK(buffers <= ROOM);
	CHECK_OK(tl_execution_get_places(execution, &n, 1, &frame, offsets, bytes, buffers));
	CHECK(frame <= info.frame_bytes);
	CHECK_OK(tl_graph_bind(graph, "n", n));
	tl_execution* own = planned(graph, NULL);
	CHECK(frame >= info_of(own).lower_bound);
	CHECK_INT(info_of(own).num_buffers, buffers);
	for (size_t i = 0; i < buffers; i++) {
		tl_execution_buffer one = buffer_of(execution, (int64_t)i);
		CHECK_INT(bytes[i], buffer_of(own, (int64_t)i).bytes);
		CHECK((one.offset < 0) == (offsets[i] < 0));
		if (offsets[i] < 0) continue;
		CHECK(offsets[i] % 64 == 0 && (size_t)offsets[i] + bytes[i] <= frame);
		for (size_t j = 0; j < i; j++) {
			tl_execution_buffer other = buffer_of(execution, (int64_t)j);
			if (offsets[j] < 0 || one.first > other.last || other.first > one.last) continue;
			CHECK(offsets[i] >= offsets[j] + (int64_t)bytes[j] || offsets[j] >= offsets[i] + (int64_t)bytes[i]);
		}
	}
	CHECK_OK(tl_execution_destroy(own));
}

TEST(places_follow_the_number)
{
	tl_graph* graph = new_scores();
	tl_execution* execution = symbolic(graph);
	tl_execution_info info = info_of(execution);
	CHECK_INT(info.num_symbols, 1);
	CHECK_INT(info.is_proved, 1);
	tl_execution_symbol n = symbol_of(execution, 0);
	CHECK(strcmp(n.name, "n") == 0);
	CHECK(n.first >= 0 && n.first <= 2);
	CHECK_INT(n.last, BOUND);
	for (int64_t number = n.first > 0 ? n.first : 1; number <= BOUND; number++) check_places(execution, graph, number);
	/* For the bound they are the plan, and one that is below the first takes the memory of that. */
	int64_t offsets[ROOM], bound = BOUND, one = 1;
	size_t frame = 0, smallest = 0, first = 0;
	CHECK_OK(tl_execution_get_places(execution, &bound, 1, &frame, offsets, NULL, (size_t)info.num_buffers));
	CHECK_INT(frame, info.frame_bytes);
	for (int64_t i = 0; i < info.num_buffers; i++) CHECK_INT(offsets[i], buffer_of(execution, i).offset);
	CHECK_OK(tl_execution_get_places(execution, &one, 1, &smallest, NULL, NULL, 0));
	CHECK_OK(tl_execution_get_places(execution, &n.first, 1, &first, NULL, NULL, 0));
	CHECK(first <= smallest);
	CHECK(10 * smallest < frame);
	CHECK_OK(tl_execution_get_places(execution, &one, 1, NULL, NULL, NULL, 0));
	CHECK(strstr(tl_execution_text(execution, "json", NULL, 0), "\"proved\":true") != NULL);
	CHECK(strstr(tl_execution_text(execution, "header", NULL, 0), "scores_frame_bytes(int64_t n_n)") != NULL);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(numbers_are_checked)
{
	tl_graph* graph = new_scores();
	tl_execution *execution = symbolic(graph), *plain = planned(graph, NULL);
	tl_execution_symbol n = symbol_of(plain, 0);
	CHECK(n.first == BOUND && n.last == BOUND);
	CHECK_INT(info_of(plain).is_proved, 0);
	const int64_t bad[] = {-1, BOUND + 1, INT64_MAX, INT64_MIN};
	size_t frame = 7;
	int64_t offsets[ROOM], one = 1;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		CHECK_FAILS(tl_execution_get_places(execution, &bad[i], 1, &frame, NULL, NULL, 0), TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), "the plan is for 0 to 20") != NULL);
	}
	CHECK_FAILS(tl_execution_get_places(plain, &one, 1, &frame, NULL, NULL, 0), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "TL_GRAPH_FLAG_SYMBOLIC") != NULL);
	CHECK_FAILS(tl_execution_get_places(NULL, &one, 1, &frame, NULL, NULL, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_places(execution, &one, 0, &frame, NULL, NULL, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_places(execution, NULL, 1, &frame, NULL, NULL, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_places(execution, &one, 1, &frame, offsets, NULL, 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_places(execution, &one, 1, (size_t*)(uintptr_t)8, NULL, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK_INT(frame, 7);
	tl_execution_symbol symbol = {.struct_size = sizeof symbol};
	CHECK_FAILS(tl_execution_get_symbol(execution, 1, &symbol), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_symbol(execution, -1, &symbol), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_symbol(execution, 0, NULL), TL_E_INVALID_ARGUMENT);
	symbol.struct_size = 8;
	CHECK_FAILS(tl_execution_get_symbol(execution, 0, &symbol), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_symbol((tl_execution*)(uintptr_t)1, 0, &symbol), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_execution_destroy(plain));
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(what_no_symbol_tells_is_refused)
{
	static const char* const symbols[] = {"n"};
	const int64_t shape[] = {0};
	const char* y[] = {"y"};
	tl_graph* graph = new_scores();
	tl_execution* execution = NULL;
	tl_graph_options options = {.struct_size = sizeof options, .flags = TL_GRAPH_FLAG_SYMBOLIC, .capacity_bytes = 4096};
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "capacity") != NULL);
	CHECK_OK(tl_graph_destroy(graph));
	/* A node that is for one number alone. */
	CHECK_OK(tl_graph_create("one", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, symbols));
	const int64_t two[] = {2}, wanted[] = {4, 5};
	const char* arguments[] = {"x", "w"};
	CHECK_OK(tl_graph_add_constant(graph, "w", TL_DTYPE_I64, 1, two, wanted));
	CHECK_OK(tl_graph_add_node(graph, "Reshape", NULL, arguments, 2, y, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	CHECK_OK(tl_graph_bind(graph, "n", 20));
	options.capacity_bytes = 0;
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "n") != NULL);
	CHECK_OK(tl_graph_destroy(graph));
}

int main(void) { return check_tests(); }
