/* What graphs refuse: a status, a message that says what to do, and nothing has changed. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "graphs.h"

static const int64_t shape[] = {2, 3};
static const float content[6] = {1, 2, 3, 4, 5, 6};
static char long_text[5000];

/* A number that is no handle: NULL, small ones, memory of the program, one that ended. */
static tl_graph* no_graph(int i)
{
	static tl_graph* ended;
	if (ended == NULL) {
		CHECK_OK(tl_graph_create("ended", &ended));
		CHECK_OK(tl_graph_destroy(ended));
	}
	tl_graph* const all[] = {NULL, (tl_graph*)(uintptr_t)1, (tl_graph*)(void*)long_text, ended};
	return all[i];
}

static void check_says(const char* words)
{
	if (check_failed(strstr(tl_last_error(), words) != NULL))
		fprintf(stderr, "the message lacks %s: %s\n", words, tl_last_error());
}

TEST(handles_have_to_be_live)
{
	const char* names[] = {"x"};
	tl_execution* execution = NULL;
	for (int i = 0; i < 4; i++) {
		tl_graph* bad = no_graph(i);
		if (bad != NULL) CHECK_FAILS(tl_graph_destroy(bad), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_add_input(bad, "x", TL_DTYPE_F32, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_add_constant(bad, "x", TL_DTYPE_F32, 2, shape, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_freeze(bad, "x", TL_DTYPE_F32, 2, shape, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_add_node(bad, "Relu", NULL, names, 1, names, 1, NULL), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_add_output(bad, "x"), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_bind(bad, "n", 1), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_save(bad, "/tmp/x.json"), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_graph_plan(bad, NULL, &execution), TL_E_INVALID_ARGUMENT);
		check_says(bad == NULL ? "make one with tl_graph_create" : "is no graph, or one that was destroyed");
	}
}

TEST(making_needs_sense)
{
	tl_graph* graph = NULL;
	const char valid[] = "{\"tl_graph\": 1, \"outputs\": []}";
	CHECK_FAILS(tl_graph_create(NULL, &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_create(long_text, &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_create("x", NULL), TL_E_INVALID_ARGUMENT);
	check_says("tl_graph_create: ");
	CHECK_FAILS(tl_graph_load(NULL, &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_load("/nowhere/model.onnx", &graph), TL_E_INVALID_ARGUMENT);
	check_says("/nowhere/model.onnx");
	CHECK_FAILS(tl_graph_load("/nowhere/model.json", &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_load("/etc/passwd", &graph), TL_E_INVALID_ARGUMENT);
	check_says("ends in .onnx or .json");
	CHECK_FAILS(tl_graph_load("x.json", NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(valid, sizeof valid - 1, NULL, &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(valid, sizeof valid - 1, "yaml", &graph), TL_E_INVALID_ARGUMENT);
	check_says("onnx and json");
	CHECK_FAILS(tl_graph_parse(valid, sizeof valid - 1, "json", NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(NULL, 10, "json", &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(NULL, 0, "json", &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(valid, 12, "json", &graph), TL_E_INVALID_ARGUMENT);
	check_says("line 1");
	CHECK_FAILS(tl_graph_parse(valid, sizeof valid - 1, "onnx", &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(valid, SIZE_MAX, "json", &graph), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_parse(valid, (size_t)1 << 46, "json", &graph), TL_E_OUT_OF_MEMORY);
	CHECK_PTR(graph, NULL);
}

/* covers: tl_graph_add_constant TL_E_OVERFLOW */
/* covers: tl_graph_freeze TL_E_OVERFLOW, TL_E_OUT_OF_MEMORY */
TEST(tensors_have_to_be_described)
{
	const int64_t negative[] = {2, -1}, huge[] = {INT64_MAX, INT64_MAX}, large[] = {(int64_t)1 << 50};
	const char *no_name[] = {"", NULL}, *no_text[] = {(const char*)(uintptr_t)8, NULL};
	tl_graph* graph = new_line();
	CHECK_FAILS(tl_graph_add_input(graph, NULL, TL_DTYPE_F32, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", 99, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", 256, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_C64, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", -1, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, -1, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 65, shape, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 2, NULL, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 2, negative, NULL), TL_E_INVALID_ARGUMENT);
	check_says("an unknown one is a symbol");
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 2, shape, no_name), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 2, shape, no_text), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_input(graph, "a", TL_DTYPE_F32, 2, shape, (const char* const*)8), TL_E_INVALID_ARGUMENT);
	tl_status (*const add[])(tl_graph*, const char*, int32_t, int64_t, const int64_t*,
	                         const void*) = {tl_graph_add_constant, tl_graph_freeze};
	for (int i = 0; i < 2; i++) {
		CHECK_FAILS(add[i](graph, NULL, TL_DTYPE_F32, 2, shape, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(add[i](graph, "a", 99, 2, shape, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(add[i](graph, "a", TL_DTYPE_F32, 2, NULL, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(add[i](graph, "a", TL_DTYPE_F32, 2, shape, NULL), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(add[i](graph, "a", TL_DTYPE_F32, 2, negative, content), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(add[i](graph, "a", TL_DTYPE_F32, 2, huge, content), TL_E_OVERFLOW);
		CHECK_FAILS(add[i](graph, "a", TL_DTYPE_F32, 1, large, content), TL_E_OUT_OF_MEMORY);
	}
	/* Nothing has changed. */
	tl_execution* execution = planned(graph, NULL);
	CHECK_INT(info_of(execution).num_inputs, 1);
	CHECK_INT(info_of(execution).num_constants, 1);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(nodes_have_to_be_described)
{
	const char *in[] = {"x"}, *out[] = {"v"}, *no_text[] = {(const char*)(uintptr_t)8}, *too_long[] = {long_text};
	static const char* const attributes[] = {
		"", "[]", "{", "{\"a\": }", "{\"a\": true}", "{} x", "{\"a\": {\"b\": 1}}", "{\"a\": \"\\ud800\\", "nonsense"};
	tl_graph* graph = new_line();
	CHECK_FAILS(tl_graph_add_node(graph, NULL, NULL, in, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, long_text, NULL, in, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", long_text, in, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, NULL, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, in, SIZE_MAX, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, no_text, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, too_long, 1, out, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, in, 1, NULL, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, in, 1, NULL, 1, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, in, 1, out, 1, (const char*)(uintptr_t)8),
	            TL_E_INVALID_ARGUMENT);
	for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
		CHECK_FAILS(tl_graph_add_node(graph, "Relu", NULL, in, 1, out, 1, attributes[i]), TL_E_INVALID_ARGUMENT);
		check_says("attributes: line 1");
	}
	CHECK_FAILS(tl_graph_add_output(graph, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_output(graph, long_text), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_bind(graph, NULL, 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_bind(graph, "n", 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_save(graph, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_save(graph, "/tmp/graph.txt"), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_save(graph, "/nowhere/graph.json"), TL_E_INVALID_ARGUMENT);
	tl_execution* execution = planned(graph, NULL);
	CHECK_INT(info_of(execution).num_instructions, 3);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(planning_needs_a_whole_graph)
{
	const char *in[] = {"nobody"}, *out[] = {"v"}, *x[] = {"x"}, *w[] = {"w"};
	tl_execution* execution = NULL;
	tl_graph *empty = NULL, *graph = new_line();
	CHECK_OK(tl_graph_create("empty", &empty));
	CHECK_FAILS(tl_graph_plan(empty, NULL, &execution), TL_E_INVALID_ARGUMENT);
	check_says("tl_graph_plan: TL_E_INVALID_ARGUMENT");
	CHECK_OK(tl_graph_destroy(empty));

	CHECK_FAILS(tl_graph_plan(graph, NULL, NULL), TL_E_INVALID_ARGUMENT);
	const tl_graph_options wrong[] = {
		{.struct_size = 8},
		{.struct_size = sizeof *wrong, .max_steps = -1},
		{.struct_size = sizeof *wrong, .budget_ms = -1},
		{.struct_size = sizeof *wrong, .alignment = 48},
		{.struct_size = sizeof *wrong, .alignment = (size_t)1 << 40},
		{.struct_size = sizeof *wrong, .flags = 1 << 20},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK_FAILS(tl_graph_plan(graph, &wrong[i], &execution), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_plan(graph, (const tl_graph_options*)(uintptr_t)8, &execution), TL_E_INVALID_ARGUMENT);

	CHECK_OK(tl_graph_add_node(graph, "Relu", "lonely", in, 1, out, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "v"));
	CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_INVALID_ARGUMENT);
	check_says("nobody");
	CHECK_OK(tl_graph_destroy(graph));

	graph = new_line(); /* a name that two nodes make */
	CHECK_OK(tl_graph_add_node(graph, "Relu", NULL, x, 1, w, 1, NULL));
	CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_graph_destroy(graph));
	CHECK_PTR(execution, NULL);
}

TEST(numbers_have_limits)
{
	enum { GRAPHS = 1 << 16, EXECUTIONS = 1 << 12 };
	static tl_graph* graphs[GRAPHS];
	static tl_execution* executions[EXECUTIONS];
	const char valid[] = "{\"tl_graph\": 1, \"outputs\": []}";
	char path[] = "/tmp/tl-limit-XXXXXX.json";
	tl_graph *graph = new_line(), *more = NULL;
	tl_execution* execution = NULL;
	int file = mkstemps(path, 5);
	CHECK(file >= 0 && write(file, valid, sizeof valid - 1) == (ssize_t)sizeof valid - 1);
	close(file);
	for (int i = 1; i < GRAPHS; i++) CHECK_OK(tl_graph_create("many", &graphs[i]));
	CHECK_FAILS(tl_graph_create("one more", &more), TL_E_LIMIT);
	CHECK_FAILS(tl_graph_load(path, &more), TL_E_LIMIT);
	CHECK_FAILS(tl_graph_parse(valid, sizeof valid - 1, "json", &more), TL_E_LIMIT);
	for (int i = 1; i < GRAPHS; i++) CHECK_OK(tl_graph_destroy(graphs[i]));
	for (int i = 0; i < EXECUTIONS; i++) executions[i] = planned(graph, NULL);
	CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_LIMIT);
	check_says("4096 executions");
	for (int i = 0; i < EXECUTIONS; i++) CHECK_OK(tl_execution_destroy(executions[i]));
	CHECK_OK(tl_graph_destroy(graph));
	remove(path);
}

/* A file that finds no room is refused without SIGXFSZ, and the older one of that name stays. */
TEST(a_file_that_finds_no_room)
{
	char path[] = "/tmp/tl-old-XXXXXX.json", content[8] = {0};
	struct rlimit all;
	tl_graph* graph = new_line();
	int file = mkstemps(path, 5);
	CHECK(file >= 0);
	CHECK_INT(write(file, "old", 3), 3);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &all), 0);
	struct rlimit few = (struct rlimit){16, all.rlim_max};
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &few), 0);
	CHECK_FAILS(tl_graph_save(graph, path), TL_E_INVALID_ARGUMENT);
	check_says("file too large");
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &all), 0);
	CHECK_INT(pread(file, content, sizeof content, 0), 3);
	CHECK_INT(strcmp(content, "old"), 0);
	close(file);
	CHECK_OK(tl_graph_save(graph, path));
	file = open(path, O_RDONLY);
	CHECK(file >= 0 && read(file, content, 1) == 1 && content[0] == '{');
	close(file);
	CHECK_OK(tl_graph_destroy(graph));
	remove(path);
}

/* Files that were cut or changed are refused or read; nothing else happens. */
TEST(damaged_files_are_refused)
{
	char path[] = "/tmp/tl-damaged-XXXXXX.onnx", *bytes = NULL;
	uint64_t random = 20;
	tl_graph *graph = new_line(), *read = NULL;
	struct stat about;
	close(mkstemps(path, 5));
	CHECK_OK(tl_graph_save(graph, path));
	CHECK_OK(tl_graph_destroy(graph));
	FILE* f = fopen(path, "rb");
	CHECK(f != NULL && stat(path, &about) == 0);
	size_t size = (size_t)about.st_size, refused = 0;
	bytes = malloc(size);
	CHECK_INT(fread(bytes, 1, size, f), size);
	fclose(f);
	for (int i = 0; i < 2000; i++) {
		char* damaged = malloc(size);
		size_t length = i % 2 == 0 ? size : check_random(&random) % size;
		memcpy(damaged, bytes, size);
		for (int n = 0; i % 2 == 0 && n < 3; n++) damaged[check_random(&random) % size] = (char)check_random(&random);
		tl_execution* execution = NULL;
		if (tl_graph_parse(damaged, length, "onnx", &read) != TL_OK) refused++;
		else {
			if (tl_graph_plan(read, NULL, &execution) == TL_OK) CHECK_OK(tl_execution_destroy(execution));
			else CHECK(tl_last_status() == TL_E_INVALID_ARGUMENT || tl_last_status() == TL_E_LIMIT);
			CHECK_OK(tl_graph_destroy(read));
		}
		free(damaged);
	}
	CHECK(refused > 100);
	free(bytes);
	remove(path);
}

int main(void)
{
	memset(long_text, 'a', sizeof long_text - 1);
	return check_tests();
}
