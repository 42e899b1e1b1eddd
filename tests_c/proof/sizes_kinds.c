/* The functions that take a size or a count. */
#include "sizes.h"

enum { ARENA = 64 << 20, SLOTS = 4, MOST = 2 << 20 };

static tl_memory_pool* pool;

static bool got(block* out, void* owner, void* at)
{
	*out = (block){owner, at};
	return at != NULL;
}

static bool got_memory(block* out, void* memory) { return got(out, memory, memory); }

/* ---- objects --------------------------------------------------------------------------- */

static bool alloc(size_t bytes, block* out) { return got_memory(out, tl_mem_alloc(bytes)); }
static bool alloc_to_a_page(size_t bytes, block* out) { return got_memory(out, tl_mem_aligned_alloc(bytes, 4096)); }
static bool reused(size_t bytes, block* out) { return got_memory(out, tl_ptr_reuse(tl_mem_alloc(bytes), bytes)); }
static bool cell_new(size_t bytes, block* out) { return got_memory(out, tl_cell_new(bytes)); }
static bool new_(size_t bytes, block* out) { return got_memory(out, tl_mem_new(bytes)); }
static bool new_zeroed(size_t bytes, block* out) { return got_memory(out, tl_mem_new_zeroed(bytes)); }
static bool alloc_tmp(size_t bytes, block* out) { return got_memory(out, tl_alloc_tmp((int64_t)bytes)); }
static bool arena_malloc(size_t bytes, block* out) { return got_memory(out, tl_arena_malloc((int64_t)bytes)); }

static bool object_new(size_t bytes, block* out)
{
	tl_type_desc desc = {.name = "sized", .size = bytes};
	tl_type type;
	return tl_type_define(&desc, &type) == TL_OK && got_memory(out, tl_object_new(type));
}

static void release(block of, size_t bytes)
{
	(void)bytes;
	CHECK_OK(tl_ptr_release(of.owner));
}

static void free_cell(block of, size_t bytes)
{
	(void)bytes;
	CHECK_OK(tl_cell_free(of.owner));
}

static void free_tmp(block of, size_t bytes)
{
	(void)bytes;
	CHECK_OK(tl_free_tmp(of.owner));
}

/* The scope holds it. */
static void out_of_scope(block of, size_t bytes)
{
	CHECK_OK(tl_mem_unregister(of.owner));
	release(of, bytes);
}

/* The copy is what is written to, and the scope has the original. */
static bool deep_cloned(size_t bytes, block* out)
{
	block original;
	return object_new(bytes, &original) && got_memory(out, tl_mem_deep_clone(original.owner));
}

/* What is refused stays as it was. */
static bool moved(block* of, void* to) { return to != NULL && got_memory(of, to); }

static bool grow(block* of, size_t bytes) { return moved(of, tl_mem_realloc(of->owner, bytes)); }

/* ---- stacks ------------------------------------------------------------------------------ */

static bool arena(size_t bytes, block* out) { return got_memory(out, tl_arena_alloc((int64_t)bytes)); }
static bool frame(size_t bytes, block* out) { return got_memory(out, tl_mem_frame_enter(bytes)); }
static void with_the_scope(block of, size_t bytes) { (void)of, (void)bytes; }

static bool slot(size_t bytes, block* out)
{
	CHECK_OK(tl_mem_function_enter(SLOTS));
	return got_memory(out, tl_mem_get_buffer(SLOTS - 1, (int64_t)bytes));
}

static bool slot_tensor(size_t bytes, block* out)
{
	const int64_t shape = (int64_t)bytes;
	CHECK_OK(tl_mem_function_enter(SLOTS));
	tl_tensor* tensor = tl_tensor_in_slot(0, TL_DTYPE_U8, 1, &shape);
	return got(out, tensor, tl_tensor_data(tensor));
}

/* ---- tensors ------------------------------------------------------------------------------ */

static bool empty(size_t bytes, block* out)
{
	const int64_t shape = (int64_t)bytes;
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape);
	return got(out, tensor, tl_tensor_data(tensor));
}

