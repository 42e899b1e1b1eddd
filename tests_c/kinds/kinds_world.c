/* What the drivers work with. */
#include "../../cshim/base/layout.h"
/* Before tl_runtime.h. */
#include "kinds.h"
#include "tl_inline.h"

tl_type kinds_fields, kinds_leaf, kinds_destroyed;
tl_memory_pool* kinds_pool;
atomic_long kinds_ended;
char kinds_source[KINDS_LARGEST + KINDS_LENGTH];

uint64_t kinds_slow_calls(void)
{
	const tl_context* c = *(tl_context* const*)tl_context_address(TL_INLINE_VERSION);
	return c->self == NULL ? 0 : c->self->slow_calls;
}

static void destroy(void* object)
{
	(void)object;
	atomic_fetch_add_explicit(&kinds_ended, 1, memory_order_relaxed);
}

void kinds_deleter(void* pointer, void* ctx)
{
	(void)ctx;
	destroy(pointer);
}

static void* allocate(void* ctx, size_t bytes)
{
	(void)ctx;
	return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void deallocate(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	free(block);
}

void kinds_start(void)
{
	static const size_t offsets[] = {0, 8};
	const tl_type_desc fields = {"fields", 48, offsets, 2, NULL, 0};
	const tl_type_desc leaf = {"leaf", 32, NULL, 0, destroy, 0};
	const tl_type_desc destroyed = {"destroyed", 80, offsets, 2, destroy, 0};
	const tl_device_allocator allocator = {sizeof allocator, "of malloc", 64, NULL, allocate, deallocate};
	CHECK_OK(tl_type_define(&fields, &kinds_fields));
	CHECK_OK(tl_type_define(&leaf, &kinds_leaf));
	CHECK_OK(tl_type_define(&destroyed, &kinds_destroyed));
	CHECK_OK(tl_memory_pool_create(&allocator, 1 << 20, &kinds_pool));
}

uint64_t kinds_log_uniform(kinds_world* w, uint64_t most)
{
	uint64_t bits = 64 - (uint64_t)__builtin_clzll(most);
	uint64_t low = UINT64_C(1) << below(w, bits);
	return low + below(w, low < most - low + 1 ? low : most - low + 1);
}

size_t kinds_noted(kinds_world* w, size_t bytes)
{
	if (w->period > 0) w->sampled += bytes < w->period ? (double)bytes / w->period : 1;
	return bytes;
}

size_t kinds_bytes(kinds_world* w) { return kinds_bytes_to(w, w->largest); }

size_t kinds_bytes_to(kinds_world* w, size_t most)
{
	return kinds_noted(w, kinds_log_uniform(w, most < w->largest ? most : w->largest));
}

int64_t kinds_length(kinds_world* w) { return (int64_t)kinds_log_uniform(w, KINDS_LENGTH + 1) - 1; }

static const struct {
	int32_t dtype;
	size_t bytes;
} dtypes[] = {{TL_DTYPE_F32, 4}, {TL_DTYPE_F64, 8}, {TL_DTYPE_U8, 1}, {TL_DTYPE_BF16, 2}, {TL_DTYPE_I64, 8}};

size_t kinds_shape_elements(const kinds_world* w)
{
	size_t elements = 1;
	for (int64_t axis = 0; axis < w->rank; axis++) elements *= (size_t)w->shape[axis];
	return elements;
}

size_t kinds_shape_bytes(const kinds_world* w)
{
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		if (dtypes[i].dtype == w->dtype) return kinds_shape_elements(w) * dtypes[i].bytes;
	return 0;
}

void kinds_shape(kinds_world* w, int64_t at_least, int64_t at_most)
{
	size_t type = below(w, sizeof dtypes / sizeof *dtypes);
	uint64_t left = (kinds_log_uniform(w, w->largest) + dtypes[type].bytes - 1) / dtypes[type].bytes;
	w->dtype = dtypes[type].dtype;
	w->rank = at_least + (int64_t)below(w, (uint64_t)(at_most - at_least + 1));
	for (int64_t axis = 0; axis < w->rank; axis++) {
		uint64_t extent = axis == w->rank - 1 ? left : kinds_log_uniform(w, left);
		w->shape[axis] = (int64_t)extent;
		left /= extent;
	}
	for (int64_t axis = w->rank - 1; axis > 0; axis--) { /* the last axis is not always the longest */
		int64_t other = (int64_t)below(w, (uint64_t)axis + 1), extent = w->shape[axis];
		w->shape[axis] = w->shape[other];
		w->shape[other] = extent;
	}
	if (w->rank > 0 && one_in(w, 64)) w->shape[below(w, (uint64_t)w->rank)] = 0;
	kinds_noted(w, kinds_shape_bytes(w));
}

tl_tensor* kinds_tensor(kinds_world* w, int64_t at_least, int64_t at_most)
{
	kinds_shape(w, at_least, at_most);
	tl_tensor* tensor = tl_tensor_empty(w->dtype, TL_DEVICE_CPU, w->rank, w->shape);
	CHECK(tensor != NULL);
	return tensor;
}

void* kinds_one_tensor(kinds_world* w) { return kinds_tensor(w, 0, KINDS_RANK); }

void* kinds_vec(kinds_world* w, int64_t length)
{
	void* vec = tl_vec_new(one_in(w, 2) ? (size_t)length : 0);
	CHECK(vec != NULL);
	for (int64_t i = 0; i < length; i++) CHECK_OK(tl_vec_push(vec, kinds_entry(w)));
	return vec;
}

void* kinds_plain(kinds_world* w)
{
	void* object = tl_mem_new(kinds_bytes(w));
	CHECK(object != NULL);
	return object;
}

static void* typed(kinds_world* w)
{
	const tl_type types[] = {kinds_fields, kinds_leaf, kinds_destroyed};
	tl_type type = types[below(w, 3)];
	void** object = tl_object_new(type);
	CHECK(object != NULL);
	if (type != kinds_leaf && one_in(w, 2)) *object = tl_ptr_acquire(kinds_entry(w));
	return object;
}

void* kinds_object(kinds_world* w)
{
	switch (below(w, 5)) {
	case 0: return kinds_vec(w, one_in(w, 2) ? 4 : 0);
	case 1: return kinds_one_tensor(w);
	case 2:
	case 3: return typed(w);
	default: return kinds_plain(w);
	}
}

void* kinds_any(kinds_world* w)
{
	if (!one_in(w, 6)) return kinds_object(w);
	void* block = malloc(kinds_bytes(w) + 8);
	CHECK_OK(tl_mem_register_struct(block));
	return block;
}

void* kinds_entry(kinds_world* w) { return w->entries[below(w, (uint64_t)w->entry_count)]; }

void kinds_let_go(kinds_world* w, void* object)
{
	if (object != NULL) object = atomic_exchange(&(*w->held)[below(w, KINDS_HELD)], object);
	if (object != NULL) CHECK_OK(tl_ptr_release(object));
}

void kinds_drop(kinds_world* w, void* object)
{
	if (object == NULL) return;
	CHECK_OK(tl_mem_unregister(object));
	kinds_let_go(w, object);
}

void* kinds_loose(kinds_world* w, void* (*make)(kinds_world* w))
{
	void* object = NULL;
	while (object == NULL) {
		object = make(w);
		CHECK_OK(tl_mem_unregister(object));
		object = atomic_exchange(&(*w->held)[below(w, KINDS_HELD)], object);
	}
	return object;
}

void* kinds_nobody(kinds_world* w)
{
	return one_in(w, 2) ? (void*)w : (char*)kinds_entry(w) + 1; /* on the stack; inside an object */
}

void kinds_release_held(kinds_held* held)
{
	for (int i = 0; i < KINDS_HELD; i++) {
		void* object = atomic_exchange(&(*held)[i], NULL);
		if (object != NULL) CHECK_OK(tl_ptr_release(object));
	}
}

/* One in sixteen is malloc's. */
static void* new_entry(kinds_world* w)
{
	size_t bytes = 16 + below(w, 200);
	if (!one_in(w, 16)) return tl_mem_new(bytes);
	void* block = malloc(bytes);
	CHECK_OK(tl_mem_register_struct(block));
	return block;
}

void kinds_open_scope(kinds_world* w, int64_t entries)
{
	w->touched = 0;
	w->entry_count = entries;
	CHECK_OK(tl_mem_enter_scope());
	for (int64_t i = 0; i < entries; i++) w->entries[i] = new_entry(w);
	CHECK(w->entries[entries - 1] != NULL);
}

void kinds_end_lasting(kinds_world* w)
{
	for (int i = 0; i < KINDS_HELD; i++) {
		if (w->pool_blocks[i] != NULL) CHECK_OK(tl_memory_pool_deallocate(kinds_pool, w->pool_blocks[i]));
		tl_numpy_free(NULL, w->numpy_blocks[i], 0);
		w->pool_blocks[i] = w->numpy_blocks[i] = NULL;
	}
	if (w->workspace != NULL) CHECK_OK(tl_workspace_destroy(w->workspace));
	if (w->array != NULL) CHECK_OK(tl_registry_unregister(w->array));
	w->workspace = NULL;
	w->array = NULL;
}

void kinds_close_scope(kinds_world* w)
{
	kinds_end_lasting(w);
	w->vec = w->object = NULL;
	w->sparse = NULL;
	CHECK_OK(tl_mem_exit_scope());
}
