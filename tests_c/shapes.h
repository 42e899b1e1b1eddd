/* A struct of a compiler's, in memory of malloc's, with a type and a destructor that counts. */
#pragma once

#include "check.h"

enum { EDGES = 3 };

/* A struct of a compiler's, with references at its front. */
struct shape {
	struct shape* edges[EDGES];
	int64_t number;
	void (*act)(struct shape*);
};

static tl_type shape_type, quiet_type;
static int destroyed;
static int64_t last_number;

static void destroy(void* object)
{
	struct shape* s = object;
	__atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
	last_number = s->number;
	if (s->act != NULL) s->act(s);
}

/* Not registered yet. */
static inline struct shape* raw_shape(int64_t number)
{
	struct shape* s = calloc(1, sizeof *s);
	if (s == NULL) abort();
	s->number = number;
	return s;
}

static inline struct shape* new_shape(tl_type type, int64_t number)
{
	struct shape* s = raw_shape(number);
	CHECK_OK(tl_mem_register_struct_typed(s, type));
	return s;
}

static inline struct shape* new_object(int64_t number)
{
	struct shape* s = tl_object_new(shape_type);
	s->number = number;
	return s;
}

static inline void define_shapes(void)
{
	static const size_t offsets[] = {0, 8, 16};
	tl_type_desc desc = {
		.name = "shape", .size = sizeof(struct shape), .pointer_offsets = offsets, .num_pointers = EDGES};
	desc.destructor = destroy;
	CHECK_OK(tl_type_define(&desc, &shape_type));
	desc.destructor = NULL;
	desc.name = "quiet";
	CHECK_OK(tl_type_define(&desc, &quiet_type));
}
