/* Graphs in less memory than a plan needs: values are computed again or moved, at a price that the rates tell. */
#include "graphs.h"

static const tl_graph_options none = {.struct_size = sizeof none};

static size_t frame_of(tl_graph* graph)
{
	tl_execution* execution = planned(graph, &none);
	tl_execution_info info = info_of(execution);
	CHECK_INT(info.num_recomputed, 0);
	CHECK_INT(info.num_transfers, 0);
	CHECK_INT(info.outside_bytes, 0);
	CHECK(info.seconds > 0 && info.seconds == info.seconds_once);
	CHECK_OK(tl_execution_destroy(execution));
	return info.frame_bytes;
}

/* Every operator takes as long as it has bytes, or as is told. */
static const char* rates_of(char* text, size_t room, double byte, double exponentials)
{
	static const char* const classes[] = {"elementwise", "reduction", "softmax", "normalise", "matmul",
	                                      "conv",        "wide conv", "pool",    "move",      "turn"};
	int n = snprintf(text, room, "{\"machine\": \"one byte\", \"near\": 0, \"classes\": {");
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		n += snprintf(text + n, room - (size_t)n, "\"%s\": {\"call\": 0, \"byte\": %g, \"far\": 0, \"operation\": 0}, ",
		              classes[i], byte);
	snprintf(text + n, room - (size_t)n,
	         "\"transcendental\": {\"call\": 0, \"byte\": %g, \"far\": 0, \"operation\": 0}}}", exponentials);
	return text;
}

static tl_execution_info fitted(tl_graph* graph, tl_graph_options options, size_t capacity)
{
	options.struct_size = sizeof options;
	options.capacity_bytes = capacity;
	tl_execution* execution = planned(graph, &options);
	tl_execution_info info = info_of(execution);
	CHECK(info.frame_bytes <= capacity);
	CHECK(info.seconds > info.seconds_once);
	CHECK_OK(tl_execution_validate(execution));
	CHECK_OK(tl_execution_destroy(execution));
	return info;
}

TEST(values_are_computed_again)
{
	tl_graph* graph = new_chain();
	tl_graph_options options = {.struct_size = sizeof options, .capacity_bytes = frame_of(graph) - 4096};
	tl_execution* execution = planned(graph, &options);
	tl_execution_info info = info_of(execution);
	CHECK(info.frame_bytes <= options.capacity_bytes);
	CHECK(info.num_recomputed > 0);
	CHECK_INT(info.num_transfers, 0);
	int64_t again = 0;
	for (int64_t i = 0; i < info.num_instructions; i++) {
		tl_execution_instruction in = {.struct_size = sizeof in};
		CHECK_OK(tl_execution_get_instruction(execution, i, &in));
		if (in.repeats == NULL) continue;
		CHECK(strcmp(in.op, "Sigmoid") == 0 && strcmp(in.node, in.repeats) != 0);
		again++;
	}
	CHECK_INT(again, info.num_recomputed);
	CHECK_OK(tl_execution_destroy(execution));
	options.capacity_bytes = 64;
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), "the capacity in bytes is 64;") != NULL);
	/* Nothing may be done, and nothing has to be. */
	options.flags = TL_GRAPH_FLAG_NO_RECOMPUTE;
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_LIMIT); /* below what any plan has */
	options.capacity_bytes = frame_of(graph) - 4096;
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_LIMIT);
	options.capacity_bytes += 4096;
	CHECK_OK(tl_execution_destroy(planned(graph, &options)));
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(values_are_moved)
{
	tl_graph* graph = new_chain();
	tl_graph_options options = {.struct_size = sizeof options, .capacity_bytes = frame_of(graph) - 4096};
	options.flags = TL_GRAPH_FLAG_OUTSIDE | TL_GRAPH_FLAG_NO_RECOMPUTE;
	tl_execution* execution = planned(graph, &options);
	tl_execution_info info = info_of(execution);
	CHECK(info.frame_bytes <= options.capacity_bytes);
	CHECK_INT(info.num_recomputed, 0);
	CHECK(info.num_transfers >= 2 && info.outside_bytes >= 4096);
	CHECK_INT(info.moved_bytes, 4096 * info.num_transfers);
	CHECK(info.seconds > info.seconds_once);
	int64_t transfers = 0, there = 0;
	for (int64_t i = 0; i < info.num_instructions; i++) {
		tl_execution_instruction in = {.struct_size = sizeof in};
		CHECK_OK(tl_execution_get_instruction(execution, i, &in));
		transfers += strcmp(in.op, "MoveOut") == 0 || strcmp(in.op, "MoveIn") == 0;
		CHECK_PTR(in.repeats, NULL);
	}
	CHECK_INT(transfers, info.num_transfers);
	for (int64_t i = 0; i < info.num_buffers; i++) {
		tl_execution_buffer buffer = {.struct_size = sizeof buffer};
		CHECK_OK(tl_execution_get_buffer(execution, i, &buffer));
		CHECK((buffer.kind == TL_BUFFER_KIND_OUTSIDE) == (buffer.outside >= 0));
		if (buffer.outside < 0) continue;
		CHECK_INT(buffer.offset, -1);
		CHECK((size_t)buffer.outside + buffer.bytes <= info.outside_bytes);
		there++;
	}
	CHECK(there > 0);
	CHECK(strstr(tl_execution_text(execution, "llvm", NULL, 0), "MoveOut") != NULL);
	CHECK_OK(tl_execution_destroy(execution));
	/* A second space that is too small is none. */
	options.outside_bytes = 64;
	CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_LIMIT);
	CHECK_OK(tl_graph_destroy(graph));
}

