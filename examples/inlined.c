/* cc -O2 inlined.c -ltl_runtime && ./a.out: calls of frequent functions are inlined. */
#include <stdio.h>
#define TL_INLINE
#include <tl_runtime.h>

/* What a compiler emits that writes C: operations of a thread, in a function with many of them. */
static int64_t work(void* object, int rounds)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (int i = 0; i < rounds; i++) {
		tl_inl_retake(&thread); /* in case an operation had to make a call */
		tl_inl_mem_enter_scope(&thread);
		tl_inl_ptr_acquire(&thread, object);
		tl_inl_ptr_release(&thread, object);
		tl_inl_mem_exit_scope(&thread);
	}
	return tl_ptr_refcount(object); /* by its ordinary name; before another operation: tl_inl_retake(&thread) */
}

int main(void)
{
	tl_mem_enter_scope(); /* inlined, by its ordinary name */
	void* object = tl_mem_new(32);
	printf("%lld reference after a million rounds\n", (long long)work(object, 1000000));
	tl_mem_exit_scope();
	return 0;
}
