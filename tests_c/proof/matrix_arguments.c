/* The arguments of a cell: what is valid for each parameter, and what is attacked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "matrix.h"

#include "sparse.h"

/* ---- numbers ------------------------------------------------------------------------ */

/* The first row that fits; a function of NULL is any. */
static const struct {
	const char *function, *param;
	int64_t value;
} integers[] = {{"tl_vec_new", "capacity", 4},
                {"tl_vec_reserve", "capacity", 16},
                {"tl_arena_init", "capacity", 1 << 20},
                {"tl_plan_add_space", "capacity", 1 << 20},
                {"tl_mem_exit_scopes_to", "depth", 0},
                {"tl_mem_function_enter", "slots", 2},
                {"tl_workspace_get", "rank", 1},
                {"tl_pool_key_stats_get", "rank", 0},
                {NULL, "rank", SHAPE_RANK},
                {"tl_view_squeeze", "axis", 2},
                {NULL, "axis_b", 1},
                {NULL, "step", 1},
                {NULL, "stop", 2},
                {NULL, "elements", SHAPE_ELEMENTS},
                {"tl_sparse_from_csc", "rows", SPARSE_COLUMNS},
                {"tl_sparse_from_csc", "columns", SPARSE_ROWS},
                {NULL, "rows", SPARSE_ROWS},
                {NULL, "columns", SPARSE_COLUMNS},
                {NULL, "nonzeros", SPARSE_NONZEROS},
                {NULL, "value_dtype", TL_DTYPE_F64},
                {NULL, "index_dtype", TL_DTYPE_I32},
                {NULL, "kind", TL_ALLOC_MALLOC},
                {"tl_plan_offsets", "n", 2},
                {NULL, "n", 1},
                {NULL, "alignment", 64},
                {NULL, "end", 2},
                {"tl_plan_add_gap", "end", 1},
                {"tl_plan_alias", "base", 1},
                {NULL, "threads", 2},
                {NULL, "bytes_each", 64},
                {NULL, "count", 4},
                {NULL, "element_bytes", 16},
                {NULL, "initial_bytes", 65536},
                {NULL, "size", 64},
                {NULL, "min_bytes", 64},
                {NULL, "bytes", 64},
                {NULL, "per_key", 32},
                {NULL, "major", 1},
                {NULL, "line", 7}};

uint64_t valid_integer(const matrix_function* f, int param)
{
	const matrix_param* p = &f->params[param];
	int64_t of_graphs = graph_integer(f, p);
	if (strcmp(p->name, "type") == 0) return world_type;
	if (of_graphs >= 0) return (uint64_t)of_graphs;
	for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++)
		if (strcmp(p->name, integers[i].param) == 0 &&
		    (integers[i].function == NULL || is_called(f, integers[i].function)))
			return (uint64_t)integers[i].value;
	return 0;
}

/* ---- what is read ----------------------------------------------------------------------- */

/* Arrays have more room than any number of elements that a cell says: see matrix_numbers.c. */
enum { ROOM = 4096 };
static union room {
	char bytes[ROOM];
	int64_t numbers[ROOM / 8];
	int32_t indices[ROOM / 4];
	double values[ROOM / 8];
	float floats[ROOM / 4];
	tl_plan_buffer buffers[ROOM / sizeof(tl_plan_buffer)];
} shape, reshaped, strides, axes, lengths, spaces, sizes, floats, longs, values, indices, offsets, buffers, starts;

static void fill(void)
{
	static const int64_t order[] = {1, 0, 2}, turned[] = {3, 2, 1}, steps[] = {3, 1, 1},
						 lines[SPARSE_ROWS] = {2, 0, 3, 1, 5};
	memcpy(shape.numbers, matrix_shape, 8 * sizeof matrix_shape[0]);
	memcpy(reshaped.numbers, turned, sizeof turned);
	memcpy(strides.numbers, steps, sizeof steps);
	memcpy(axes.numbers, order, sizeof order);
	memcpy(lengths.numbers, lines, sizeof lines);
	memcpy(values.values, sparse_values, sizeof sparse_values);
	memcpy(indices.indices, sparse_indices, sizeof sparse_indices);
	memcpy(offsets.indices, sparse_offsets, sizeof sparse_offsets);
	for (size_t i = 0; i < ROOM / sizeof buffers.buffers[0]; i++)
		buffers.buffers[i] = (tl_plan_buffer){64, 8, (int64_t)i, (int64_t)i + 2};
	for (size_t i = 0; i < ROOM / 8; i++) sizes.numbers[i] = 64;
}

