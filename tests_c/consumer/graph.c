/* Somebody else's program that plans a graph with the full library. */
#include <stdio.h>
#include <tl_graph.h>

int main(void)
{
	const int64_t shape[] = {64};
	const char *x[] = {"x"}, *h[] = {"h"}, *y[] = {"y"};
	tl_graph* graph = NULL;
	tl_execution* execution = NULL;
	tl_execution_info info = {.struct_size = sizeof info};
	tl_graph_create("line", &graph);
	tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, NULL);
	tl_graph_add_node(graph, "Exp", NULL, x, 1, h, 1, NULL);
	tl_graph_add_node(graph, "Tanh", NULL, h, 1, y, 1, NULL);
	tl_graph_add_output(graph, "y");
	if (tl_graph_plan(graph, NULL, &execution) != TL_OK || tl_execution_get_info(execution, &info) != TL_OK) {
		fprintf(stderr, "consumer: %s\n", tl_last_error());
		return 1;
	}
	printf("consumer: %d instructions by TL Runtime %s\n", (int)info.num_instructions, tl_version());
	tl_execution_destroy(execution);
	tl_graph_destroy(graph);
	return info.num_instructions == 2 ? 0 : 1;
}
