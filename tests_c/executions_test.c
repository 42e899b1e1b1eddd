/* Executions: what a plan says of instructions, buffers and operands, its texts, and running it. */
#include "graphs.h"
#include "thread.h"

TEST(instructions_name_buffers)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	tl_execution_info info = info_of(execution);
	static const char* const operators[] = {"Mul", "Relu", "Add"};
	bool constant = false;
	for (int64_t i = 0; i < info.num_instructions; i++) {
		tl_execution_instruction in = {.struct_size = sizeof in};
		CHECK_OK(tl_execution_get_instruction(execution, i, &in));
		CHECK(strcmp(in.op, operators[i]) == 0);
		CHECK(i != 0 || strcmp(in.node, "times") == 0);
		CHECK(in.attributes[0] == '{');
		CHECK_INT(in.num_outputs, 1);
		CHECK_INT(in.num_scratch, 0);
		for (int64_t n = 0; n < in.num_inputs; n++) {
			tl_execution_operand o = {.struct_size = sizeof o};
			tl_execution_buffer b = {.struct_size = sizeof b};
			CHECK_OK(tl_execution_get_operand(execution, i, TL_OPERAND_ROLE_INPUT, n, &o));
			CHECK_INT(o.rank, 1);
			CHECK_INT(o.shape[0], LINE_ELEMENTS);
			CHECK_INT(o.strides[0], 1);
			CHECK_INT(o.offset, 0);
			CHECK_OK(tl_execution_get_buffer(execution, o.buffer, &b));
			CHECK_INT(b.bytes, LINE_ELEMENTS * sizeof(float));
			CHECK_INT(b.dtype, TL_DTYPE_F32);
			CHECK_INT(b.rank, 1);
			CHECK(b.first <= i && b.last >= i);
			if (b.kind != TL_BUFFER_KIND_CONSTANT) continue;
			constant = true;
			CHECK(strcmp(b.name, "w") == 0);
			CHECK(((const float*)b.data)[0] == 2 && ((const float*)b.data)[1] == -1);
			CHECK_PTR(tl_execution_constants(execution)[0], b.data);
			CHECK_INT(b.offset, -1);
		}
	}
	CHECK(constant);
	/* The same text is at one address. */
	tl_execution_buffer one = {.struct_size = sizeof one}, other = {.struct_size = sizeof other};
	CHECK_OK(tl_execution_get_buffer(execution, 0, &one));
	CHECK_OK(tl_execution_get_buffer(execution, 0, &other));
	CHECK_PTR(one.name, other.name);
	CHECK_PTR(one.shape, other.shape);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(texts_say_the_same)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	const char* json = tl_execution_text(execution, "json", NULL, 0);
	CHECK(strncmp(json, "{\n\"tl_plan\": 1", 14) == 0);
	CHECK_PTR(tl_execution_text(execution, "json", NULL, 0), json);
	const char* header = tl_execution_text(execution, "header", "mine", 0);
	CHECK(strstr(header, "#define MINE_FRAME_BYTES ") != NULL);
	const char* module = tl_execution_text(execution, "llvm", NULL, 0);
	CHECK(strstr(module, "define i32 @line(ptr %inputs, ptr %outputs, ptr %constants)") != NULL);
	module = tl_execution_text(execution, "llvm", "other", 14);
	CHECK(strstr(module, "define i32 @other(i8** %inputs") != NULL ||
	      strstr(module, "define i32 @other(i8* %inputs") != NULL);
	/* All of them stay. */
	CHECK(strncmp(json, "{\n\"tl_plan\": 1", 14) == 0);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

/* What a compiler would make of the plan: it takes memory from the library. */
static tl_status line_compiled(const void* const* inputs, void* const* outputs, const void* const* constants)
{
	const float *x = inputs[0], *w = constants[0];
	float *y = outputs[0], *z = outputs[1], *product = tl_mem_frame_enter(LINE_ELEMENTS * sizeof *product);
	if (product == NULL) return tl_last_status();
	for (int i = 0; i < LINE_ELEMENTS; i++) product[i] = x[i] * w[i];
	for (int i = 0; i < LINE_ELEMENTS; i++) y[i] = product[i] > 0 ? product[i] : 0;
	for (int i = 0; i < LINE_ELEMENTS; i++) z[i] = x[i] + y[i];
	return tl_mem_frame_exit();
}

