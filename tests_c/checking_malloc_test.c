/* The malloc that the C library brings for debugging (libc_malloc_debug.so.0, with MALLOC_CHECK_), preloaded. It has its
 * functions under the C library's version of their names alone, and ends the process when free, realloc or
 * malloc_usable_size of the C library's own are called with its blocks. */
#include <gnu/libc-version.h>

#include <dlfcn.h>

#include "check.h"

static bool is_preloaded(void)
{
	Dl_info ours, theirs;
	return dladdr((void*)(uintptr_t)malloc, &ours) != 0 &&
	       dladdr((void*)(uintptr_t)gnu_get_libc_version, &theirs) != 0 && ours.dli_fbase != theirs.dli_fbase;
}

TEST(scopes_free_blocks)
{
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 5 / 4 + 1) {
		CHECK_OK(tl_mem_enter_scope());
		for (int i = 0; i < 20; i++) {
			char* block = malloc(bytes);
			memset(block, i, bytes);
			CHECK_OK(tl_mem_register_struct(block));
		}
		CHECK_OK(tl_mem_exit_scope());
	}
}

TEST(owners_free_blocks)
{
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 5 / 4 + 1) {
		void* block = malloc(bytes);
		CHECK_OK(tl_registry_register(block, bytes, TL_ALLOC_MALLOC));
		CHECK_OK(tl_registry_unregister(block));
		void* aligned = tl_aligned_alloc(bytes, 64);
		CHECK(aligned != NULL);
		CHECK_OK(tl_aligned_free(aligned));
	}
}

TEST(numpy_moves_and_frees_blocks)
{
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 5 / 4 + 1) {
		char* block = malloc(bytes);
		memset(block, 7, bytes);
		block = tl_numpy_realloc(NULL, block, 2 * bytes);
		CHECK(block != NULL && block[0] == 7 && block[bytes - 1] == 7);
		tl_numpy_free(NULL, block, 2 * bytes);
		tl_clear_error();
		tl_numpy_free(NULL, malloc(bytes), bytes);
		CHECK_INT(tl_last_status(), TL_OK);
	}
}

int main(void)
{
	if (!is_preloaded()) {
		printf("skip: the C library's malloc for debugging is not preloaded\n");
		return 77;
	}
	return check_tests();
}