/* What is cheaper is chosen, and what it costs is what the rates say. */
TEST(rates_decide)
{
	char cheap[4096], dear[4096];
	tl_graph* graph = new_chain();
	size_t capacity = frame_of(graph) - 4096;
	const tl_graph_options again = {.flags = TL_GRAPH_FLAG_OUTSIDE, .rates = rates_of(cheap, sizeof cheap, 1, 1e-6)};
	const tl_graph_options moved = {.flags = TL_GRAPH_FLAG_OUTSIDE, .rates = rates_of(dear, sizeof dear, 1, 1e6)};
	CHECK_INT(fitted(graph, again, capacity).num_transfers, 0);
	tl_execution_info info = fitted(graph, moved, capacity);
	CHECK_INT(info.num_recomputed, 0);
	/* A transfer reads 4096 bytes and writes as many. */
	CHECK(info.seconds - info.seconds_once == 2.0 * (double)info.moved_bytes);
	/* A bandwidth is the price of the transfers alone. */
	tl_graph_options fast = moved;
	fast.outside_bandwidth = 1024;
	tl_execution_info faster = fitted(graph, fast, capacity);
	CHECK(faster.seconds_once == info.seconds_once);
	CHECK(faster.seconds - faster.seconds_once == (double)faster.moved_bytes / 1024);
	CHECK_OK(tl_graph_destroy(graph));
}

TEST(options_have_to_agree)
{
	static char endless[(16 << 20) + 2];
	memset(endless, ' ', sizeof endless - 1);
	tl_graph* graph = new_chain();
	tl_execution* execution = NULL;
	const struct {
		tl_graph_options options;
		const char* says;
	} wrong[] = {
		{{.flags = TL_GRAPH_FLAG_OUTSIDE}, "no capacity"},
		{{.flags = TL_GRAPH_FLAG_NO_RECOMPUTE}, "no capacity"},
		{{.capacity_bytes = 4096, .outside_bytes = 1}, "TL_GRAPH_FLAG_OUTSIDE"},
		{{.capacity_bytes = 4096, .outside_bandwidth = 1e9}, "TL_GRAPH_FLAG_OUTSIDE"},
		{{.capacity_bytes = 4096, .flags = TL_GRAPH_FLAG_OUTSIDE, .outside_bandwidth = -1}, "bandwidth of -1"},
		{{.capacity_bytes = 4096, .flags = TL_GRAPH_FLAG_OUTSIDE, .outside_bandwidth = 0.0 / 0.0}, "bandwidth of NaN"},
		{{.capacity_bytes = 4096, .flags = TL_GRAPH_FLAG_OUTSIDE, .outside_bandwidth = 1e308 * 10},
	     "bandwidth of +Inf"},
		{{.rates = "{}"}, "no class \"elementwise\""},
		{{.rates = "rates.json"}, "rates"},
		{{.rates = endless}, "longer than 16777216 bytes"},
		{{.rates = (const char*)(uintptr_t)8}, "which is no string"},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		tl_graph_options options = wrong[i].options;
		options.struct_size = sizeof options;
		CHECK_FAILS(tl_graph_plan(graph, &options, &execution), TL_E_INVALID_ARGUMENT);
		CHECK(strstr(tl_last_error(), wrong[i].says) != NULL);
	}
	/* The members of a caller that knows fewer of them are zeros. */
	tl_graph_options shorter = {.struct_size = offsetof(tl_graph_options, outside_bytes), .outside_bytes = 7};
	CHECK_OK(tl_execution_destroy(planned(graph, &shorter)));
	CHECK_OK(tl_graph_destroy(graph));
}

int main(void) { return check_tests(); }