/* With room, and so many of it in use. */
static bool reserved(size_t bytes, block* out)
{
	const int64_t none = 0;
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &none);
	if (tensor == NULL || tl_tensor_reserve(tensor, (int64_t)bytes) != TL_OK) return false;
	CHECK_OK(tl_tensor_resize(tensor, (int64_t)bytes));
	return got(out, tensor, tl_tensor_data(tensor));
}

static bool resize_tensor(block* of, size_t bytes)
{
	return tl_tensor_resize(of->owner, (int64_t)bytes) == TL_OK && got(of, of->owner, tl_tensor_data(of->owner));
}

static bool zeros(size_t bytes, block* out)
{
	const int64_t shape[2] = {(int64_t)bytes / 8, 1};
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, shape);
	return got(out, tensor, tl_tensor_data(tensor));
}

static float* values; /* what tensors are made of */

static bool new_tensor(size_t bytes, block* out)
{
	const int64_t shape = (int64_t)bytes / 4;
	tl_tensor* tensor = tl_tensor_new(values, 1, &shape);
	return got(out, tensor, tl_tensor_data(tensor)) && memcmp(out->at, values, bytes) == 0;
}

static bool new_i64(size_t bytes, block* out)
{
	const int64_t shape = (int64_t)bytes / 8;
	tl_tensor* tensor = tl_tensor_new_i64((const int64_t*)values, 1, &shape);
	return got(out, tensor, tl_tensor_data(tensor)) && memcmp(out->at, values, bytes) == 0;
}

static bool cloned(size_t bytes, block* out)
{
	const int64_t shape = (int64_t)bytes;
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_I8, TL_DEVICE_CPU, 1, &shape);
	tl_tensor* copy = tl_tensor_clone(tensor);
	return got(out, copy, tl_tensor_data(copy));
}

/* Out of the pool, where one is put before. What the pool does not keep comes from the heap. */
static bool pooled(size_t bytes, block* out)
{
	block first;
	CHECK(empty(bytes, &first) && tl_mem_unregister(first.owner) == TL_OK);
	CHECK_OK(tl_pool_release(first.owner, bytes, TL_DTYPE_U8, 0));
	tl_tensor* tensor = tl_pool_acquire(bytes, TL_DTYPE_U8, 0);
	if (tensor == NULL) return empty(bytes, out) && tl_mem_unregister(out->owner) == TL_OK;
	return got(out, tensor, tl_tensor_data(tensor));
}

static void to_pool(block of, size_t bytes) { CHECK_OK(tl_pool_release(of.owner, bytes, TL_DTYPE_U8, 0)); }

static bool pooled_floats(size_t bytes, block* out)
{
	block first;
	CHECK(new_tensor(bytes, &first) && tl_mem_unregister(first.owner) == TL_OK);
	CHECK_OK(tl_pool_release_compat(first.owner, bytes / 4));
	tl_tensor* tensor = tl_pool_acquire_compat(bytes / 4);
	if (tensor == NULL) return new_tensor(bytes, out) && tl_mem_unregister(out->owner) == TL_OK;
	return got(out, tensor, tl_tensor_data(tensor));
}

static void floats_to_pool(block of, size_t bytes) { CHECK_OK(tl_pool_release_compat(of.owner, bytes / 4)); }

/* Lines of one nonzero each: values of eight bytes, in one block. */
static bool sparse(size_t bytes, block* out)
{
	const int64_t length = (int64_t)bytes / 8;
	void *values, *indices;
	int64_t found;
	tl_sparse* matrix = tl_sparse_create(TL_SPARSE_CSR, 1, length, TL_DTYPE_F64, TL_DTYPE_I32, &length, NULL);
	if (matrix == NULL || tl_sparse_row(matrix, 0, &values, &indices, &found) != TL_OK) return false;
	CHECK_INT(found, length);
	return got(out, matrix, values);
}

/* ---- memory of the C library ----------------------------------------------------------------- */

