/* Random, near and stale pointers through every function that takes one: no crash,
 * none accepted, and the live objects beside them are untouched. The calls that
 * adopt malloc'ed memory are tested in adopt_test.c.
 *
 *     pointers_test [pointers] [seed]
 */
#include <stdatomic.h>

#include "check.h"
#include "thread.h"

enum { LIVE = 64, STALE = 256 };

static void* live[LIVE];
static void* stale[STALE];
static tl_type pair_type;
static void *vec, *foreign;
static void* parts[LIVE]; /* memory that live objects own: no objects of the user's */

typedef bool (*refusal)(void* pointer);

#define REFUSES_STATUS(name) \
	static bool refuses_##name(void* p) { return name(p) != TL_OK; }
#define REFUSES_WITH(name, call, value) \
	static bool refuses_##name(void* p) { return (call) == (value) && tl_last_status() != TL_OK; }

REFUSES_STATUS(tl_ptr_release)
REFUSES_STATUS(tl_ptr_inc_ref)
REFUSES_STATUS(tl_ptr_check)
REFUSES_STATUS(tl_ptr_share)
REFUSES_STATUS(tl_ptr_make_immortal)
REFUSES_STATUS(tl_mem_register_ptr)
REFUSES_STATUS(tl_mem_register_tensor)
REFUSES_STATUS(tl_mem_register_vec_ptr)
REFUSES_STATUS(tl_mem_unregister)
REFUSES_STATUS(tl_mem_free)
REFUSES_STATUS(tl_mem_dealloc)
REFUSES_STATUS(tl_free_tmp)
REFUSES_STATUS(tl_vec_clear)
REFUSES_STATUS(tl_tensor_release)
REFUSES_STATUS(tl_tensor_release_safe)
REFUSES_STATUS(tl_tensor_register)
REFUSES_STATUS(tl_tensor_promote)
REFUSES_STATUS(tl_tensor_free)
REFUSES_WITH(tl_ref_of, tl_ref_of(p), 0)
REFUSES_WITH(tl_weak_of, tl_weak_of(p), 0)
REFUSES_WITH(tl_weak_share, tl_weak_share(p), 0)
REFUSES_WITH(tl_ptr_acquire, tl_ptr_acquire(p), p)
REFUSES_WITH(tl_ptr_dec_ref, tl_ptr_dec_ref(p), 0)
REFUSES_WITH(tl_ptr_release_bool, tl_ptr_release_bool(p), false)
REFUSES_WITH(tl_ptr_refcount, tl_ptr_refcount(p), -1)
REFUSES_WITH(tl_mem_realloc, tl_mem_realloc(p, 100), NULL)
REFUSES_WITH(tl_ptr_reuse, tl_ptr_reuse(p, 100), NULL)
REFUSES_WITH(tl_mem_usable_size, tl_mem_usable_size(p), 0)
REFUSES_WITH(tl_mem_deep_clone, tl_mem_deep_clone(p), NULL)
REFUSES_WITH(tl_vec_push, tl_vec_push(p, NULL) == TL_OK, false)
REFUSES_WITH(tl_vec_set, tl_vec_set(p, 0, NULL) == TL_OK, false)
REFUSES_WITH(tl_vec_get, tl_vec_get(p, 0), NULL)
REFUSES_WITH(tl_vec_pop, tl_vec_pop(p), NULL)
REFUSES_WITH(tl_vec_len, tl_vec_len(p), -1)
REFUSES_WITH(tl_vec_reserve, tl_vec_reserve(p, 8) == TL_OK, false)
REFUSES_WITH(tl_tensor_data, tl_tensor_data(p), NULL)
REFUSES_WITH(tl_tensor_nbytes, tl_tensor_nbytes(p), 0)
REFUSES_WITH(tl_tensor_numel, tl_tensor_numel(p), -1)
REFUSES_WITH(tl_tensor_len, tl_tensor_len(p), -1)
REFUSES_WITH(tl_tensor_rank, tl_tensor_rank(p), -1)
REFUSES_WITH(tl_tensor_shape, tl_tensor_shape(p), NULL)
REFUSES_WITH(tl_tensor_strides, tl_tensor_strides(p), NULL)
REFUSES_WITH(tl_tensor_dtype, tl_tensor_dtype(p), -1)
REFUSES_WITH(tl_tensor_device, tl_tensor_device(p), -1)
REFUSES_WITH(tl_tensor_is_contiguous, tl_tensor_is_contiguous(p), false)
REFUSES_WITH(tl_tensor_dim, tl_tensor_dim(p, 0), -1)
REFUSES_WITH(tl_tensor_clone, tl_tensor_clone(p), NULL)
REFUSES_WITH(tl_tensor_acquire, tl_tensor_acquire(p), p)
REFUSES_WITH(tl_tensor_prepare_return, tl_tensor_prepare_return(p) != NULL, true)
static const int64_t one = 1, zero = 0;
static tl_tensor_info info = {.struct_size = sizeof info};
REFUSES_WITH(tl_tensor_info_get, tl_tensor_info_get(p, &info) == TL_OK, false)
REFUSES_WITH(tl_tensor_base, tl_tensor_base(p), NULL)
REFUSES_WITH(tl_view_reshape, tl_view_reshape(p, 1, &one), NULL)
REFUSES_WITH(tl_view_slice, tl_view_slice(p, 0, 0, 1, 1), NULL)
REFUSES_WITH(tl_view_slice_axes, tl_view_slice_axes(p, 1, &zero, &one, NULL), NULL)
REFUSES_WITH(tl_view_transpose, tl_view_transpose(p, 0, 0), NULL)
REFUSES_WITH(tl_view_permute, tl_view_permute(p, 1, &zero), NULL)
REFUSES_WITH(tl_view_broadcast_to, tl_view_broadcast_to(p, 1, &one), NULL)
REFUSES_WITH(tl_view_squeeze, tl_view_squeeze(p, 0), NULL)
REFUSES_WITH(tl_view_expand_dims, tl_view_expand_dims(p, 0), NULL)
REFUSES_WITH(tl_tensor_to_dlpack, tl_tensor_to_dlpack(p, false), NULL)
REFUSES_WITH(tl_tensor_to_dlpack_legacy, tl_tensor_to_dlpack_legacy(p, true), NULL)
REFUSES_WITH(tl_pool_release, tl_pool_release(p, 16, 0, 0) == TL_OK, false)
REFUSES_WITH(tl_pool_release_compat, tl_pool_release_compat(p, 16) == TL_OK, false)
static tl_sparse_info matrix_info = {.struct_size = sizeof matrix_info};
static tl_sparse_block_info block_info = {.struct_size = sizeof block_info};
static tl_tensor* part;
REFUSES_STATUS(tl_sparse_validate)
REFUSES_WITH(tl_sparse_row, tl_sparse_row(p, 0, NULL, NULL, NULL) == TL_OK, false)
REFUSES_WITH(tl_sparse_slice, tl_sparse_slice(p, 0, 1), NULL)
REFUSES_WITH(tl_sparse_transpose, tl_sparse_transpose(p), NULL)
REFUSES_WITH(tl_sparse_info_get, tl_sparse_info_get(p, &matrix_info) == TL_OK, false)
REFUSES_WITH(tl_sparse_block, tl_sparse_block(p, 0, &block_info) == TL_OK, false)
REFUSES_WITH(tl_sparse_to_contiguous, tl_sparse_to_contiguous(p, &part, &part, &part) == TL_OK, false)
REFUSES_WITH(tl_sparse_block_tensors, tl_sparse_block_tensors(p, 0, &part, &part, &part) == TL_OK, false)

