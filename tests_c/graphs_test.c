/* Graphs: built by hand, read from memory and files, bound, frozen, planned and written. */
#include <sys/stat.h>

#include "graphs.h"
#include "thread.h"

static const char as_json[] =
	"{\"tl_graph\": 1, \"name\": \"rows\", \"inputs\": [{\"name\": \"x\", \"dtype\": \"f32\", \"shape\": [\"n\", 3]}],"
	" \"outputs\": [\"y\"], \"nodes\": [{\"op\": \"Transpose\", \"inputs\": [\"x\"], \"outputs\": [\"t\"],"
	" \"attrs\": {\"perm\": [1, 0]}}, {\"op\": \"Softmax\", \"inputs\": [\"t\"], \"outputs\": [\"y\"],"
	" \"attrs\": {\"axis\": 0}}]}";

static tl_graph* parsed(void)
{
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_parse(as_json, sizeof as_json - 1, "json", &graph));
	return graph;
}

/* The text of a plan, which is the same for the same graph. */
static char* text_of(tl_graph* graph)
{
	tl_execution* execution = planned(graph, NULL);
	const char* text = tl_execution_text(execution, "json", NULL, 0);
	CHECK(text != NULL);
	char* copy = strdup(text == NULL ? "" : text);
	CHECK_OK(tl_execution_destroy(execution));
	return copy;
}

static void check_same_plan(tl_graph* one, tl_graph* other)
{
	char *a = text_of(one), *b = text_of(other);
	CHECK(strlen(a) > 100);
	CHECK(strcmp(a, b) == 0);
	free(a);
	free(b);
}

TEST(a_graph_is_built_and_planned)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	tl_execution_info info = info_of(execution);
	CHECK(strcmp(info.name, "line") == 0);
	CHECK_INT(info.num_inputs, 1);
	CHECK_INT(info.num_outputs, 2);
	CHECK_INT(info.num_constants, 1);
	CHECK_INT(info.num_instructions, 3);
	CHECK_INT(info.num_recomputed, 0);
	CHECK_INT(info.is_optimal, 1);
	CHECK_OK(tl_execution_validate(execution));
	/* An execution does not need its graph. */
	CHECK_OK(tl_graph_destroy(graph));
	CHECK_INT(info_of(execution).num_instructions, 3);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(NULL));
	CHECK_OK(tl_execution_destroy(NULL));
}

TEST(by_hand_or_read_is_the_same)
{
	const char *argument[] = {"x"}, *turned[] = {"t"}, *result[] = {"y"}, *symbols[] = {"n", NULL};
	const int64_t shape[] = {-1, 3};
	tl_graph *built = NULL, *read = parsed();
	CHECK_OK(tl_graph_create("rows", &built));
	/* In another order: the plan puts nodes behind the producers of their inputs. */
	CHECK_OK(tl_graph_add_node(built, "Softmax", NULL, turned, 1, result, 1, "{\"axis\": 0}"));
	CHECK_OK(tl_graph_add_node(built, "Transpose", "", argument, 1, turned, 1, "{\"perm\": [1, 0]}"));
	CHECK_OK(tl_graph_add_input(built, "x", TL_DTYPE_F32, 2, shape, symbols));
	CHECK_OK(tl_graph_add_output(built, "y"));
	CHECK_OK(tl_graph_bind(built, "n", 8));
	CHECK_OK(tl_graph_bind(read, "n", 8));
	tl_execution* execution = planned(built, NULL);
	CHECK_INT(info_of(execution).num_inputs, 1);
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	CHECK_OK(tl_execution_get_buffer(execution, 0, &buffer));
	CHECK_INT(buffer.bytes, 8 * 3 * 4);
	CHECK_OK(tl_execution_destroy(execution));
	char *a = text_of(built), *b = text_of(read);
	CHECK(strstr(a, "\"Softmax\"") != NULL && strstr(b, "\"Softmax\"") != NULL);
	free(a);
	free(b);
	CHECK_OK(tl_graph_destroy(built));
	CHECK_OK(tl_graph_destroy(read));
}

