/* Graphs in a process whose address space is limited: what is too large is refused, or left to the compiled program. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "graphs.h"

enum { MIB = 1 << 20, LEFT = 256 * MIB };

static void limit_addresses(void)
{
	unsigned long pages = 0;
	FILE* f = fopen("/proc/self/statm", "r");
	CHECK(f != NULL && fscanf(f, "%lu", &pages) == 1);
	if (f != NULL) fclose(f);
	struct rlimit limit;
	CHECK_INT(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + LEFT;
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
}

TEST(files_have_to_fit)
{
	static const char* const endings[] = {"onnx", "json"};
	char path[64];
	for (int i = 0; i < 2; i++) {
		tl_graph* graph = NULL;
		snprintf(path, sizeof path, "/tmp/tl-large-%d.%s", (int)getpid(), endings[i]);
		int file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
		CHECK(file >= 0 && ftruncate(file, 512 * MIB) == 0);
		close(file);
		CHECK_FAILS(tl_graph_load(path, &graph), TL_E_OUT_OF_MEMORY);
		CHECK(strstr(tl_last_error(), "536870912 bytes") != NULL);
		CHECK_PTR(graph, NULL);
		remove(path);
	}
}

/* A model of 100 bytes may name a part of another file that no memory holds. */
TEST(tensors_beside_a_model_have_to_fit)
{
	/* The initializer "c", 512 Mi elements of u8 from the start of the file "tl-beside", is the output. */
	static const char model[] = "\x08\x09\x3a\x2e\x12\x01n*$\x08\x80\x80\x80\x80\x02\x10\x02"
								"B\x01"
								"cj\x15\x0a\x08location\x12\x09tl-beside"
								"p\x01"
								"b\x03\x0a\x01"
								"cB\x02\x10\x13";
	tl_graph* graph = NULL;
	char folder[] = "/tmp/tl-graph-XXXXXX", path[64], beside[64];
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/model.onnx", folder);
	snprintf(beside, sizeof beside, "%s/tl-beside", folder);
	FILE* file = fopen(path, "w");
	CHECK(file != NULL && fwrite(model, sizeof model - 1, 1, file) == 1);
	if (file != NULL) fclose(file);
	int tensor = open(beside, O_CREAT | O_RDWR | O_TRUNC, 0600);
	CHECK(tensor >= 0 && ftruncate(tensor, 512 * MIB) == 0);
	close(tensor);
	CHECK_FAILS(tl_graph_load(path, &graph), TL_E_OUT_OF_MEMORY);
	CHECK(strstr(tl_last_error(), "a tensor of 536870912 bytes") != NULL);
	CHECK_PTR(graph, NULL);
	remove(path);
	remove(beside);
	CHECK_INT(mkfifo(beside, 0600), 0);
	file = fopen(path, "w");
	CHECK(file != NULL && fwrite(model, sizeof model - 1, 1, file) == 1);
	if (file != NULL) fclose(file);
	CHECK_FAILS(tl_graph_load(path, &graph), TL_E_INVALID_ARGUMENT); /* and does not wait for a writer */
	CHECK(strstr(tl_last_error(), "no file with content") != NULL);
	remove(path);
	remove(beside);
	remove(folder);
}

TEST(values_of_json_have_to_fit)
{
	enum { VALUES = 4 << 20 };
	char* text = malloc(2 * VALUES + 16);
	tl_graph* graph = NULL;
	CHECK(text != NULL);
	strcpy(text, "{\"outputs\": [");
	size_t n = strlen(text);
	for (int i = 0; i < VALUES; i++, n += 2) memcpy(text + n, "1,", 2);
	CHECK_FAILS(tl_graph_parse(text, n, "json", &graph), TL_E_OUT_OF_MEMORY);
	CHECK_PTR(graph, NULL);
	free(text);
}

TEST(constants_have_to_fit)
{
	const int64_t shape[] = {512 * MIB};
	tl_graph* graph = new_line();
	CHECK_FAILS(tl_graph_add_constant(graph, "large", TL_DTYPE_U8, 1, shape, shape), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_execution_destroy(planned(graph, NULL)));
	CHECK_OK(tl_graph_destroy(graph));
}