static const void* array(const matrix_function* f, const matrix_param* p)
{
	static const struct {
		const char* name;
		const void* array;
	} arrays[] = {{"shape", &shape},     {"strides", &strides}, {"axes", &axes},     {"lengths", &lengths},
	              {"spaces", &spaces},   {"bytes", &sizes},     {"values", &values}, {"indices", &indices},
	              {"offsets", &offsets}, {"starts", &starts},   {"stops", &shape},   {"steps", &strides}};
	if (is_called(f, "tl_view_reshape")) return &reshaped;
	if (strcmp(p->name, "data") == 0) return strcmp(p->type, "float") == 0 ? &floats : &longs;
	for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
		if (strcmp(p->name, arrays[i].name) == 0) return arrays[i].array;
	return NULL;
}

static void ended(void* ptr, void* ctx)
{
	(void)ptr;
	(void)ctx;
}

static void told(tl_status status, const char* message, void* ctx)
{
	(void)status;
	(void)message;
	(void)ctx;
}

static bool nothing_to_release(int32_t device, size_t requested, uint32_t attempt, void* ctx)
{
	(void)device;
	(void)requested;
	(void)attempt;
	(void)ctx;
	return false;
}

static size_t holds_nothing(void* ctx, void* const** out_held)
{
	(void)ctx;
	*out_held = NULL;
	return 0;
}

static const void* callback(const matrix_param* p)
{
	if (strcmp(p->type, "tl_error_callback") == 0) return (const void*)(uintptr_t)told;
	if (strcmp(p->type, "tl_out_of_memory_callback") == 0) return (const void*)(uintptr_t)nothing_to_release;
	if (strcmp(p->type, "tl_leak_holders") == 0) return (const void*)(uintptr_t)holds_nothing;
	return (const void*)(uintptr_t)ended;
}

