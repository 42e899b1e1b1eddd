/* Nodes that run graphs: If, Loop and Scan, built call by call. */
#include "graphs.h"

static const int64_t four[] = {4};

/* A graph that uses x and w of the graph around it. */
static tl_graph* new_branch(const char* op, const char* result)
{
	const char *arguments[] = {"x", "w"}, *results[] = {result};
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_create(result, &graph));
	CHECK_OK(tl_graph_add_node(graph, op, NULL, arguments, 2, results, 1, NULL));
	CHECK_OK(tl_graph_add_output(graph, result));
	return graph;
}

/* x and a condition as inputs, a constant w, and nothing else yet. */
static tl_graph* new_around(void)
{
	const float weights[] = {1, 2, 3, 4};
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_create("around", &graph));
	CHECK_OK(tl_graph_add_input(graph, "x", TL_DTYPE_F32, 1, four, NULL));
	CHECK_OK(tl_graph_add_input(graph, "c", TL_DTYPE_BOOL, 0, NULL, NULL));
	CHECK_OK(tl_graph_add_constant(graph, "w", TL_DTYPE_F32, 1, four, weights));
	return graph;
}

static const char *condition[] = {"c"}, *y[] = {"y"}, *branches[] = {"then_branch", "else_branch"};

static tl_status add_if(tl_graph* graph, const char* const* names, tl_graph* const* bodies, size_t n)
{
	return tl_graph_add_node_with_bodies(graph, "If", "choice", condition, 1, y, 1, NULL, names, bodies, n);
}

/* A port of the first body of an instruction. */
static tl_execution_port port_of(const tl_execution* execution, int64_t instruction, int32_t role, int64_t index)
{
	tl_execution_port port = {.struct_size = sizeof port};
	CHECK_OK(tl_execution_get_port(execution, instruction, 0, role, index, &port));
	return port;
}