/* Plans have the constants of their graph, not copies of them, which would end the process. */
TEST(plans_of_large_constants_fit)
{
	enum { PLANS = 8 };
	const int64_t shape[] = {64 * MIB}, one[] = {1};
	const char *added[] = {"x", "c"}, *y[] = {"y"};
	char* content = calloc(1, 64 * MIB);
	tl_graph* graph = NULL;
	tl_execution* executions[PLANS];
	CHECK(content != NULL);
	CHECK_OK(tl_graph_create("large", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_U8, 1, one, NULL));
	CHECK_OK(tl_graph_add_constant(graph, "c", TL_DTYPE_U8, 1, shape, content));
	CHECK_OK(tl_graph_add_node(graph, "Add", NULL, added, 2, y, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	for (int i = 0; i < PLANS; i++) CHECK_OK(tl_graph_plan(graph, NULL, &executions[i]));
	CHECK_OK(tl_graph_destroy(graph));
	CHECK_PTR(tl_execution_constants(executions[0])[0], tl_execution_constants(executions[PLANS - 1])[0]);
	for (int i = 0; i < PLANS; i++) CHECK_OK(tl_execution_destroy(executions[i]));
	free(content);
}

TEST(a_check_has_to_fit)
{
	const int64_t extents[] = {64 * MIB, 1 * MIB};
	for (int i = 0; i < 2; i++) {
		const char *x[] = {"x", "x"}, *y[] = {"y"};
		tl_graph* graph = NULL;
		CHECK_OK(tl_graph_create("checked", &graph));
		CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_U8, 1, extents + i, NULL));
		CHECK_OK(tl_graph_add_node(graph, "Add", NULL, x, 2, y, 1, NULL));
		CHECK_OK(tl_graph_add_output(graph, "y"));
		tl_execution* execution = planned(graph, NULL);
		if (i == 0) CHECK_FAILS(tl_execution_validate(execution), TL_E_OUT_OF_MEMORY);
		else CHECK_OK(tl_execution_validate(execution));
		CHECK_OK(tl_execution_destroy(execution));
		tl_graph_arena* arena = NULL;
		CHECK_OK(tl_graph_plan_together(&graph, NULL, 1, NULL, &arena));
		if (i == 0) CHECK_FAILS(tl_graph_arena_validate(arena), TL_E_OUT_OF_MEMORY);
		else CHECK_OK(tl_graph_arena_validate(arena));
		CHECK_OK(tl_graph_arena_destroy(arena));
		CHECK_OK(tl_graph_destroy(graph));
	}
}

/* What nodes would compute while they are planned has to fit: an Expand is left to the program, a ConstantOfShape, which
 * cannot be, is refused. */
TEST(computed_constants_have_to_fit)
{
	const int64_t one[] = {1}, extent[] = {128 * MIB};
	const float zero[] = {0};
	const char *made[] = {"shape"}, *grown[] = {"zero", "shape"}, *large[] = {"large"};
	const char *added[] = {"x", "large"}, *y[] = {"y"};
	for (int expand = 0; expand < 2; expand++) {
		tl_graph* graph = NULL;
		tl_execution* execution = NULL;
		CHECK_OK(tl_graph_create("later", &graph));
		CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, one, NULL));
		CHECK_OK(tl_graph_add_constant(graph, "zero", TL_DTYPE_F32, 1, one, zero));
		CHECK_OK(tl_graph_add_constant(graph, "shape", TL_DTYPE_I64, 1, one, extent));
		CHECK_OK(tl_graph_add_node(graph, expand ? "Expand" : "ConstantOfShape", NULL, expand ? grown : made,
		                           expand ? 2 : 1, large, 1, NULL));
		CHECK_OK(tl_graph_add_node(graph, "Add", NULL, added, 2, y, 1, NULL));
		CHECK_OK(tl_graph_add_output(graph, "y"));
		if (expand) {
			execution = planned(graph, NULL);
			CHECK(info_of(execution).num_instructions >= 1);
			CHECK_OK(tl_execution_destroy(execution));
		} else {
			CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_INVALID_ARGUMENT);
			CHECK(strstr(tl_last_error(), "its result takes 536870912 bytes") != NULL);
		}
		CHECK_OK(tl_graph_destroy(graph));
	}
}

int main(void)
{
	tl_graph* graph = new_line(); /* the library has started */
	CHECK_OK(tl_graph_destroy(graph));
	limit_addresses();
	return check_tests();
}
