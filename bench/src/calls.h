/* Operations that `calls` counts. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <tl_runtime.h>

typedef struct operation {
	const char* name;
	void (*run)(long n);
	struct operation* next;
} operation;

extern operation* operations;

/* The body of an operation, which is found by its name. */
#define OPERATION(title)                                       \
	static void op_##title(long n);                            \
	__attribute__((constructor)) static void add_##title(void) \
	{                                                          \
		static operation added = {#title, op_##title, NULL};   \
		added.next = operations;                               \
		operations = &added;                                   \
	}                                                          \
	__attribute__((noinline, noclone)) static void op_##title(long n)

#define EACH(title, call)                  \
	OPERATION(title)                       \
	{                                      \
		for (long i = 0; i < n; i++) call; \
	}

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