TEST(branches_have_plans)
{
	tl_graph *graph = new_around(), *bodies[] = {new_branch("Add", "sum"), new_branch("Mul", "product")};
	CHECK_OK(add_if(graph, branches, bodies, 2));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	/* They were copied: what happens to them is nothing to the graph. */
	CHECK_OK(tl_graph_add_output(bodies[0], "lost"));
	for (int i = 0; i < 2; i++) CHECK_OK(tl_graph_destroy(bodies[i]));
	tl_execution* execution = planned(graph, NULL);
	CHECK_OK(tl_execution_validate(execution));
	CHECK_INT(info_of(execution).num_instructions, 1);
	tl_execution_instruction choice = {.struct_size = sizeof choice};
	CHECK_OK(tl_execution_get_instruction(execution, 0, &choice));
	CHECK(strcmp(choice.op, "If") == 0 && strcmp(choice.node, "choice") == 0);
	CHECK_INT(choice.num_bodies, 2);
	for (int64_t i = 0; i < 2; i++) {
		tl_execution_body body = {.struct_size = sizeof body}, again = {.struct_size = sizeof again};
		tl_execution* own = NULL;
		CHECK_OK(tl_execution_get_body(execution, 0, i, &body, &own));
		CHECK(strcmp(body.name, branches[i]) == 0);
		CHECK_INT(body.num_outputs, 1);
		CHECK_INT(body.outputs[0], -1);
		CHECK_INT(body.num_inputs, body.num_captures);
		CHECK(body.num_captures >= 1);
		for (int64_t k = 0; k < body.num_captures; k++) {
			tl_execution_operand outer = {.struct_size = sizeof outer}, inner = {.struct_size = sizeof inner};
			CHECK_OK(tl_execution_get_operand(execution, 0, TL_OPERAND_ROLE_INPUT, body.captures[k], &outer));
			CHECK_OK(tl_execution_get_operand(own, -1, TL_OPERAND_ROLE_INPUT, k, &inner));
			CHECK(strcmp(outer.name, inner.name) == 0);
		}
		tl_execution_instruction inner = {.struct_size = sizeof inner};
		CHECK_OK(tl_execution_get_instruction(own, 0, &inner));
		CHECK(strcmp(inner.op, i == 0 ? "Add" : "Mul") == 0);
		CHECK_INT(inner.num_bodies, 0);
		tl_execution_port port = port_of(execution, 0, TL_OPERAND_ROLE_OUTPUT, 0);
		CHECK(port.role == TL_PORT_ROLE_RESULT && port.result == 0 && port.argument == -1);
		port = port_of(execution, 0, TL_OPERAND_ROLE_INPUT, body.num_captures - 1);
		CHECK(port.role == TL_PORT_ROLE_CAPTURE && port.argument == body.captures[body.num_captures - 1]);
		CHECK_OK(tl_execution_get_body(execution, 0, i, &again, NULL));
		CHECK_PTR(again.captures, body.captures);
		CHECK_OK(tl_execution_get_body(execution, 0, i, NULL, NULL));
		CHECK_OK(tl_execution_validate(own));
		CHECK_OK(tl_execution_destroy(own));
	}
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

/* What the ports of a body are, as text: role, argument and result of each. */
static void ports_are(const tl_execution* execution, const char* op, const char* inputs, const char* outputs)
{
	tl_execution_instruction found = {.struct_size = sizeof found};
	int64_t at = 0;
	do CHECK_OK(tl_execution_get_instruction(execution, at, &found));
	while (strcmp(found.op, op) != 0 && at++ < info_of(execution).num_instructions);
	tl_execution_body body = {.struct_size = sizeof body};
	CHECK_OK(tl_execution_get_body(execution, at, 0, &body, NULL));
	for (int32_t role = TL_OPERAND_ROLE_INPUT; role <= TL_OPERAND_ROLE_OUTPUT; role++) {
		char seen[200] = "";
		const int64_t n = role == TL_OPERAND_ROLE_INPUT ? body.num_inputs : body.num_outputs;
		for (int64_t i = 0; i < n; i++) {
			const tl_execution_port p = port_of(execution, at, role, i);
			const size_t length = strlen(seen);
			snprintf(seen + length, sizeof seen - length, "%d:%d:%d:%d:%d ", (int)p.role, (int)p.argument,
			         (int)p.result, (int)p.axis, (int)p.is_back);
		}
		CHECK(strcmp(seen, role == TL_OPERAND_ROLE_INPUT ? inputs : outputs) == 0);
	}
}

/* A Loop multiplies by w, and gives out every state; a Scan adds up rows. */
TEST(loops_repeat_a_body)
{
	const int64_t turns = 3, rows[] = {5, 4};
	const char *go[] = {"go"}, *still[] = {"still"}, *by[] = {"state", "w"}, *next[] = {"next"},
			   *body_name[] = {"body"};
	const char *given[] = {"turns", "", "x"}, *results[] = {"last", "all"}, *seen[] = {"seen"};
	tl_graph *graph = new_around(), *turn = NULL, *row = NULL;
	CHECK_OK(tl_graph_create("turn", &turn));
	CHECK_OK(tl_graph_add_input(turn, "i", TL_DTYPE_I64, 0, NULL, NULL));
	CHECK_OK(tl_graph_add_input(turn, "go", TL_DTYPE_BOOL, 0, NULL, NULL));
	CHECK_OK(tl_graph_add_input(turn, "state", TL_DTYPE_F32, 1, four, NULL));
	CHECK_OK(tl_graph_add_node(turn, "Identity", NULL, go, 1, still, 1, NULL));
	CHECK_OK(tl_graph_add_node(turn, "Mul", NULL, by, 2, next, 1, NULL));
	CHECK_OK(tl_graph_add_node(turn, "Identity", NULL, next, 1, seen, 1, NULL));
	CHECK_OK(tl_graph_add_output(turn, "still"));
	CHECK_OK(tl_graph_add_output(turn, "next"));
	CHECK_OK(tl_graph_add_output(turn, "seen"));
	CHECK_OK(tl_graph_add_constant(graph, "turns", TL_DTYPE_I64, 0, NULL, &turns));
	CHECK_OK(tl_graph_add_node_with_bodies(graph, "Loop", NULL, given, 3, results, 2, NULL, body_name, &turn, 1));

	const char *start[] = {"last", "rows"}, *sums[] = {"total", "sums"}, *added[] = {"s", "r"}, *t[] = {"t"},
			   *u[] = {"u"};
	CHECK_OK(tl_graph_create("row", &row));
	CHECK_OK(tl_graph_add_input(row, "s", TL_DTYPE_F32, 1, four, NULL));
	CHECK_OK(tl_graph_add_input(row, "r", TL_DTYPE_F32, 1, four, NULL));
	CHECK_OK(tl_graph_add_node(row, "Add", NULL, added, 2, t, 1, NULL));
	CHECK_OK(tl_graph_add_node(row, "Identity", NULL, t, 1, u, 1, NULL));
	CHECK_OK(tl_graph_add_output(row, "t"));
	CHECK_OK(tl_graph_add_output(row, "u"));
	CHECK_OK(tl_graph_add_input(graph, "rows", TL_DTYPE_F32, 2, rows, NULL));
	CHECK_OK(tl_graph_add_node_with_bodies(graph, "Scan", NULL, start, 2, sums, 2,
	                                       "{\"num_scan_inputs\": 1, \"scan_input_directions\": [1]}", body_name, &row,
	                                       1));
	const char* const outputs[] = {"last", "all", "total", "sums"};
	for (int i = 0; i < 4; i++) CHECK_OK(tl_graph_add_output(graph, outputs[i]));
	tl_execution* execution = planned(graph, NULL);
	CHECK_OK(tl_execution_validate(execution));
	const int64_t leading[] = {4, turns, 4, 5};
	for (int64_t i = 0; i < 4; i++) {
		tl_execution_operand out = {.struct_size = sizeof out};
		CHECK_OK(tl_execution_get_operand(execution, -1, TL_OPERAND_ROLE_OUTPUT, i, &out));
		CHECK_INT(out.shape[0], leading[i]);
	}
	CHECK(strstr(tl_execution_text(execution, "json", NULL, 0), "\"bodies\"") != NULL);
	/* counter, condition, what is carried (the third argument, the first result), w: the fourth argument */
	ports_are(execution, "Loop", "2:-1:-1:0:0 3:-1:-1:0:0 4:2:0:0:0 1:3:-1:0:0 ", "3:-1:-1:0:0 4:-1:0:0:0 7:-1:1:0:0 ");
	/* a sum and a row, the last one first; a sum and a part of the result */
	ports_are(execution, "Scan", "4:0:0:0:0 5:1:-1:0:1 ", "4:-1:0:0:0 7:-1:1:0:0 ");
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(turn));
	CHECK_OK(tl_graph_destroy(row));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(bodies_have_to_be_graphs)
{
	tl_graph *graph = new_around(), *one = new_branch("Add", "sum"), *ended = new_branch("Mul", "p");
	CHECK_OK(tl_graph_destroy(ended));
	tl_graph* const good[] = {one, one};
	tl_graph* const bad[][2] = {{one, NULL}, {one, ended}, {(tl_graph*)(uintptr_t)1, one}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK_FAILS(add_if(graph, branches, bad[i], 2), TL_E_INVALID_ARGUMENT);
	const char *twice[] = {"body", "body"}, *unnamed[] = {"then_branch", NULL};
	CHECK_FAILS(add_if(graph, twice, good, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "two bodies are called \"body\"") != NULL);
	CHECK_FAILS(add_if(graph, unnamed, good, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "body 1 has no name") != NULL);
	CHECK_FAILS(add_if(graph, NULL, good, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(add_if(graph, branches, NULL, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(add_if(graph, branches, good, (1 << 16) + 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(add_if(NULL, branches, good, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node_with_bodies(graph, NULL, NULL, condition, 1, y, 1, NULL, branches, good, 2),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node_with_bodies(graph, "If", NULL, condition, 1, y, 0, NULL, branches, good, 2),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_graph_add_node_with_bodies(graph, "If", NULL, condition, 1, y, 1, "[]", branches, good, 2),
	            TL_E_INVALID_ARGUMENT);
	/* None of these is in the graph, which may be a body of itself: it is copied. */
	CHECK_OK(tl_graph_add_output(graph, "x"));
	CHECK_OK(tl_execution_destroy(planned(graph, NULL)));
	tl_graph* const itself[] = {one, graph};
	CHECK_OK(add_if(graph, branches, itself, 2));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	tl_execution* execution = NULL;
	CHECK_FAILS(tl_graph_plan(graph, NULL, &execution), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "else_branch") != NULL);
	CHECK_OK(tl_graph_destroy(one));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(ports_have_to_be_there)
{
	tl_graph *graph = new_around(), *bodies[] = {new_branch("Add", "sum"), new_branch("Mul", "product")};
	CHECK_OK(add_if(graph, branches, bodies, 2));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	tl_execution* execution = planned(graph, NULL);
	tl_execution_port port = {.struct_size = sizeof port};
	const struct {
		int64_t instruction, body;
		int32_t role;
		int64_t index;
		const char* says;
	} wrong[] = {{1, 0, 0, 0, "there is no instruction 1"}, {-1, 0, 0, 0, "there is no instruction -1"},
	             {0, 2, 0, 0, "there is no body 2"},        {0, 0, 2, 0, "there is no role 2 of a port"},
	             {0, 0, -1, 0, "there is no role -1"},      {0, 0, 1, 1, "there is no output 1; there are 1"},
	             {0, 0, 0, 9, "there is no input 9"},       {0, 0, 0, -1, "there is no input -1"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		CHECK_FAILS(
			tl_execution_get_port(execution, wrong[i].instruction, wrong[i].body, wrong[i].role, wrong[i].index, &port),
			TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), wrong[i].says) != NULL);
	}
	CHECK_FAILS(tl_execution_get_port(NULL, 0, 0, 0, 0, &port), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_port(execution, 0, 0, 0, 0, NULL), TL_E_INVALID_ARGUMENT);
	port.struct_size = 4;
	CHECK_FAILS(tl_execution_get_port(execution, 0, 0, 0, 0, &port), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_execution_destroy(execution));
	for (int i = 0; i < 2; i++) CHECK_OK(tl_graph_destroy(bodies[i]));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(questions_need_sense)
{
	enum { MOST = 1 << 12 };
	static tl_execution* many[MOST];
	tl_graph *graph = new_around(), *bodies[] = {new_branch("Add", "sum"), new_branch("Mul", "product")};
	CHECK_OK(add_if(graph, branches, bodies, 2));
	CHECK_OK(tl_graph_add_output(graph, "y"));
	tl_execution *execution = planned(graph, NULL), *own = NULL;
	tl_execution_body body = {.struct_size = sizeof body};
	CHECK_FAILS(tl_execution_get_body(NULL, 0, 0, &body, &own), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_body(execution, -1, 0, &body, &own), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_body(execution, 1, 0, &body, &own), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_body(execution, 0, -1, &body, &own), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_body(execution, 0, 2, &body, &own), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_body(execution, 0, 0, &body, (tl_execution**)(uintptr_t)8), TL_E_INVALID_ARGUMENT);
	body.struct_size = 8;
	CHECK_FAILS(tl_execution_get_body(execution, 0, 0, &body, &own), TL_E_INVALID_ARGUMENT);
	body.struct_size = sizeof body;
	many[0] = execution;
	for (int i = 1; i < MOST; i++) CHECK_OK(tl_execution_get_body(execution, 0, 0, NULL, &many[i]));
	CHECK_FAILS(tl_execution_get_body(execution, 0, 0, &body, &own), TL_E_LIMIT);
	CHECK_PTR(own, NULL);
	for (int i = 0; i < MOST; i++) CHECK_OK(tl_execution_destroy(many[i]));
	for (int i = 0; i < 2; i++) CHECK_OK(tl_graph_destroy(bodies[i]));
	CHECK_OK(tl_graph_destroy(graph));
}

int main(void) { return check_tests(); }