static tl_status refuses(const void* const* inputs, void* const* outputs, const void* const* constants)
{
	(void)inputs, (void)outputs, (void)constants;
	return tl_mem_exit_scope(); /* none is open */
}

static void* address_of(tl_status (*function)(const void* const*, void* const*, const void* const*))
{
	return (void*)(uintptr_t)function;
}

THREAD(run_often, shared)
{
	float x[LINE_ELEMENTS], y[LINE_ELEMENTS], z[LINE_ELEMENTS];
	const void* inputs[] = {x};
	void* outputs[] = {y, z};
	for (int n = 0; n < 50; n++) {
		for (int i = 0; i < LINE_ELEMENTS; i++) x[i] = (float)(i + n);
		CHECK_OK(tl_execution_run(shared, address_of(line_compiled), inputs, 1, outputs, 2));
		for (int i = 0; i < LINE_ELEMENTS; i++) {
			float want = i % 2 == 0 ? 2 * x[i] : 0;
			CHECK(y[i] == want && z[i] == x[i] + want);
		}
	}
}

/* A kernel that finds something wrong records no message. */
static tl_status finds_fault(const void* const* inputs, void* const* outputs, const void* const* constants)
{
	(void)inputs, (void)outputs, (void)constants;
	return TL_E_INVALID_ARGUMENT;
}

TEST(a_refusal_has_a_sentence_of_its_own)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	float content[LINE_ELEMENTS] = {0};
	const void* inputs[] = {content};
	void* outputs[] = {content, content};
	const char* refusal = tl_execution_text(execution, "refusal", NULL, 0);
	CHECK(refusal != NULL && strcmp(refusal, "") == 0);
	CHECK_FAILS(tl_tensor_free((void*)0x1001), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_execution_run(execution, address_of(finds_fault), inputs, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(),
	             "tl_execution_run: TL_E_INVALID_ARGUMENT: the compiled function has refused the call; "
	             "the function is not that of this execution") != NULL);
	tl_clear_error();
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(compiled_functions_are_run)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	pthread_t threads[4];
	run_often(execution);
	for (int i = 0; i < 4; i++) threads[i] = start_thread(run_often, execution);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	float content[LINE_ELEMENTS] = {0};
	const void* inputs[] = {content};
	void* outputs[] = {content, content};
	CHECK_FAILS(tl_execution_run(execution, address_of(refuses), inputs, 1, outputs, 2), TL_E_SCOPE_UNDERFLOW);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(runs_are_checked)
{
	tl_graph* graph = new_line();
	tl_execution* execution = planned(graph, NULL);
	float content[LINE_ELEMENTS] = {0};
	const void *inputs[] = {content}, *none[] = {NULL};
	void *outputs[] = {content, content}, *half[] = {content, NULL}, *function = address_of(line_compiled);
	CHECK_FAILS(tl_execution_run(NULL, function, inputs, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, NULL, inputs, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, function, inputs, 0, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "0 inputs were passed; the graph has 1") != NULL);
	CHECK_FAILS(tl_execution_run(execution, function, inputs, 1, outputs, 3), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, function, NULL, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, function, inputs, 1, NULL, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, function, none, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run(execution, function, inputs, 1, half, 2), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "output 1, \"z\"") != NULL);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_FAILS(tl_execution_run(execution, function, inputs, 1, outputs, 2), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_graph_destroy(graph));
}

/* The same with memory of its caller: no call of the library. */
static tl_status line_in(const void* const* inputs, void* const* outputs, const void* const* constants, void* scratch)
{
	const float *x = inputs[0], *w = constants[0];
	float *y = outputs[0], *z = outputs[1], *product = scratch;
	for (int i = 0; i < LINE_ELEMENTS; i++) product[i] = x[i] * w[i];
	for (int i = 0; i < LINE_ELEMENTS; i++) y[i] = product[i] > 0 ? product[i] : 0;
	for (int i = 0; i < LINE_ELEMENTS; i++) z[i] = x[i] + y[i];
	return TL_OK;
}

