/* Tensors as arrays of Arrow: its C data interface, in capsules whose ends run no Python code.
 *
 * A vector is an array of numbers, a tensor of more axes one of lists of fixed size: one node for each axis. The
 * structs of all axes are one block. A consumer may move a struct out of its capsule or out of its parent: it copies
 * the struct and clears release in ours. So the block ends with the last of its holders: the structs that were not
 * released, and the capsule. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../base/generated_dtypes.h"
#include "numpy.h"
#include "../tensor/tensor.h"
#include "../tensor/dlpack.h"

typedef struct arrow_schema {
	const char *format, *name, *metadata;
	int64_t flags, n_children;
	struct arrow_schema **children, *dictionary;
	void (*release)(struct arrow_schema*);
	void* private_data;
} arrow_schema;

typedef struct arrow_array {
	int64_t length, null_count, offset, n_buffers, n_children;
	const void** buffers;
	struct arrow_array **children, *dictionary;
	void (*release)(struct arrow_array*);
	void* private_data;
} arrow_array;

_Static_assert(sizeof(arrow_schema) == 72 && sizeof(arrow_array) == 80, "Arrow's ABI");

enum { NULLABLE = 2, FORMAT_BYTES = 24 };

typedef struct schema_node {
	arrow_schema schema;
	arrow_schema* child;
	char format[FORMAT_BYTES];
} schema_node;

typedef struct array_node {
	arrow_array array;
	arrow_array* child;
	const void* buffers[2]; /* which elements are there: NULL, all; the elements */
} array_node;

typedef struct exported {
	_Atomic(int32_t) holders;
	tl_dl_versioned* managed; /* of an array: what holds the elements; NULL in a schema */
	union {
		schema_node schemas[TL_MAX_RANK];
		array_node arrays[TL_MAX_RANK];
	} nodes;
	uint8_t bits[]; /* of bool: Arrow has one for each element, a tensor a byte */
} exported;

#define FORMAT(name, bytes, kind, arrow) [TL_DTYPE_##name] = arrow,
static const char formats[TL_DTYPES] = {TLC_EACH_DTYPE(FORMAT)};

static const char schema_name[] = "arrow_schema";
static const char array_name[] = "arrow_array";

static void let_go(exported* e)
{
	if (atomic_fetch_sub_explicit(&e->holders, 1, memory_order_acq_rel) != 1) return;
	tl_dl_versioned* managed = e->managed;
	tl_numpy_free(NULL, e, 0);
	if (managed != NULL) tlc_dlpack_delete(managed);
}

static void release_schema(arrow_schema* s)
{
	exported* e = s->private_data;
	for (int64_t i = 0; i < s->n_children; i++)
		if (s->children[i]->release != NULL) s->children[i]->release(s->children[i]);
	s->release = NULL;
	let_go(e);
}

static void release_array(arrow_array* a)
{
	exported* e = a->private_data;
	for (int64_t i = 0; i < a->n_children; i++)
		if (a->children[i]->release != NULL) a->children[i]->release(a->children[i]);
	a->release = NULL;
	let_go(e);
}

/* A consumer that moves the struct out of the capsule leaves release NULL. */
static void end_schema(void* capsule)
{
	schema_node* root = tlc_python.get_pointer(capsule, schema_name);
	exported* e = (exported*)((char*)root - offsetof(exported, nodes));
	if (root->schema.release != NULL) root->schema.release(&root->schema);
	let_go(e);
}

static void end_array(void* capsule)
{
	array_node* root = tlc_python.get_pointer(capsule, array_name);
	exported* e = (exported*)((char*)root - offsetof(exported, nodes));
	if (root->array.release != NULL) root->array.release(&root->array);
	let_go(e);
}

static void* refuse(tl_status status, const tl_tensor* tensor)
{
	tlc_fail(status, TL_FN_tl_python_arrow, tensor);
	return tlc_python_refuse();
}

