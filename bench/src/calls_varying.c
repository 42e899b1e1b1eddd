/* Operations of varying.cpp, for calls.c: typed objects that float, Vecs, and blocks that the library allocates. */
#include "calls.h"

static tl_type plain_type(size_t bytes, size_t references)
{
	size_t offsets[8];
	for (size_t i = 0; i < references; i++) offsets[i] = i * sizeof(void*);
	const tl_type_desc description = {.size = bytes, .pointer_offsets = offsets, .num_pointers = references};
	tl_type type;
	if (tl_type_define(&description, &type) != TL_OK) exit(2);
	return type;
}

static void floating(long n, size_t bytes, size_t references)
{
	const tl_type type = plain_type(bytes, references);
	for (long i = 0; i < n; i++) {
		void* object = tl_object_new(type);
		tl_mem_unregister(object);
		tl_ptr_release(object);
	}
}

OPERATION(typed_floating) { floating(n, 32, 0); }
OPERATION(typed_floating_8_fields) { floating(n, 256, 8); }

/* A Vec of so many elements in a scope, of an object that another scope holds. */
static void vec_new(long n, int count)
{
	tl_mem_enter_scope();
	void* element = tl_mem_new(32);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		void* vec = tl_vec_new(0);
		for (int k = 0; k < count; k++) tl_vec_push(vec, element);
		tl_mem_exit_scope();
	}
	tl_mem_exit_scope();
}

OPERATION(vec_of_1) { vec_new(n, 1); }
OPERATION(vec_of_4) { vec_new(n, 4); }
OPERATION(vec_of_32) { vec_new(n, 32); }

/* An element of a Vec of 1000. */
OPERATION(vec_push_clear)
{
	enum { COUNT = 1000 };
	tl_mem_enter_scope();
	void *element = tl_mem_new(32), *vec = tl_vec_new(COUNT);
	for (long i = 0; i < n / COUNT; i++) {
		for (int k = 0; k < COUNT; k++) tl_vec_push(vec, element);
		tl_vec_clear(vec);
	}
	tl_mem_exit_scope();
}

EACH(aligned_4096, tl_aligned_free(tl_aligned_alloc(4096, 4096)))

EACH(array_4000, tl_registry_unregister(tl_registry_new_array(1000, 4)))