static bool refuses_as_element(void* p) { return tl_vec_push(vec, p) != TL_OK && tl_vec_set(vec, 0, p) != TL_OK; }

static bool refuses_tl_arena_contains(void* p) { return !tl_arena_contains(p); }

#define NAMED(name) {#name, refuses_##name}
static const struct {
	const char* name;
	refusal refuses;
} functions[] = {
	NAMED(tl_ptr_release),
	NAMED(tl_ptr_inc_ref),
	NAMED(tl_ptr_check),
	NAMED(tl_ptr_share),
	NAMED(tl_ptr_make_immortal),
	NAMED(tl_mem_register_ptr),
	NAMED(tl_mem_register_tensor),
	NAMED(tl_mem_register_vec_ptr),
	NAMED(tl_mem_unregister),
	NAMED(tl_mem_free),
	NAMED(tl_mem_dealloc),
	NAMED(tl_free_tmp),
	NAMED(tl_vec_clear),
	NAMED(tl_tensor_release),
	NAMED(tl_tensor_release_safe),
	NAMED(tl_tensor_register),
	NAMED(tl_tensor_promote),
	NAMED(tl_tensor_free),
	NAMED(tl_ref_of),
	NAMED(tl_weak_of),
	NAMED(tl_weak_share),
	NAMED(tl_ptr_acquire),
	NAMED(tl_ptr_dec_ref),
	NAMED(tl_ptr_release_bool),
	NAMED(tl_ptr_refcount),
	NAMED(tl_mem_realloc),
	NAMED(tl_ptr_reuse),
	NAMED(tl_mem_usable_size),
	NAMED(tl_mem_deep_clone),
	NAMED(tl_vec_push),
	NAMED(tl_vec_set),
	NAMED(tl_vec_get),
	NAMED(tl_vec_pop),
	NAMED(tl_vec_len),
	NAMED(tl_vec_reserve),
	NAMED(tl_tensor_data),
	NAMED(tl_tensor_nbytes),
	NAMED(tl_tensor_numel),
	NAMED(tl_tensor_len),
	NAMED(tl_tensor_rank),
	NAMED(tl_tensor_shape),
	NAMED(tl_tensor_strides),
	NAMED(tl_tensor_dtype),
	NAMED(tl_tensor_device),
	NAMED(tl_tensor_is_contiguous),
	NAMED(tl_tensor_dim),
	NAMED(tl_tensor_clone),
	NAMED(tl_tensor_acquire),
	NAMED(tl_tensor_prepare_return),
	NAMED(tl_pool_release),
	NAMED(tl_tensor_info_get),
	NAMED(tl_tensor_base),
	NAMED(tl_view_reshape),
	NAMED(tl_view_slice),
	NAMED(tl_view_slice_axes),
	NAMED(tl_view_transpose),
	NAMED(tl_view_permute),
	NAMED(tl_view_broadcast_to),
	NAMED(tl_view_squeeze),
	NAMED(tl_view_expand_dims),
	NAMED(tl_tensor_to_dlpack),
	NAMED(tl_tensor_to_dlpack_legacy),
	NAMED(tl_sparse_validate),
	NAMED(tl_sparse_row),
	NAMED(tl_sparse_slice),
	NAMED(tl_sparse_transpose),
	NAMED(tl_sparse_info_get),
	NAMED(tl_sparse_block),
	NAMED(tl_sparse_to_contiguous),
	NAMED(tl_sparse_block_tensors),
	NAMED(tl_pool_release_compat),
	NAMED(as_element),
	NAMED(tl_arena_contains),
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static bool is_live(void* pointer)
{
	for (int i = 0; i < LIVE; i++)
		if (live[i] == pointer) return true;
	return pointer == vec || pointer == foreign || pointer == NULL;
}

/* One pointer of a kind that the draw decides; live starts are never returned. */
static void* bad_pointer(uint64_t draw)
{
	uintptr_t base = (uintptr_t)live[(draw >> 8) % LIVE];
	uintptr_t wide = (uintptr_t)(draw >> 20);
	uintptr_t p;
	switch (draw % 11) {
	case 0: p = (uintptr_t)(draw * UINT64_C(0x9E3779B97F4A7C15)); break;
	case 1: p = wide % 8192; break;
	case 2: p = base + wide % 129 - 64; break;
	case 3: p = (base & ~(uintptr_t)65535) + (wide % 65536 & ~(uintptr_t)31); break;
	case 4: p = base + ((wide % (1 << 22)) & ~(uintptr_t)31) - (1 << 21); break;
	case 5: p = (uintptr_t)&p + wide % 4096 - 2048; break;
	case 6: p = (uintptr_t)foreign + wide % 200 - 100; break;
	case 7: p = (base ^ (uintptr_t)1 << (wide % 48)); break;
	case 8: p = (uintptr_t)vec + (wide % 2048) * 32; break;
	case 9: p = (uintptr_t)parts[wide % LIVE]; break;
	default: p = (uintptr_t)stale[wide % STALE];
	}
	return is_live((void*)p) ? (void*)((uintptr_t)1 << 62) : (void*)p;
}

static void make_live_objects(void)
{
	static const size_t sizes[] = {24, 64, 96, 320, 1024, 5000, 65536, 300000};
	int64_t shape = 16;
	for (int i = 0; i < STALE; i++) stale[i] = tl_mem_alloc(sizes[i % 8]);
	for (int i = 0; i < LIVE; i++)
		live[i] = i % 4 == 0   ? tl_mem_alloc(sizes[i % 7])
		          : i % 4 == 1 ? tl_mem_new(sizes[i % 8])
		          : i % 4 == 2 ? tl_object_new(pair_type)
		                       : (void*)tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 1, &shape);
	for (int i = 0; i < LIVE; i++) parts[i] = i % 4 == 3 ? tl_tensor_data(live[i]) : (void*)((char*)live[i] + 8);
	for (int i = 0; i < STALE; i++) CHECK_OK(tl_ptr_release(stale[i]));
	vec = tl_vec_new(4);
	CHECK_OK(tl_vec_push(vec, NULL));
	foreign = malloc(64);
	CHECK_OK(tl_mem_register_struct(foreign));
}