/* Memory that a tensor of ten numbers can be opened over. */
static const void* memory_file(void)
{
	static tl_tensor_shared shared = {sizeof shared, -1, 0, 0, TL_DTYPE_F32, 1, {10}, {1}};
	if (shared.fd < 0) {
		shared.fd = memfd_create("matrix", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (ftruncate(shared.fd, 40) != 0 || fcntl(shared.fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) abort();
	}
	return &shared;
}

/* A struct that is read, by its type. Each device has a name of its own. */
static const void* structure(const matrix_function* f, const matrix_param* p, fixture* of)
{
	static const size_t fields[] = {0, 8};
	static const tl_type_desc type = {.name = "cell", .size = 64, .pointer_offsets = fields, .num_pointers = 2};
	static tl_device_copier copier = {.struct_size = sizeof copier, .host_access = 1};
	static tl_plan_options options = {.struct_size = sizeof options, .max_steps = 100};
	static tl_tensor_info info = {.struct_size = sizeof info, .rank = SHAPE_RANK};
	static tl_device_allocator allocator;
	static char name[32];
	static int devices;
	if (strcmp(p->type, "tl_type_desc") == 0) return &type;
	if (strcmp(p->type, "tl_device_copier") == 0) return &copier;
	if (strcmp(p->type, "tl_plan_options") == 0) return &options;
	if (strcmp(p->type, "tl_plan_buffer") == 0) return &buffers;
	if (strcmp(p->type, "tl_sparse_options") == 0) return &sparse_small;
	if (strcmp(p->type, "tl_python_api") == 0) return world_python();
	if (strcmp(p->type, "DLManagedTensorVersioned") == 0) return lend(of), &of->lent;
	if (strcmp(p->type, "DLManagedTensor") == 0) return lend(of), &of->lent_legacy;
	info.data = &floats;
	info.shape = shape.numbers;
	if (strcmp(p->type, "tl_tensor_info") == 0) return &info;
	if (strcmp(p->type, "tl_tensor_shared") == 0) return memory_file();
	allocator = world_allocator();
	if (is_called(f, "tl_device_register")) {
		snprintf(name, sizeof name, "cell:%d", devices++);
		allocator.name = name;
	}
	return &allocator;
}

static const char* text(const matrix_function* f, const matrix_param* p)
{
	if (strcmp(p->name, "path") == 0) return world_path();
	if (strcmp(p->name, "key") == 0) return "TL_MEM_LOG";
	if (strcmp(p->name, "value") == 0) return "0";
	return is_called(f, "tl_device_by_name") ? "cpu" : "matrix";
}

/* ---- pointers ---------------------------------------------------------------------------- */

/* The kind that is valid for a pointer which other cells attack; -1: none needs a fixture. */
int valid_kind(const matrix_function* f, int param)
{
	const matrix_param* p = &f->params[param];
	static const struct {
		const char *function, *param, *kind;
	} kinds[] = {{"tl_pool_release", "tensor", "tensor_floating"},
	             {"tl_pool_release_compat", "tensor", "tensor_floating"},
	             {"tl_mem_unregister", "object", "object_in_scope"},
	             {"tl_registry_unregister_many", "pointers", "registered_malloc"},
	             {"tl_registry_unregister", "pointer", "registered_malloc"},
	             {"tl_registry_is_registered", "pointer", "registered_malloc"},
	             {"tl_registry_info", "pointer", "registered_malloc"},
	             {"tl_python_registered", "pointer", "registered_malloc"},
	             {"tl_registry_add_alias", "alias", "registered_buffer_at_128"},
	             {"tl_aligned_free", "pointer", "aligned"},
	             {"tl_arena_contains", "pointer", "arena"},
	             {"tl_numpy_realloc", "block", "numpy_1000"},
	             {"tl_numpy_free", "block", "numpy_1000"},
	             {"tl_torch_free", "block", "null"}};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (is_called(f, kinds[i].function) && strcmp(p->name, kinds[i].param) == 0)
			return pointer_kind_named(kinds[i].kind);
	switch (p->role) {
	case MATRIX_OBJECT: return pointer_kind_named(p->trusted ? "malloc_64" : "plain_64");
	case MATRIX_CELL: return pointer_kind_named("cell_40");
	case MATRIX_VEC: return pointer_kind_named("vec_three");
	case MATRIX_TENSOR: return pointer_kind_named("tensor_f32");
	case MATRIX_SPARSE: return pointer_kind_named("sparse_sample");
	case MATRIX_WORKSPACE: return pointer_kind_named("workspace");
	case MATRIX_POOL: return pointer_kind_named("pool_handle");
	case MATRIX_PLAN: return pointer_kind_named("plan_handle");
	case MATRIX_GRAPH: return pointer_kind_named("graph_handle");
	case MATRIX_EXECUTION: return pointer_kind_named("execution_handle");
	case MATRIX_GRAPH_ARENA: return pointer_kind_named("graph_arena_handle");
	case MATRIX_BLOCK: return pointer_kind_named("pool_block");
	case MATRIX_MEMORY: return pointer_kind_named("mapped_page");
	case MATRIX_LIST: return pointer_kind_named(strcmp(p->type, "tl_graph") == 0 ? "graph_handle" : "malloc_64");
	default: return pointer_kind_named("null");
	}
}

/* Of the functions that believe the caller about a list and its nodes. */
static void* deferred;
static tl_deferred node = {NULL, &deferred};
static bool is_node(const matrix_param* p) { return p->role == MATRIX_COOKIE && p->trusted; }

const void* valid_pointer(const matrix_function* f, int param, fixture* of)
{
	const matrix_param* p = &f->params[param];
	const void* of_graphs = graph_pointer(p);
	if (shape.numbers[0] == 0) fill();
	if (of_graphs != NULL) return of_graphs;
	switch (p->role) {
	case MATRIX_TEXT: return text(f, p);
	case MATRIX_NUMBERS: return array(f, p);
	case MATRIX_STRUCT: return structure(f, p, of);
	case MATRIX_CALLBACK: return callback(p);
	case MATRIX_COOKIE: return strcmp(p->name, "list") == 0 ? (const void*)&deferred : (const void*)&node;
	default: return NULL;
	}
}

/* ---- a cell's ---------------------------------------------------------------------------- */

/* Arguments that are valid together only: a block of the pool of the same call, an alias
 * inside its block, the number of a buffer. */
static void join(arguments* a, const matrix_function* f, int attacked)
{
	if (is_called(f, "tl_registry_add_alias") && attacked != 0) {
		tl_alloc_info info = {.struct_size = sizeof info};
		if (tl_registry_info(a->fixtures[1].owned[0], &info) == TL_OK) a->words[0] = info.buffer_id;
	}
	bool buffer = is_called(f, "tl_registry_register_buffer") || is_called(f, "tl_registry_register_custom_buffer");
	if (buffer && attacked != 2) a->list[0] = (void*)(uintptr_t)(a->words[0] + 16);
	for (int i = 1; i < f->count; i++) {
		fixture* pool = &a->fixtures[0];
		if (f->params[i].role != MATRIX_BLOCK || f->params[0].role != MATRIX_POOL) continue;
		if (pool->pool == NULL || a->fixtures[i].kind != &pointer_kinds[pointer_kind_named("pool_block")]) continue;
		a->words[i] = (uint64_t)(uintptr_t)tl_memory_pool_allocate(pool->pool, 256);
	}
}

/* The output begins as what no call writes; a struct says how large it is. */
static void* make_output(arguments* a, int i, const matrix_param* p)
{
	static char text[1 << 20];
	memset(a->outputs[i], 0xA5, OUTPUT_BYTES);
	if (p->bytes > 16) memcpy(a->outputs[i], &p->bytes, sizeof p->bytes);
	return p->bytes == 0 ? (void*)text : (void*)a->outputs[i];
}

static void make_pointer(arguments* a, const matrix_function* f, int i, int kind)
{
	const matrix_param* p = &f->params[i];
	if (kind < 0) kind = valid_kind(f, i);
	fixture_make(&a->fixtures[i], &pointer_kinds[kind]);
	a->words[i] = (uint64_t)(uintptr_t)a->fixtures[i].pointer;
	if (p->role != MATRIX_LIST) return;
	memset(a->list, 0, sizeof a->list);
	a->list[0] = a->fixtures[i].pointer;
	a->words[i] = (uint64_t)(uintptr_t)a->list;
}

void arguments_make(arguments* a, const cell* c)
{
	const matrix_function* f = function_of(c);
	memset(a->fixtures, 0, sizeof a->fixtures);
	memset(a->words, 0, sizeof a->words);
	for (int i = 0; i < f->count; i++) {
		const matrix_param* p = &f->params[i];
		bool attacked = c->param == i;
		if (p->role == MATRIX_INTEGER) a->words[i] = attacked ? integer_kind(c->kind) : valid_integer(f, i);
		else if (p->role == MATRIX_BOOL) a->words[i] = attacked;
		else if (!attacked && c->others_null) continue;
		else if (is_attacked(p) && (attacked || !is_node(p))) make_pointer(a, f, i, attacked ? c->kind : -1);
		else if (attacked) continue;
		else if (p->role == MATRIX_OUTPUT) a->words[i] = (uint64_t)(uintptr_t)make_output(a, i, p);
		else a->words[i] = (uint64_t)(uintptr_t)valid_pointer(f, i, &a->fixtures[i]);
	}
	if (!c->others_null) join(a, f, c->param);
}

void arguments_ripen(arguments* a, const cell* c)
{
	for (int i = 0; i < function_of(c)->count; i++) fixture_ripen(&a->fixtures[i]);
}

/* Names that a call has given to a block go before it. */
static void drop_names(arguments* a, const matrix_function* f)
{
	for (int i = 0; i < f->count; i++) {
		void* p = f->params[i].role == MATRIX_LIST ? a->list[0] : (void*)(uintptr_t)a->words[i];
		bool given = f->params[i].role == MATRIX_LIST || (f->params[i].trusted && a->fixtures[i].block == NULL);
		if (given && tl_registry_is_registered(p)) release_all(p);
	}
	void* alias = is_called(f, "tl_registry_add_alias") ? (void*)(uintptr_t)a->words[1] : NULL;
	const pointer_kind* kind = a->fixtures[1].kind;
	if (kind != NULL && kind->make == make_registered && tl_registry_is_registered(alias)) release_all(alias);
}

void arguments_drop(arguments* a, const cell* c)
{
	drop_names(a, function_of(c));
	drop_made(a, function_of(c));
	for (int i = function_of(c)->count - 1; i >= 0; i--) fixture_drop(&a->fixtures[i]);
}
