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

OPERATION op_typed_floating(long n) { floating(n, 32, 0); }
OPERATION op_typed_floating_8_fields(long n) { floating(n, 256, 8); }

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

OPERATION op_vec_of_1(long n) { vec_new(n, 1); }
OPERATION op_vec_of_4(long n) { vec_new(n, 4); }
OPERATION op_vec_of_32(long n) { vec_new(n, 32); }

/* An element of a Vec of 1000. */
OPERATION op_vec_push_clear(long n)
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

OPERATION op_aligned_4096(long n)
{
	for (long i = 0; i < n; i++) tl_aligned_free(tl_aligned_alloc(4096, 4096));
}

OPERATION op_array_4000(long n)
{
	for (long i = 0; i < n; i++) tl_registry_unregister(tl_registry_new_array(1000, 4));
}

const operation varying_operations[] = {
	NAMED(typed_floating), NAMED(typed_floating_8_fields), NAMED(vec_of_1),     NAMED(vec_of_4),
	NAMED(vec_of_32),      NAMED(vec_push_clear),          NAMED(aligned_4096), NAMED(array_4000),
	{NULL, NULL},
};