static bool new_array(size_t bytes, block* out) { return got_memory(out, tl_registry_new_array(bytes, 1)); }
static bool new_array_of_words(size_t bytes, block* out)
{
	return got_memory(out, tl_registry_new_array(bytes / 8, 8));
}
static bool aligned(size_t bytes, block* out) { return got_memory(out, tl_aligned_alloc(bytes, 64)); }
static bool aligned_to_a_page(size_t bytes, block* out) { return got_memory(out, tl_aligned_alloc(bytes, 4096)); }

static void unregister(block of, size_t bytes)
{
	tl_alloc_info info = {.struct_size = sizeof info};
	CHECK_OK(tl_registry_info(of.owner, &info));
	CHECK_INT(info.bytes, bytes);
	CHECK_OK(tl_registry_unregister(of.owner));
}

static void aligned_free(block of, size_t bytes)
{
	(void)bytes;
	CHECK_OK(tl_aligned_free(of.owner));
}

/* The last of three blocks: nothing lies behind it. */
static bool workspace(size_t bytes, block* out)
{
	tl_workspace* made = NULL;
	return tl_workspace_create(3, bytes, 64, &made) == TL_OK && got(out, made, tl_workspace_get(made, 2));
}

static void end_workspace(block of, size_t bytes)
{
	CHECK(tl_workspace_bytes(of.owner) >= bytes);
	CHECK_OK(tl_workspace_destroy(of.owner));
}

static bool numpy(size_t bytes, block* out) { return got_memory(out, tl_numpy_malloc(NULL, bytes)); }
static bool numpy_zeroed(size_t bytes, block* out) { return got_memory(out, tl_numpy_calloc(NULL, bytes, 1)); }
static bool numpy_words(size_t bytes, block* out) { return got_memory(out, tl_numpy_calloc(NULL, bytes / 8, 8)); }
static bool numpy_resize(block* of, size_t bytes) { return moved(of, tl_numpy_realloc(NULL, of->owner, bytes)); }
static void numpy_free(block of, size_t bytes) { tl_numpy_free(NULL, of.owner, bytes); }

/* ---- pools and devices ------------------------------------------------------------------------- */

static bool from_pool(size_t bytes, block* out) { return got_memory(out, tl_memory_pool_allocate(pool, bytes)); }
static bool from_pool_in_stream(size_t bytes, block* out)
{
	return got_memory(out, tl_memory_pool_allocate_async(pool, bytes, NULL));
}
static void to_memory_pool(block of, size_t bytes) { (void)bytes, CHECK_OK(tl_memory_pool_deallocate(pool, of.owner)); }

/* The driver of the tests' own tells addresses of malloc's memory with one bit more. */
static bool torch(size_t bytes, block* out)
{
	const uintptr_t far_away = (uintptr_t)1 << 62;
	void* memory = tl_torch_malloc((int64_t)bytes, 0, NULL);
	return got(out, memory, memory != NULL ? (char*)memory - far_away : NULL);
}

static void torch_free(block of, size_t bytes) { tl_torch_free(of.owner, (int64_t)bytes, 0, NULL); }

static bool from_device(size_t bytes, block* out)
{
	const tl_device_allocator* cpu = tl_device_allocator_for(TL_DEVICE_CPU);
	return got_memory(out, cpu->allocate(cpu->ctx, bytes));
}

static void to_device(block of, size_t bytes)
{
	const tl_device_allocator* cpu = tl_device_allocator_for(TL_DEVICE_CPU);
	tl_clear_error();
	cpu->deallocate(cpu->ctx, of.owner, bytes);
	CHECK_OK(tl_last_status());
}