static void drop_live_objects(void)
{
	for (int i = 0; i < LIVE; i += 4) CHECK_OK(tl_ptr_release(live[i]));
	memset(live, 0, sizeof live);
	memset(stale, 0, sizeof stale);
	vec = foreign = NULL;
}

static void check_untouched(void)
{
	for (int i = 0; i < LIVE; i++) CHECK_COUNT(live[i], 1);
	CHECK_COUNT(vec, 1);
	CHECK_INT(tl_vec_len(vec), 1);
	CHECK_COUNT(foreign, 1);
}

static void feed(int64_t pointers, uint64_t random)
{
	int accepted = 0;
	check_balance before = check_take_balance();
	for (int64_t i = 0; i < pointers; i++) {
		uint64_t draw = check_random(&random);
		void* pointer = bad_pointer(draw);
		int which = (int)((uint64_t)i % FUNCTIONS);
		if (pointer == NULL || functions[which].refuses(pointer)) continue;
		if (accepted++ < 10)
			fprintf(stderr, "%s accepted %p (kind %d)\n", functions[which].name, pointer, (int)(draw % 11));
	}
	CHECK_INT(accepted, 0);
	check_untouched();
	check_same_balance(before, "after bad pointers");
}

/* Every address of the first page, and none of the heap's neighbours, while the
 * collector of the slow path runs. */
