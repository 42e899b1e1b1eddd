/* Graphs that the tests of graphs share. */
#pragma once

#include "check.h"
#include "tl_graph.h"

enum { LINE_ELEMENTS = 64 };

/* y = Relu(x * w), z = x + y. */
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

/* A chain of vectors of 4 KiB whose first values are wanted again at the end. */
static inline tl_graph* new_chain(void)
{
	const int64_t shape[] = {1024};
	tl_graph* graph = NULL;
	char names[10][8];
	const char *from[2], *to[1];
	CHECK_OK(tl_graph_create("chain", &graph));
	CHECK_OK(tl_graph_add_input(graph, "v0", TL_DTYPE_F32, 1, shape, NULL));
	for (int i = 0; i < 10; i++) snprintf(names[i], sizeof names[i], "v%d", i);
	for (int i = 1; i < 10; i++) {
		from[0] = names[i - 1];
		from[1] = names[i > 5 ? 10 - i : 0];
		to[0] = names[i];
		CHECK_OK(tl_graph_add_node(graph, i > 5 ? "Mul" : "Sigmoid", NULL, from, i > 5 ? 2 : 1, to, 1, NULL));
	}
	CHECK_OK(tl_graph_add_output(graph, names[9]));
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
