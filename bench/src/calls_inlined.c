/* The operations of calls.c with the operations of tl_inline.h, in a function that has a variable for its thread. */
#include "calls.h"

#include <tl_inline.h>

OPERATION(inlined_acquire_release)
{
	tl_inl_thread thread;
	tl_mem_enter_scope();
	void* object = tl_mem_new(64);
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_ptr_acquire(&thread, object);
		tl_inl_ptr_release(&thread, object);
	}
	tl_mem_exit_scope();
}

OPERATION(inlined_ref_acquire_release)
{
	tl_inl_thread thread;
	tl_mem_enter_scope();
	tl_ref ref = tl_ref_of(tl_mem_new(64));
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_ref_acquire(&thread, ref);
		tl_inl_ref_release(&thread, ref);
	}
	tl_mem_exit_scope();
}

OPERATION(inlined_ref_get)
{
	tl_inl_thread thread;
	tl_mem_enter_scope();
	tl_ref ref = tl_ref_of(tl_mem_new(64));
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		void* object = tl_inl_ref_get(&thread, ref);
		__asm__ volatile("" : : "r"(object));
	}
	tl_mem_exit_scope();
}

OPERATION(inlined_scope)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_mem_enter_scope(&thread);
		tl_inl_mem_exit_scope(&thread);
	}
}

OPERATION(inlined_alloc_release)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_ptr_release(&thread, tl_inl_mem_alloc(&thread, 64));
	}
}

OPERATION(inlined_unique_release)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		void* object = tl_inl_mem_alloc(&thread, 64);
		const bool is_unique = tl_inl_ptr_is_unique(&thread, object);
		__asm__ volatile("" : : "r"(is_unique)); /* what it is, the release finds out */
		tl_inl_ptr_release(&thread, object);
	}
}

OPERATION(inlined_scope_of_8)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_mem_enter_scope(&thread);
		for (int k = 0; k < 8; k++) tl_inl_mem_new(&thread, 64);
		tl_inl_mem_exit_scope(&thread);
	}
}

OPERATION(inlined_function)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	for (long i = 0; i < n; i++) {
		tl_inl_retake(&thread);
		tl_inl_mem_function_enter(&thread, 0);
		tl_inl_mem_function_exit(&thread);
	}
}