TEST(files_hold_the_whole_graph)
{
	char folder[] = "/tmp/tl-graphs-XXXXXX", path[64];
	CHECK(mkdtemp(folder) != NULL);
	const char* const forms[] = {"line.json", "line.onnx"};
	tl_graph* graph = new_line();
	for (int i = 0; i < 2; i++) {
		tl_graph* again = NULL;
		snprintf(path, sizeof path, "%s/%s", folder, forms[i]);
		CHECK_OK(tl_graph_save(graph, path));
		CHECK_OK(tl_graph_load(path, &again));
		check_same_plan(graph, again);
		CHECK_OK(tl_graph_destroy(again));
		remove(path);
	}
	CHECK_OK(tl_graph_destroy(graph));
	/* Symbols without a number stay symbols. */
	tl_graph *rows = parsed(), *again = NULL;
	snprintf(path, sizeof path, "%s/rows.onnx", folder);
	CHECK_OK(tl_graph_save(rows, path));
	CHECK_OK(tl_graph_load(path, &again));
	tl_execution* execution;
	CHECK_FAILS(tl_graph_plan(again, NULL, &execution), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "n") != NULL);
	CHECK_OK(tl_graph_bind(again, "n", 4));
	CHECK_OK(tl_execution_destroy(planned(again, NULL)));
	CHECK_OK(tl_graph_destroy(again));
	CHECK_OK(tl_graph_destroy(rows));
	remove(path);
	rmdir(folder);
}

/* An operator that takes its shape as an input: known when the input is frozen. */
TEST(inputs_become_constants)
{
	const int64_t shape[] = {6}, target[] = {2}, wanted[] = {2, 3};
	const char *arguments[] = {"x", "shape"}, *result[] = {"y"};
	tl_graph* graph = NULL;
	tl_execution* execution = NULL;
	CHECK_OK(tl_graph_create("shaped", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, NULL));
	CHECK_OK(tl_graph_add_input(graph, "shape", TL_DTYPE_I64, 1, target, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Reshape", NULL, arguments, 2, result, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_graph_freeze(graph, "shape", TL_DTYPE_I64, 1, target, wanted));
	execution = planned(graph, NULL);
	CHECK_INT(info_of(execution).num_inputs, 1);
	tl_execution_operand y = {.struct_size = sizeof y};
	CHECK_OK(tl_execution_get_operand(execution, -1, TL_OPERAND_ROLE_OUTPUT, 0, &y));
	CHECK_INT(y.rank, 2);
	CHECK_INT(y.shape[0], 2);
	CHECK_INT(y.shape[1], 3);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(options_are_obeyed)
{
	tl_graph* graph = new_chain();
	tl_execution* execution = planned(graph, NULL);
	tl_execution_info given = info_of(execution);
	CHECK_INT(given.frame_alignment, 64);
	CHECK_OK(tl_execution_destroy(execution));

	tl_graph_options options = {.struct_size = sizeof options, .alignment = 4096, .seed = 7, .budget_ms = 50};
	options.flags = TL_GRAPH_FLAG_PLACE_INPUTS | TL_GRAPH_FLAG_PLACE_OUTPUTS | TL_GRAPH_FLAG_NO_IN_PLACE;
	execution = planned(graph, &options);
	CHECK_INT(info_of(execution).frame_alignment, 4096);
	CHECK(info_of(execution).frame_bytes > given.frame_bytes);
	tl_execution_operand input = {.struct_size = sizeof input};
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	CHECK_OK(tl_execution_get_operand(execution, -1, TL_OPERAND_ROLE_INPUT, 0, &input));
	CHECK_OK(tl_execution_get_buffer(execution, input.buffer, &buffer));
	CHECK_INT(buffer.kind, TL_BUFFER_KIND_INPUT);
	CHECK(buffer.offset >= 0 && buffer.offset % 4096 == 0);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

THREAD(plan_and_change, shared)
{
	tl_graph* graph = shared;
	for (int i = 0; i < 20; i++) {
		tl_execution* execution = planned(graph, NULL);
		CHECK(info_of(execution).num_instructions >= 3);
		CHECK_OK(tl_execution_destroy(execution));
		tl_graph* own = new_line();
		CHECK_OK(tl_graph_add_output(own, "xw"));
		CHECK_OK(tl_graph_add_output(graph, "y"));
		CHECK_OK(tl_graph_destroy(own));
	}
}

TEST(threads_share_graphs)
{
	tl_graph* graph = new_line();
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) threads[i] = start_thread(plan_and_change, graph);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	CHECK_OK(tl_graph_destroy(graph));
}

/* tl_symbols counted those of the smaller library, and left the last names out. */
TEST(symbols_are_those_of_both_libraries)
{
	size_t count = 0;
	const tl_symbol* table = tl_symbols(&count);
	bool first = false, last = false, graphs = false;
	for (size_t i = 0; i < count; i++) {
		CHECK(table[i].address != NULL);
		if (i > 0) CHECK(strcmp(table[i - 1].name, table[i].name) < 0);
		first |= strcmp(table[i].name, "tl_abi_version") == 0;
		graphs |= strcmp(table[i].name, "tl_graph_create") == 0;
		last |= strcmp(table[i].name, "tl_view_permute") == 0;
	}
	CHECK(first && graphs && last);
}

int main(void) { return check_tests(); }