/* Writes the types of n axes, of which the last one has elements of this format. */
static void describe(exported* e, const tl_dl_tensor* t, char format)
{
	for (int i = 0; i < t->ndim; i++) {
		schema_node* node = &e->nodes.schemas[i];
		const bool is_list = i + 1 < t->ndim;
		if (is_list) snprintf(node->format, sizeof node->format, "+w:%lld", (long long)t->shape[i + 1]);
		else snprintf(node->format, sizeof node->format, "%c", format);
		node->child = is_list ? &node[1].schema : NULL;
		node->schema = (arrow_schema){
			.format = node->format,
			.name = i == 0 ? "" : "item",
			.flags = NULLABLE,
			.n_children = is_list,
			.children = is_list ? &node->child : NULL,
			.release = release_schema,
			.private_data = e,
		};
	}
}

static void fill(exported* e, const tl_dl_tensor* t, const void* elements)
{
	int64_t length = 1;
	for (int i = 0; i < t->ndim; i++) {
		array_node* node = &e->nodes.arrays[i];
		const bool is_list = i + 1 < t->ndim;
		length *= t->shape[i];
		node->child = is_list ? &node[1].array : NULL;
		node->buffers[0] = NULL;
		node->buffers[1] = elements;
		node->array = (arrow_array){
			.length = length,
			.n_buffers = is_list ? 1 : 2,
			.n_children = is_list,
			.buffers = node->buffers,
			.children = is_list ? &node->child : NULL,
			.release = release_array,
			.private_data = e,
		};
	}
}

static const void* packed(exported* e, const uint8_t* from, uint64_t n)
{
	memset(e->bits, 0, n / 8 + 1);
	for (uint64_t i = 0; i < n; i++) e->bits[i / 8] |= (uint8_t)((from[i] != 0) << i % 8);
	return e->bits;
}

static uint64_t count(const tl_dl_tensor* t)
{
	uint64_t n = 1;
	for (int i = 0; i < t->ndim; i++) n *= (uint64_t)t->shape[i];
	return n;
}

/* Makes the capsule for what DLPack exports; NULL: Python's error is set, and managed still the caller's. */
static void* capsule_of(tlc_capsule_new make, tl_dl_versioned* managed, bool schema)
{
	const tl_dl_tensor* t = &managed->tensor;
	const tl_tensor* tensor = managed->manager_ctx;
	const uint32_t dtype = tlc_dl_dtype(t->dtype);
	if (dtype == TL_DTYPES || formats[dtype] == 0 || t->ndim < 1 || t->device_type != TL_DL_CPU)
		return refuse(TL_E_UNSUPPORTED, tensor);
	const uint64_t bits = dtype == TL_DTYPE_BOOL && !schema ? count(t) / 8 + 1 : 0;
	exported* e = tl_numpy_malloc(NULL, sizeof *e + bits);
	if (e == NULL) return refuse(tl_last_status(), tensor);
	e->managed = NULL;
	atomic_init(&e->holders, t->ndim + 1);
	if (schema) describe(e, t, formats[dtype]);
	else fill(e, t, bits != 0 ? packed(e, t->data, count(t)) : t->data);
	void* capsule =
		schema ? make(&e->nodes.schemas[0], schema_name, end_schema) : make(&e->nodes.arrays[0], array_name, end_array);
	if (capsule == NULL) tl_numpy_free(NULL, e, 0);
	else if (!schema) e->managed = managed;
	return capsule;
}

void* tl_python_arrow(tl_tensor* tensor, bool schema)
{
	tlc_capsule_new make = tlc_python.make;
	if (make == NULL) {
		tlc_fail(TL_E_UNSUPPORTED, TL_FN_tl_python_arrow, NULL);
		return NULL;
	}
	tl_dl_versioned* managed = tlc_to_dlpack(tensor, false, false, TL_FN_tl_python_arrow);
	const tl_dl_tensor* t = managed != NULL ? &managed->tensor : NULL;
	if (t != NULL && !schema && !tlc_is_contiguous(tlc_count(t->ndim, t->shape, t->strides))) {
		tl_dl_versioned* gaps = managed;
		managed = tlc_to_dlpack(tensor, true, false, TL_FN_tl_python_arrow);
		tlc_dlpack_delete(gaps);
	}
	if (managed == NULL) return tlc_python_refuse();
	void* capsule = capsule_of(make, managed, schema);
	if (capsule == NULL || schema) tlc_dlpack_delete(managed);
	return capsule;
}
