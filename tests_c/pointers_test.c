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

static const int64_t one = 1, zero = 0;
static tl_tensor_info info = {.struct_size = sizeof info};
static tl_sparse_info matrix_info = {.struct_size = sizeof matrix_info};
static tl_sparse_block_info block_info = {.struct_size = sizeof block_info};
static tl_tensor* part;

#define GIVES(call, value) ((call) == (value) && tl_last_status() != TL_OK)
#define FAILS(call) GIVES((call) == TL_OK, false)

#define EACH_FUNCTION(X)                                                                  \
	X(tl_ptr_release, FAILS(tl_ptr_release(p)))                                           \
	X(tl_ptr_inc_ref, FAILS(tl_ptr_inc_ref(p)))                                           \
	X(tl_ptr_check, FAILS(tl_ptr_check(p)))                                               \
	X(tl_ptr_share, FAILS(tl_ptr_share(p)))                                               \
	X(tl_ptr_make_immortal, FAILS(tl_ptr_make_immortal(p)))                               \
	X(tl_mem_register_ptr, FAILS(tl_mem_register_ptr(p)))                                 \
	X(tl_mem_register_tensor, FAILS(tl_mem_register_tensor(p)))                           \
	X(tl_mem_register_vec_ptr, FAILS(tl_mem_register_vec_ptr(p)))                         \
	X(tl_mem_unregister, FAILS(tl_mem_unregister(p)))                                     \
	X(tl_mem_free, FAILS(tl_mem_free(p)))                                                 \
	X(tl_mem_dealloc, FAILS(tl_mem_dealloc(p)))                                           \
	X(tl_free_tmp, FAILS(tl_free_tmp(p)))                                                 \
	X(tl_vec_clear, FAILS(tl_vec_clear(p)))                                               \
	X(tl_tensor_release, FAILS(tl_tensor_release(p)))                                     \
	X(tl_tensor_release_safe, FAILS(tl_tensor_release_safe(p)))                           \
	X(tl_tensor_register, FAILS(tl_tensor_register(p)))                                   \
	X(tl_tensor_promote, FAILS(tl_tensor_promote(p)))                                     \
	X(tl_tensor_free, FAILS(tl_tensor_free(p)))                                           \
	X(tl_ref_of, GIVES(tl_ref_of(p), 0))                                                  \
	X(tl_weak_of, GIVES(tl_weak_of(p), 0))                                                \
	X(tl_weak_share, GIVES(tl_weak_share(p), 0))                                          \
	X(tl_ptr_acquire, GIVES(tl_ptr_acquire(p), p))                                        \
	X(tl_ptr_dec_ref, GIVES(tl_ptr_dec_ref(p), 0))                                        \
	X(tl_ptr_release_bool, GIVES(tl_ptr_release_bool(p), false))                          \
	X(tl_ptr_refcount, GIVES(tl_ptr_refcount(p), -1))                                     \
	X(tl_mem_realloc, GIVES(tl_mem_realloc(p, 100), NULL))                                \
	X(tl_ptr_reuse, GIVES(tl_ptr_reuse(p, 100), NULL))                                    \
	X(tl_mem_usable_size, GIVES(tl_mem_usable_size(p), 0))                                \
	X(tl_mem_deep_clone, GIVES(tl_mem_deep_clone(p), NULL))                               \
	X(tl_vec_push, FAILS(tl_vec_push(p, NULL)))                                           \
	X(tl_vec_set, FAILS(tl_vec_set(p, 0, NULL)))                                          \
	X(tl_vec_get, GIVES(tl_vec_get(p, 0), NULL))                                          \
	X(tl_vec_pop, GIVES(tl_vec_pop(p), NULL))                                             \
	X(tl_vec_len, GIVES(tl_vec_len(p), -1))                                               \
	X(tl_vec_reserve, FAILS(tl_vec_reserve(p, 8)))                                        \
	X(tl_tensor_data, GIVES(tl_tensor_data(p), NULL))                                     \
	X(tl_tensor_nbytes, GIVES(tl_tensor_nbytes(p), 0))                                    \
	X(tl_tensor_numel, GIVES(tl_tensor_numel(p), -1))                                     \
	X(tl_tensor_len, GIVES(tl_tensor_len(p), -1))                                         \
	X(tl_tensor_rank, GIVES(tl_tensor_rank(p), -1))                                       \
	X(tl_tensor_shape, GIVES(tl_tensor_shape(p), NULL))                                   \
	X(tl_tensor_strides, GIVES(tl_tensor_strides(p), NULL))                               \
	X(tl_tensor_dtype, GIVES(tl_tensor_dtype(p), -1))                                     \
	X(tl_tensor_device, GIVES(tl_tensor_device(p), -1))                                   \
	X(tl_tensor_is_contiguous, GIVES(tl_tensor_is_contiguous(p), false))                  \
	X(tl_tensor_dim, GIVES(tl_tensor_dim(p, 0), -1))                                      \
	X(tl_tensor_clone, GIVES(tl_tensor_clone(p), NULL))                                   \
	X(tl_tensor_acquire, GIVES(tl_tensor_acquire(p), p))                                  \
	X(tl_tensor_prepare_return, GIVES(tl_tensor_prepare_return(p) != NULL, true))         \
	X(tl_tensor_info_get, FAILS(tl_tensor_info_get(p, &info)))                            \
	X(tl_tensor_base, GIVES(tl_tensor_base(p), NULL))                                     \
	X(tl_view_reshape, GIVES(tl_view_reshape(p, 1, &one), NULL))                          \
	X(tl_view_slice, GIVES(tl_view_slice(p, 0, 0, 1, 1), NULL))                           \
	X(tl_view_slice_axes, GIVES(tl_view_slice_axes(p, 1, &zero, &one, NULL), NULL))       \
	X(tl_view_transpose, GIVES(tl_view_transpose(p, 0, 0), NULL))                         \
	X(tl_view_permute, GIVES(tl_view_permute(p, 1, &zero), NULL))                         \
	X(tl_view_broadcast_to, GIVES(tl_view_broadcast_to(p, 1, &one), NULL))                \
	X(tl_view_squeeze, GIVES(tl_view_squeeze(p, 0), NULL))                                \
	X(tl_view_expand_dims, GIVES(tl_view_expand_dims(p, 0), NULL))                        \
	X(tl_tensor_to_dlpack, GIVES(tl_tensor_to_dlpack(p, false), NULL))                    \
	X(tl_tensor_to_dlpack_legacy, GIVES(tl_tensor_to_dlpack_legacy(p, true), NULL))       \
	X(tl_pool_release, FAILS(tl_pool_release(p, 16, 0, 0)))                               \
	X(tl_pool_release_compat, FAILS(tl_pool_release_compat(p, 16)))                       \
	X(tl_sparse_validate, FAILS(tl_sparse_validate(p)))                                   \
	X(tl_sparse_row, FAILS(tl_sparse_row(p, 0, NULL, NULL, NULL)))                        \
	X(tl_sparse_slice, GIVES(tl_sparse_slice(p, 0, 1), NULL))                             \
	X(tl_sparse_transpose, GIVES(tl_sparse_transpose(p), NULL))                           \
	X(tl_sparse_info_get, FAILS(tl_sparse_info_get(p, &matrix_info)))                     \
	X(tl_sparse_block, FAILS(tl_sparse_block(p, 0, &block_info)))                         \
	X(tl_sparse_to_contiguous, FAILS(tl_sparse_to_contiguous(p, &part, &part, &part)))    \
	X(tl_sparse_block_tensors, FAILS(tl_sparse_block_tensors(p, 0, &part, &part, &part))) \
	X(as_element, FAILS(tl_vec_push(vec, p)) && FAILS(tl_vec_set(vec, 0, p)))             \
	X(tl_arena_contains, !tl_arena_contains(p))

#define REFUSES(name, refused) \
	static bool refuses_##name(void* p) { return refused; }
EACH_FUNCTION(REFUSES)

#define ROW(name, refused) {#name, refuses_##name},
static const struct {
	const char* name;
	refusal refuses;
} functions[] = {EACH_FUNCTION(ROW)};
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

THREAD(keep_the_slow_path_busy, unused)
{
	while (!atomic_load(&stop)) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 100; i++) tl_object_new(pair_type);
		CHECK_OK(tl_mem_exit_scope());
		tl_last_error();
	}
}

static void the_first_page(void)
{
	int accepted = 0;
	atomic_store(&stop, false);
	pthread_t thread = start_thread(keep_the_slow_path_busy, NULL);
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