static atomic_bool stop;

static void* keep_the_slow_path_busy(void* unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 100; i++) tl_object_new(pair_type);
		CHECK_OK(tl_mem_exit_scope());
		tl_last_error();
	}
	return NULL;
}

static void the_first_page(void)
{
	pthread_t thread;
	int accepted = 0;
	atomic_store(&stop, false);
	thread = start_thread(keep_the_slow_path_busy, NULL);
	for (uintptr_t p = 1; p < 4096; p++)
		for (int i = 0; i < FUNCTIONS; i++) {
			accepted += !functions[i].refuses((void*)p);
			if (i == 0) CHECK(tl_last_error()[0] != '\0');
		}
	CHECK_INT(accepted, 0);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

int main(int argc, char** argv)
{
	static const size_t offset = 0;
	tl_type_desc desc = {.name = "pair", .size = 64, .pointer_offsets = &offset, .num_pointers = 1};
	int64_t pointers = argc > 1 ? strtoll(argv[1], NULL, 0) : 1000000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("seed %" PRIu64 ", %" PRId64 " pointers\n", seed, pointers);
	CHECK_OK(tl_type_define(&desc, &pair_type));
	CHECK_OK(tl_mem_enter_scope());
	make_live_objects();
	feed(pointers, seed);
	the_first_page();
	check_untouched();
	drop_live_objects();
	CHECK_OK(tl_mem_exit_scope());
	return check_finish();
}
