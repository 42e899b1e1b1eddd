/* Graphs in a process whose address space is limited: what is too large is refused, or left to the compiled program. */
#include <fcntl.h>
#include <sys/resource.h>

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

/* covers: tl_graph_load TL_E_OUT_OF_MEMORY */
static void files_have_to_fit(void)
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

/* covers: tl_graph_add_constant TL_E_OUT_OF_MEMORY */
static void constants_have_to_fit(void)
{
	const int64_t shape[] = {512 * MIB};
	tl_graph* graph = new_line();
	CHECK_FAILS(tl_graph_add_constant(graph, "large", TL_DTYPE_U8, 1, shape, shape), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_execution_destroy(planned(graph, NULL)));
	CHECK_OK(tl_graph_destroy(graph));
}

/* covers: tl_graph_plan TL_E_INVALID_ARGUMENT */
/* What nodes would compute while they are planned has to fit: an Expand is left to the program, a ConstantOfShape, which
 * cannot be, is refused. */
static void computed_constants_have_to_fit(void)
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
	RUN(files_have_to_fit);
	RUN(constants_have_to_fit);
	RUN(computed_constants_have_to_fit);
	return check_finish();
}
