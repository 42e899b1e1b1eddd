/* Section Errors: every function that takes a pointer refuses what is unknown,
 * interior or dead, with the status that fits, and changes nothing. */
#include "check.h"
#include "bad.h"

TEST(references)
{
	CHECK_REFUSES((intptr_t)tl_ptr_acquire(bad), (intptr_t)bad);
	CHECK_REFUSES_STATUS(tl_ptr_release(bad));
	CHECK_REFUSES_STATUS(tl_ptr_inc_ref(bad));
	CHECK_REFUSES(tl_ptr_dec_ref(bad), 0);
	CHECK_REFUSES(tl_ptr_release_bool(bad), 0);
	CHECK_REFUSES(tl_ptr_refcount(bad), -1);
	CHECK_REFUSES_STATUS(tl_ptr_check(bad));
	CHECK_REFUSES_STATUS(tl_ptr_share(bad));
	CHECK_REFUSES_STATUS(tl_ptr_make_immortal(bad));
}

TEST_IN_SCOPE(registration)
{
	CHECK_REFUSES_STATUS(tl_mem_register_ptr(bad));
	CHECK_REFUSES_STATUS(tl_mem_register_tensor(bad));
	CHECK_REFUSES_STATUS(tl_mem_register_vec_ptr(bad));
	CHECK_REFUSES_STATUS(tl_mem_unregister(bad));
}

TEST(objects)
{
	CHECK_REFUSES_STATUS(tl_mem_free(bad));
	CHECK_REFUSES_STATUS(tl_mem_dealloc(bad));
	CHECK_REFUSES_STATUS(tl_free_tmp(bad));
	CHECK_REFUSES_NULL(tl_mem_realloc(bad, 128));
	CHECK_REFUSES_NULL(tl_ptr_reuse(bad, 128));
	CHECK_REFUSES_NULL((void*)tl_mem_usable_size(bad));
	CHECK_REFUSES_NULL(tl_mem_deep_clone(bad));
}

TEST_IN_SCOPE(vecs)
{
	void* vec = tl_vec_new(1);
	CHECK_OK(tl_vec_push(vec, NULL));
	CHECK_REFUSES_STATUS(tl_vec_push(bad, NULL));
	CHECK_REFUSES_NULL(tl_vec_get(bad, 0));
	CHECK_REFUSES_STATUS(tl_vec_set(bad, 0, NULL));
	CHECK_REFUSES_NULL(tl_vec_pop(bad));
	CHECK_REFUSES(tl_vec_len(bad), -1);
	CHECK_REFUSES_STATUS(tl_vec_reserve(bad, 10));
	CHECK_REFUSES_STATUS(tl_vec_clear(bad));
	CHECK_REFUSES_STATUS(tl_vec_push(vec, bad));
	CHECK_REFUSES_STATUS(tl_vec_set(vec, 0, bad));
	CHECK_INT(tl_vec_len(vec), 1);
}

TEST(tensor_properties)
{
	CHECK_REFUSES_NULL(tl_tensor_data(bad));
	CHECK_REFUSES(tl_tensor_nbytes(bad), 0);
	CHECK_REFUSES(tl_tensor_numel(bad), -1);
	CHECK_REFUSES(tl_tensor_len(bad), -1);
	CHECK_REFUSES(tl_tensor_rank(bad), -1);
	CHECK_REFUSES_NULL(tl_tensor_shape(bad));
	CHECK_REFUSES_NULL(tl_tensor_strides(bad));
	CHECK_REFUSES(tl_tensor_dtype(bad), -1);
	CHECK_REFUSES(tl_tensor_device(bad), -1);
	CHECK_REFUSES(tl_tensor_is_contiguous(bad), 0);
	CHECK_REFUSES(tl_tensor_dim(bad, 0), -1);
}

TEST_IN_SCOPE(tensors)
{
	CHECK_REFUSES_NULL(tl_tensor_clone(bad));
	CHECK_REFUSES((intptr_t)tl_tensor_acquire(bad), (intptr_t)bad);
	CHECK_REFUSES_STATUS(tl_tensor_release(bad));
	CHECK_REFUSES_STATUS(tl_tensor_release_safe(bad));
	CHECK_REFUSES_STATUS(tl_tensor_register(bad));
	CHECK_REFUSES_STATUS(tl_tensor_promote(bad));
	CHECK_REFUSES((intptr_t)tl_tensor_prepare_return(bad), (intptr_t)bad);
	CHECK_REFUSES_STATUS(tl_tensor_free(bad));
	CHECK_REFUSES_STATUS(tl_pool_release(bad, 16, TL_DTYPE_F32, 0));
	CHECK_REFUSES_STATUS(tl_pool_release_compat(bad, 16));
}