TEST(memory_can_be_the_callers)
{
	enum { ROOM = 4096 };
	tl_graph* graph = new_line();
	const tl_graph_options options = {.struct_size = sizeof options, .flags = TL_GRAPH_FLAG_NO_IN_PLACE};
	tl_execution* execution = planned(graph, &options);
	tl_execution_info info = info_of(execution);
	CHECK(info.frame_bytes > 0 && info.frame_bytes <= ROOM);
	CHECK(strstr(tl_execution_text(execution, "llvm-caller", NULL, 0), "ptr %scratch)") != NULL);
	CHECK(strstr(tl_execution_text(execution, "llvm-caller", NULL, 0), "tl_mem_") == NULL);
	CHECK(strstr(tl_execution_text(execution, "llvm-slots", NULL, 0), "tl_mem_get_buffer") != NULL);
	const char* header = tl_execution_text(execution, "header-caller", "mine", 0);
	CHECK(strstr(header, "#define mine_FRAME_BYTES") != NULL && strstr(header, "int32_t mine(") != NULL);
	char* memory = aligned_alloc(64, ROOM);
	float x[LINE_ELEMENTS], y[LINE_ELEMENTS], z[LINE_ELEMENTS];
	const void* inputs[] = {x};
	void *outputs[] = {y, z}, *function = (void*)(uintptr_t)line_in;
	for (int i = 0; i < LINE_ELEMENTS; i++) x[i] = (float)i;
	CHECK_OK(tl_execution_run_in(execution, function, inputs, 1, outputs, 2, memory, info.frame_bytes, NULL, 0));
	for (int i = 0; i < LINE_ELEMENTS; i++) CHECK(z[i] == x[i] + (i % 2 == 0 ? 2 * x[i] : 0));
	const struct {
		void* memory;
		size_t bytes;
		const char* says;
	} wrong[] = {{memory, info.frame_bytes - 1, "the frame has"},
	             {memory + 32, ROOM - 32, "a multiple of 64"},
	             {NULL, ROOM, "memory is at 0x0"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		CHECK_FAILS(
			tl_execution_run_in(execution, function, inputs, 1, outputs, 2, wrong[i].memory, wrong[i].bytes, NULL, 0),
			TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), wrong[i].says) != NULL);
	}
	CHECK_FAILS(tl_execution_run_in(NULL, function, inputs, 1, outputs, 2, memory, ROOM, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run_in(execution, NULL, inputs, 1, outputs, 2, memory, ROOM, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run_in(execution, function, inputs, 2, outputs, 2, memory, ROOM, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run_in(execution, function, inputs, 1, outputs, 1, memory, ROOM, NULL, 0),
	            TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_run_in(execution, function, inputs, 1, outputs, 2, memory, ROOM, memory, 64),
	            TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "the plan has no second space") != NULL);
	CHECK_FAILS(tl_execution_run_in(execution, function, inputs, 1, outputs, 2, memory, ROOM, memory, 0),
	            TL_E_INVALID_ARGUMENT);
	free(memory);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

/* What a plan with moves is compiled to: the second space is one argument more. */
static tl_status through_outside(const void* const* inputs, void* const* outputs, const void* const* constants,
                                 void* scratch, void* outside)
{
	(void)constants;
	memset(scratch, 1, 4096);
	memcpy(outside, inputs[0], 4096);
	memset(scratch, 2, 4096);
	memcpy(outputs[0], outside, 4096);
	return TL_OK;
}

TEST(each_space_has_memory_of_the_caller)
{
	tl_graph* graph = new_chain();
	tl_execution* execution = planned(graph, NULL);
	tl_graph_options options = {.struct_size = sizeof options, .capacity_bytes = info_of(execution).frame_bytes - 4096};
	CHECK_OK(tl_execution_destroy(execution));
	options.flags = TL_GRAPH_FLAG_OUTSIDE | TL_GRAPH_FLAG_NO_RECOMPUTE;
	execution = planned(graph, &options);
	CHECK(strstr(tl_execution_text(execution, "llvm-caller", NULL, 0), "%outside") != NULL);
	CHECK(strstr(tl_execution_text(execution, "header-caller", NULL, 0), "_OUTSIDE_BYTES") != NULL);
	const tl_execution_info info = info_of(execution);
	CHECK(info.outside_bytes >= 4096 && info.outside_bytes % 4096 == 0 && info.frame_bytes % 4096 == 0);
	char *memory = aligned_alloc(64, info.frame_bytes), *second = aligned_alloc(64, info.outside_bytes);
	static float x[1024], y[1024];
	const void* inputs[] = {x};
	void *outputs[] = {y}, *function = (void*)(uintptr_t)through_outside;
	for (int i = 0; i < 1024; i++) x[i] = (float)i;
	CHECK_OK(tl_execution_run_in(execution, function, inputs, 1, outputs, 1, memory, info.frame_bytes, second,
	                             info.outside_bytes));
	CHECK(memcmp(x, y, sizeof x) == 0);
	const struct {
		void* outside;
		size_t bytes;
		const char* says;
	} wrong[] = {{NULL, 0, "outside has 0 bytes; the second space has"},
	             {second, info.outside_bytes - 1, "the second space has"},
	             {NULL, info.outside_bytes, "outside is at 0x0"},
	             {second + 32, info.outside_bytes, "a multiple of 64"}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		CHECK_FAILS(tl_execution_run_in(execution, function, inputs, 1, outputs, 1, memory, info.frame_bytes,
		                                wrong[i].outside, wrong[i].bytes),
		            TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), wrong[i].says) != NULL);
	}
	free(memory);
	free(second);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(questions_need_sense)
{
	static char long_text[5000];
	tl_graph* graph = new_line();
	tl_execution *execution = planned(graph, NULL), *bad[] = {NULL, (tl_execution*)(uintptr_t)1, planned(graph, NULL)};
	tl_execution_info info = {.struct_size = sizeof info};
	tl_execution_buffer buffer = {.struct_size = sizeof buffer};
	tl_execution_instruction instruction = {.struct_size = sizeof instruction};
	tl_execution_operand operand = {.struct_size = sizeof operand};
	memset(long_text, 'a', sizeof long_text - 1);
	CHECK_OK(tl_execution_destroy(bad[2]));
	for (int i = 0; i < 3; i++) {
		if (bad[i] != NULL) CHECK_FAILS(tl_execution_destroy(bad[i]), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_execution_get_info(bad[i], &info), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_execution_get_buffer(bad[i], 0, &buffer), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_execution_get_instruction(bad[i], 0, &instruction), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_execution_get_operand(bad[i], 0, 0, 0, &operand), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_execution_validate(bad[i]), TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_execution_constants(bad[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_execution_text(bad[i], "json", NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	}
	CHECK_FAILS(tl_execution_get_info(execution, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_buffer(execution, -1, &buffer), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_buffer(execution, 99, &buffer), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_buffer(execution, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_instruction(execution, 3, &instruction), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_instruction(execution, -1, &instruction), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_instruction(execution, 0, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, -2, 0, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 3, 0, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 0, 3, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 0, -1, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 0, TL_OPERAND_ROLE_INPUT, 2, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 0, TL_OPERAND_ROLE_SCRATCH, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, -1, TL_OPERAND_ROLE_SCRATCH, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_execution_get_operand(execution, 0, 0, 0, NULL), TL_E_INVALID_ARGUMENT);
	operand.struct_size = 8;
	CHECK_FAILS(tl_execution_get_operand(execution, 0, 0, 0, &operand), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_execution_text(execution, NULL, NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_execution_text(execution, "xml", NULL, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_execution_text(execution, "llvm", long_text, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_execution_text(execution, "llvm", NULL, 13), 0, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_execution_validate(execution));
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(missing_kernels_are_named)
{
	static const char graph_text[] =
		"{\"tl_graph\": 1, \"name\": \"own\", \"inputs\": [{\"name\": \"x\", \"dtype\": \"f32\", \"shape\": [4]}],"
		" \"outputs\": [\"y\"], \"nodes\": [{\"op\": \"com.example.Mystery\", \"inputs\": [\"x\"], \"outputs\": "
		"[\"y\"]}],"
		" \"values\": [{\"name\": \"y\", \"dtype\": \"f32\", \"shape\": [4]}]}";
	tl_graph* graph = NULL;
	CHECK_OK(tl_graph_parse(graph_text, sizeof graph_text - 1, "json", &graph));
	tl_execution* execution = planned(graph, NULL);
	CHECK(tl_execution_text(execution, "json", NULL, 0) != NULL);
	CHECK_REFUSED(tl_execution_text(execution, "llvm", NULL, 0), 0, TL_E_UNSUPPORTED);
	CHECK(strstr(tl_last_error(), "com.example.Mystery") != NULL);
	CHECK_OK(tl_execution_destroy(execution));
	CHECK_OK(tl_graph_destroy(graph));
}

int main(void) { return check_tests(); }
