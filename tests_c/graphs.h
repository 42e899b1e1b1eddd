/* A graph that the tests of graphs share: y = Relu(x * w), z = x + y. */
#ifndef TL_TESTS_GRAPHS_H
#define TL_TESTS_GRAPHS_H

#include "check.h"
#include "tl_graph.h"

enum { LINE_ELEMENTS = 64 };

static inline tl_graph* new_line(void)
{
	const int64_t shape[] = {LINE_ELEMENTS};
	const char *multiplied[] = {"x", "w"}, *product[] = {"xw"}, *kept[] = {"y"}, *added[] = {"x", "y"}, *sum[] = {"z"};
	float weights[LINE_ELEMENTS];
	tl_graph* graph = NULL;
	for (int i = 0; i < LINE_ELEMENTS; i++) weights[i] = (float)(i % 2 == 0 ? 2 : -1);
	CHECK_OK(tl_graph_create("line", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, shape, NULL));
	CHECK_OK(tl_graph_add_constant(graph, "w", TL_DTYPE_F32, 1, shape, weights));
	CHECK_OK(tl_graph_add_node(graph, "Mul", "times", multiplied, 2, product, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Relu", NULL, product, 1, kept, 1, NULL));
	CHECK_OK(tl_graph_add_node(graph, "Add", NULL, added, 2, sum, 1, "{}"));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	CHECK_OK(tl_graph_add_output(graph, "z"));
	return graph;
}

static inline tl_execution* planned(tl_graph* graph, const tl_graph_options* options)
{
	tl_execution* execution = NULL;
	CHECK_OK(tl_graph_plan(graph, options, &execution));
	CHECK(execution != NULL);
	return execution;
}

static inline tl_execution_info info_of(const tl_execution* execution)
{
	tl_execution_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_execution_get_info(execution, &info));
	CHECK_INT(info.struct_size, sizeof info);
	return info;
}

#endif