TEST(properties_of_what_is_no_tensor)
{
	void* plain = tl_mem_alloc(256);
	CHECK_REFUSED(tl_tensor_data(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_nbytes(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_numel(plain), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_len(plain), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_rank(plain), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_shape(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_strides(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_dtype(plain), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_device(plain), -1, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_is_contiguous(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_dim(plain, 0), -1, TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_free(plain));
}

TEST_IN_SCOPE(what_is_no_tensor)
{
	void* plain = tl_mem_new(256);
	CHECK_REFUSED(tl_tensor_clone(plain), 0, TL_E_UNSUPPORTED);
	CHECK_REFUSED(tl_tensor_acquire(plain), plain, TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_release(plain), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_release_safe(plain), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_register(plain), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_promote(plain), TL_E_UNSUPPORTED);
	/* covers: tl_tensor_prepare_return TL_E_UNSUPPORTED */
	tl_clear_error();
	tl_tensor_prepare_return(plain);
	CHECK_STATUS(tl_last_status(), TL_E_UNSUPPORTED);
	CHECK_FAILS(tl_tensor_free(plain), TL_E_UNSUPPORTED);
	CHECK_COUNT(plain, 1);
}

static bool says(const char* text) { return strstr(tl_last_error(), text) != NULL; }

/* What is a size_t in the interface is no negative number in a sentence, and an index may be one. */
TEST(sizes_have_no_sign)
{
	static char block[64];
	tl_workspace* workspace;
	CHECK_REFUSED(tl_mem_frame_enter(SIZE_MAX), 0, TL_E_ARENA_EXHAUSTED);
	CHECK(says("18446744073709551615 bytes do not fit"));
	CHECK_REFUSED(tl_vec_new(SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK(says("a Vec of 18446744073709551615 elements"));
	CHECK_FAILS(tl_registry_register(block, SIZE_MAX, TL_ALLOC_MALLOC), TL_E_INVALID_ARGUMENT);
	CHECK(says("a block of 18446744073709551615 bytes"));
	CHECK_REFUSED(tl_registry_new_array(SIZE_MAX, SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK(says("18446744073709551615 times 18446744073709551615 bytes"));
	CHECK_REFUSED(tl_aligned_alloc(1, SIZE_MAX), 0, TL_E_INVALID_ARGUMENT);
	CHECK(says("alignment 18446744073709551615"));
	CHECK_FAILS(tl_workspace_create(SIZE_MAX, SIZE_MAX, 64, &workspace), TL_E_INVALID_ARGUMENT);
	CHECK(says("18446744073709551615 times 18446744073709551615 bytes"));
	void* vec = tl_vec_new(1);
	CHECK_REFUSED(tl_vec_get(vec, INT64_MIN), 0, TL_E_INVALID_ARGUMENT);
	CHECK(says("index -9223372036854775808 is not below the length 0"));
	CHECK_OK(tl_ptr_release(vec));
}

TEST(diagnostics)
{
	tl_stats stats = {.struct_size = 8};
	CHECK_FAILS(tl_stats_get(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_stats_get(&stats), TL_E_INVALID_ARGUMENT);
	stats.struct_size = 16;
	stats.live_bytes = 12345;
	CHECK_OK(tl_stats_get(&stats));
	CHECK_INT(stats.live_bytes, 12345);
	stats.struct_size = sizeof stats;
	CHECK_OK(tl_stats_get(&stats));
	CHECK_INT(stats.allocations - stats.frees, stats.live_objects);
	CHECK(tl_get_memory_bytes() > 0);
	CHECK_INT(tl_get_memory_mb() > 0, 1);
	CHECK_OK(tl_log_alloc(NULL, 0, NULL, 0));
	CHECK_OK(tl_log_free(NULL, NULL, 0));
	CHECK_OK(tl_trace_mem(NULL));
}

int main(void) { return check_tests(); }
