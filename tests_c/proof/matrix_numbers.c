/* The kinds of integers, and which of them a parameter can have. */
#include "matrix.h"

static const uint64_t kinds[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 23, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80,
	90, 96, 100, 110, 127, 128, 129, 130, 140, 150, 160, 170, 180, 192, 200, 210, 220, 240, 254, 255, 256, 257, 511,
	512, 513, 1000, 1023, 1024, 1025, 2047, 2048, 4095, 4096, 4097, 8191, 8192, 16384, 16385, 32736, 32767, 32768,
	65503, 65504, 65505, 65519, 65520, 65535, 65536, 65537, 131071, 131072, 262144, 1 << 20, (1 << 20) + 1, 1 << 24,
	(1 << 24) + 1,
	/* near the ends of 32 bits, and of what memory has */
	INT32_MAX - 1, INT32_MAX, UINT64_C(1) << 31, (UINT64_C(1) << 31) + 1, UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32,
	(UINT64_C(1) << 32) + 1, (UINT64_C(1) << 32) + 64, UINT64_C(1) << 40, UINT64_C(1) << 44, UINT64_C(1) << 45,
	UINT64_C(1) << 46, (UINT64_C(1) << 47) - 1, UINT64_C(1) << 47, UINT64_C(1) << 48, UINT64_C(1) << 53,
	/* products with the size of an element that overflow, or nearly do */
	UINT64_C(1) << 58, UINT64_C(1) << 59, (UINT64_C(1) << 60) - 1, UINT64_C(1) << 60, (UINT64_C(1) << 60) + 1,
	(UINT64_C(1) << 61) - 1, UINT64_C(1) << 61, (UINT64_C(1) << 61) + 1, UINT64_C(1) << 62, (UINT64_C(1) << 62) + 1,
	UINT64_C(0x5555555555555556), UINT64_C(0x2AAAAAAAAAAAAAAB), UINT64_C(0x1000000000000001),
	/* the ends of 64 bits, and negative numbers */
	INT64_MAX - 63, INT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX, UINT64_MAX - 1,
	UINT64_MAX - 2, UINT64_MAX - 7, UINT64_MAX - 31, UINT64_MAX - 62, UINT64_MAX - 63, UINT64_MAX - 64,
	UINT64_MAX - 4095, UINT64_MAX - 65535, (uint64_t)INT32_MIN, (uint64_t)INT32_MIN - 1};
const int integer_kind_count = sizeof kinds / sizeof kinds[0];

uint64_t integer_kind(int kind) { return kinds[kind]; }

/* Numbers that say how long an array or a block of the caller's is. Those of the matrix have
 * 4096 and 64 bytes: a greater number than fits is a lie that nobody can find out, up to the one
 * from which on the header says that it is refused. 0: none is. */
static const struct {
	const char *function, *param;
	uint64_t most, refused;
} lengths[] = {{"tl_sparse_create", "rows", 500, UINT64_C(1) << 44},
               {"tl_sparse_from_csr", "rows", 500, UINT64_C(1) << 44},
               {"tl_sparse_from_csr", "nonzeros", 500, UINT64_C(1) << 31},
               {"tl_sparse_from_csc", "columns", 500, UINT64_C(1) << 44},
               {"tl_sparse_from_csc", "nonzeros", 500, UINT64_C(1) << 31},
               {"tl_sparse_wrap", "rows", 500, UINT64_C(1) << 44},
               {"tl_sparse_wrap", "nonzeros", 500, UINT64_C(1) << 31},
               {"tl_registry_register", "bytes", 64, UINT64_C(1) << 47},
               {"tl_registry_register_custom", "bytes", 64, UINT64_C(1) << 57},
               {"tl_registry_register_buffer", "bytes", 64, UINT64_C(1) << 47},
               {"tl_registry_register_buffer", "n", LIST_ENTRIES, 0},
               {"tl_registry_register_custom_buffer", "bytes", 64, UINT64_C(1) << 57},
               {"tl_registry_register_custom_buffer", "n", LIST_ENTRIES, 0},
               {"tl_registry_register_many", "n", LIST_ENTRIES, 0},
               {"tl_registry_unregister_many", "n", LIST_ENTRIES, 0},
               {"tl_leak_report_except", "n", LIST_ENTRIES, 0},
               {"tl_plan_add_buffers", "n", 128, (UINT64_C(1) << 24) + 1},
               {"tl_plan_set_spaces", "n", 500, 1025},
               {"tl_graph_parse", "bytes", 64, UINT64_C(1) << 57},
               {"tl_graph_add_node", "num_inputs", LIST_ENTRIES, 65537},
               {"tl_graph_add_node", "num_outputs", LIST_ENTRIES, 65537},
               {"tl_graph_add_node_with_bodies", "num_inputs", LIST_ENTRIES, 65537},
               {"tl_graph_add_node_with_bodies", "num_outputs", LIST_ENTRIES, 65537},
               {"tl_graph_add_node_with_bodies", "num_bodies", LIST_ENTRIES, 65537},
               {"tl_graph_plan_together", "num_graphs", LIST_ENTRIES, 65537}};

static bool is_within(const matrix_function* f, const matrix_param* p, uint64_t value)
{
	for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
		if (is_called(f, lengths[i].function) && strcmp(p->name, lengths[i].param) == 0)
			return value <= lengths[i].most || (lengths[i].refused != 0 && value >= lengths[i].refused);
	return true;
}

/* Whether a number has another meaning once it is cut to the width of the parameter. */
static bool fits(uint64_t value, const matrix_param* p)
{
	int64_t number = (int64_t)value;
	if (p->bytes == 8) return true;
	if (p->bytes == 1) return value <= UINT8_MAX;
	return p->is_signed ? number >= INT32_MIN && number <= INT32_MAX : value <= UINT32_MAX;
}

bool integer_suits(int kind, const matrix_function* f, int param)
{
	const matrix_param* p = &f->params[param];
	return fits(kinds[kind], p) && is_within(f, p, kinds[kind]);
}
