/* Operations that `calls` counts. */
#ifndef BENCH_CALLS_H
#define BENCH_CALLS_H

#include <stddef.h>

#define OPERATION __attribute__((noinline, noclone)) static void

typedef struct operation {
	const char* name; /* NULL ends a table */
	void (*run)(long n);
} operation;

#define NAMED(name) {#name, op_##name}

extern const operation tensor_operations[], inlined_operations[], shape_operations[];

#endif
