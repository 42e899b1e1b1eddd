/* Operations that `calls` counts. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <tl_runtime.h>

#define OPERATION __attribute__((noinline, noclone)) static void

typedef struct operation {
	const char* name; /* NULL ends a table */
	void (*run)(long n);
} operation;

#define NAMED(name) {#name, op_##name}

/* A node of a syntax tree. */
typedef struct node {
	struct node *left, *right;
	char* name;
	uint64_t number;
} node;

static inline tl_type node_type(void)
{
	const size_t offsets[] = {offsetof(node, left), offsetof(node, right), offsetof(node, name)};
	const tl_type_desc description = {.size = sizeof(node), .pointer_offsets = offsets, .num_pointers = 3};
	tl_type type;
	if (tl_type_define(&description, &type) != TL_OK) exit(2);
	return type;
}

extern const operation tensor_operations[], inlined_operations[], shape_operations[], varying_operations[];

#endif
