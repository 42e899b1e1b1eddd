/* cc graph.c -ltl_runtime_full */
#include <stdio.h>
#include <tl_graph.h>

static tl_graph* network(void)
{
	const int64_t input[] = {4, 8}, matrix[] = {8, 16};
	static const float weights[8 * 16] = {1};
	const char *product[] = {"x", "w"}, *h[] = {"h"}, *a[] = {"a"}, *y[] = {"y"};
	tl_graph* graph = NULL;
	tl_graph_create("network", &graph);
	tl_graph_add_input(graph, "x", TL_DTYPE_F32, 2, input, NULL);
	tl_graph_add_constant(graph, "w", TL_DTYPE_F32, 2, matrix, weights);
	tl_graph_add_node(graph, "MatMul", NULL, product, 2, h, 1, NULL);
	tl_graph_add_node(graph, "Tanh", NULL, h, 1, a, 1, NULL);
	tl_graph_add_node(graph, "ReduceMax", NULL, a, 1, y, 1, "{\"keepdims\": 0}");
	tl_graph_add_output(graph, "y");
	return graph;
}

static void print_place(const tl_execution* execution, int64_t instruction, int32_t role)
{
	tl_execution_operand operand = {.struct_size = sizeof operand};
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	tl_execution_get_operand(execution, instruction, role, 0, &operand);
	tl_execution_get_buffer(execution, operand.buffer, &buffer);
	printf(" %s of %zu bytes ", operand.name, buffer.bytes);
	if (buffer.offset >= 0) printf("at %lld in the frame", (long long)buffer.offset);
	else printf("in the caller's memory");
}

int main(void)
{
	tl_graph* graph = network();
	tl_execution* execution = NULL;
	if (tl_graph_plan(graph, NULL, &execution) != TL_OK) {
		puts(tl_last_error()); /* which node is wrong, and what to do */
		return 1;
	}
	tl_execution_info info = {.struct_size = sizeof info};
	tl_execution_get_info(execution, &info);
	printf("a frame of %zu bytes, %zu without a plan\n", info.frame_bytes, info.naive_bytes);
	for (int64_t i = 0; i < info.num_instructions; i++) {
		tl_execution_instruction instruction = {.struct_size = sizeof instruction};
		tl_execution_get_instruction(execution, i, &instruction);
		printf("%s:", instruction.op);
		print_place(execution, i, TL_OPERAND_ROLE_INPUT);
		printf(" ->");
		print_place(execution, i, TL_OPERAND_ROLE_OUTPUT);
		printf("\n");
	}
	FILE* module = fopen("network.ll", "w"); /* for clang, llc or a JIT compiler */
	if (module == NULL) return 1;
	fputs(tl_execution_text(execution, "llvm", "network", 0), module);
	fclose(module);
	remove("network.ll");
	tl_execution_destroy(execution);
	return tl_graph_destroy(graph);
}
