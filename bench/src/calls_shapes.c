/* Operations on structs and Vecs that a compiler lays out itself, and on elements of a Vec. */
#include <stdint.h>
#include <stdlib.h>
#include <tl_runtime.h>

#include "calls.h"

/* Has so many next blocks of malloc's lie inside a unit of the registry each; malloc gives out the newest first. */
static void inside_units(size_t bytes, int count)
{
	void* found[8];
	for (int n = 0; n < count;) {
		uintptr_t p = (uintptr_t)malloc(bytes);
		if (p == 0) exit(2);
		if ((p ^ (p + bytes + 15)) >> 10 == 0) found[n++] = (void*)p;
	}
	while (count > 0) free(found[--count]);
}

static node* blank_node(void)
{
	node* made = malloc(sizeof *made);
	*made = (node){NULL, NULL, NULL, 0};
	return made;
}

/* A scope with a struct whose three references are NULL. */
OPERATION(malloc_register_struct_typed)
{
	tl_type type = node_type();
	inside_units(sizeof(node), 1);
	for (long i = 0; i < n; i++) {
		tl_mem_enter_scope();
		tl_mem_register_struct_typed(blank_node(), type);
		tl_mem_exit_scope();
	}
}

/* A struct that refers to an object and to another struct, all dropped by the release. */
OPERATION(struct_typed_tree)
{
	tl_type type = node_type();
	inside_units(sizeof(node), 2);
	for (long i = 0; i < n; i++) {
		node *root = blank_node(), *leaf = blank_node();
		tl_mem_enter_scope();
		tl_mem_register_struct_typed(root, type);
		tl_mem_register_struct_typed(leaf, type);
		root->left = tl_ptr_acquire(leaf);
		root->name = tl_ptr_acquire(tl_mem_new(16));
		tl_mem_exit_scope();
	}
}

/* As a compiler lays it out. */
typedef struct own_vec {
	void** data;
	int64_t capacity, length;
} own_vec;

static void set_vec_type(void)
{
	const tl_vec_desc description = {.struct_size = sizeof description,
	                                 .size = sizeof(own_vec),
	                                 .data_offset = offsetof(own_vec, data),
	                                 .length_offset = offsetof(own_vec, length),
	                                 .capacity_offset = offsetof(own_vec, capacity),
	                                 .number_bytes = 8};
	tl_type type;
	if (tl_type_define_vec(&description, &type) != TL_OK || tl_vec_set_type(type) != TL_OK) exit(2);
}

/* With a malloc of the data and two elements. */
OPERATION(own_vec)
{
	set_vec_type();
	inside_units(sizeof(own_vec), 1);
	inside_units(4 * sizeof(void*), 1);
	tl_mem_enter_scope();
	void* element = tl_mem_new(64);
	for (long i = 0; i < n; i++) {
		own_vec* vec = malloc(sizeof *vec);
		*vec = (own_vec){malloc(4 * sizeof(void*)), 4, 2};
		tl_mem_enter_scope();
		tl_mem_register_vec_ptr(vec);
		for (int k = 0; k < 2; k++) vec->data[k] = tl_ptr_acquire(element);
		tl_mem_exit_scope();
	}
	tl_mem_exit_scope();
}

OPERATION(vec_set)
{
	tl_mem_enter_scope();
	void *vec = tl_vec_new(1), *elements[2] = {tl_mem_new(64), tl_mem_new(64)};
	tl_vec_push(vec, elements[1]);
	for (long i = 0; i < n; i++) tl_vec_set(vec, 0, elements[i % 2]);
	tl_mem_exit_scope();
}