const kind kinds[] = {
	{"tl_mem_alloc", alloc, release, grow, 0, 0, 32, false, true},
	{"tl_mem_aligned_alloc", alloc_to_a_page, release, NULL, 0, 0, 4096, false, true},
	{"tl_ptr_reuse", reused, release, grow, 0, 0, 32, false, true},
	{"tl_cell_new", cell_new, free_cell, NULL, 0, 0, 16, false, true},
	{"tl_mem_new", new_, out_of_scope, grow, 0, 0, 32, false, true},
	{"tl_mem_new_zeroed", new_zeroed, out_of_scope, grow, 0, 0, 32, true, true},
	{"tl_alloc_tmp", alloc_tmp, free_tmp, NULL, 0, 0, 32, false, true},
	{"tl_object_new", object_new, out_of_scope, NULL, 0, 0, 32, true, true},
	{"tl_mem_deep_clone", deep_cloned, release, NULL, 0, 0, 32, false, true},
	{"tl_arena_alloc", arena, with_the_scope, NULL, ARENA / 4, 0, 64, false, false},
	{"tl_arena_malloc", arena_malloc, with_the_scope, NULL, ARENA / 4, 0, 64, false, false},
	{"tl_mem_frame_enter", frame, with_the_scope, NULL, 1 << 20, 0, 64, false, false},
	{"tl_mem_get_buffer", slot, with_the_scope, NULL, 1 << 20, 0, 64, false, false},
	{"tl_tensor_in_slot", slot_tensor, with_the_scope, NULL, 1 << 20, 0, 64, false, false},
	{"tl_tensor_empty", empty, out_of_scope, NULL, 0, 0, 64, false, true},
	{"tl_tensor_reserve", reserved, out_of_scope, resize_tensor, 0, 0, 64, false, false},
	{"tl_tensor_new_zeroed", zeros, out_of_scope, NULL, 0, 8, 64, true, true},
	{"tl_tensor_new", new_tensor, out_of_scope, NULL, MOST, 4, 64, false, true},
	{"tl_tensor_new_i64", new_i64, out_of_scope, NULL, MOST, 8, 64, false, true},
	{"tl_tensor_clone", cloned, out_of_scope, NULL, 0, 0, 64, false, true},
	{"tl_pool_acquire", pooled, to_pool, NULL, 0, 0, 64, false, true},
	{"tl_pool_acquire_compat", pooled_floats, floats_to_pool, NULL, MOST, 4, 64, false, true},
	{"tl_sparse_create", sparse, out_of_scope, NULL, 0, 8, 8, false, false},
	{"tl_registry_new_array", new_array, unregister, NULL, 0, 0, 64, false, false},
	{"tl_registry_new_array of words", new_array_of_words, unregister, NULL, 0, 8, 64, false, false},
	{"tl_aligned_alloc", aligned, aligned_free, NULL, 0, 0, 64, false, false},
	{"tl_aligned_alloc to a page", aligned_to_a_page, aligned_free, NULL, 0, 0, 4096, false, false},
	{"tl_workspace_create", workspace, end_workspace, NULL, 0, 0, 64, false, false},
	{"tl_numpy_malloc", numpy, numpy_free, numpy_resize, 0, 0, 32, false, true},
	{"tl_numpy_calloc", numpy_zeroed, numpy_free, numpy_resize, 0, 0, 32, true, true},
	{"tl_numpy_calloc of words", numpy_words, numpy_free, NULL, 0, 8, 32, true, true},
	{"tl_memory_pool_allocate", from_pool, to_memory_pool, NULL, 0, 0, 64, false, false},
	{"tl_memory_pool_allocate_async", from_pool_in_stream, to_memory_pool, NULL, 0, 0, 64, false, false},
	{"tl_torch_malloc", torch, torch_free, NULL, 0, 0, 64, false, false},
	{"tl_device_allocator_for", from_device, to_device, NULL, 0, 0, 4096, true, false},
};
const int kind_count = sizeof kinds / sizeof *kinds;

void kinds_open(void)
{
	setenv("TL_CUDA_LIBRARY", FAKE_CUDA, 1);
	values = malloc(MOST);
	for (size_t i = 0; i < MOST / sizeof *values; i++) values[i] = (float)i;
	CHECK_OK(tl_arena_init(ARENA));
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), 1 << 20, &pool));
}

void kinds_close(void)
{
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_OK(tl_arena_free());
	free(values);
}
