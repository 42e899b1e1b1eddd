/* A program for scripts/probes.sh, in which a debugger stops at the probes: it prints what they have to show. */
#include <stdint.h>
#include <stdio.h>
#include <tl_runtime.h>

int main(void)
{
	if (tl_mem_enter_scope() != TL_OK) return 1;
	void* kept = tl_mem_alloc(4321);
	printf("want allocate %#lx 4321\n", (unsigned long)(uintptr_t)kept);
	void* scoped = tl_mem_new(1234);
	printf("want allocate %#lx 1234\n", (unsigned long)(uintptr_t)scoped);
	printf("want free %#lx\n", (unsigned long)(uintptr_t)scoped);
	tl_mem_exit_scope();
	printf("want free %#lx\n", (unsigned long)(uintptr_t)kept);
	if (tl_ptr_release(kept) != TL_OK) return 1;

	const int64_t shape[2] = {31, 41};
	if (tl_pool_acquire(1271, TL_DTYPE_F32, TL_DEVICE_CPU) != NULL) return 1;
	puts("want pool_miss 1271 0");
	for (int i = 0; i < 3; i++) { /* out of the heap, and kept by the thread */
		tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
		if (tensor == NULL) return 1;
		printf("want allocate %#lx 5312\n", (unsigned long)(uintptr_t)tensor);
		printf("want free %#lx\n", (unsigned long)(uintptr_t)tensor);
		tl_tensor_free(tensor);
	}

	if (tl_mem_alloc((size_t)1 << 30) != NULL) return 1; /* TL_MEM_LIMIT is less */
	puts("want limit 1073741824");
	tl_mem_purge();
	puts("want cgo_call tl_mem_purge");
	return 0;
}
