/* memory.h through the runtime: each name is the call, or the two calls, that a compiler would emit. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <tl_runtime.h>

typedef tl_tensor tensor;

/* For the summary at the end; the runtime needs neither. */
extern uint64_t memory_tensors_created, memory_slots_used;

static inline void* memory_expect(void* pointer)
{
	if (pointer) return pointer;
	fprintf(stderr, "digits: %s\n", tl_last_error());
	exit(1);
}

static inline void function_enter(int slots) { tl_mem_function_enter(slots); }
static inline void function_exit(void) { tl_mem_function_exit(); }
static inline void scope_enter(void) { tl_mem_enter_scope(); }
static inline void scope_exit(void) { tl_mem_exit_scope(); }

static inline tensor* tensor_new(int64_t rows, int64_t columns)
{
	const int64_t shape[2] = {rows, columns};
	memory_tensors_created++;
	return memory_expect(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
}

static inline tensor* tensor_in_slot(int slot, int64_t rows, int64_t columns)
{
	const int64_t shape[2] = {rows, columns};
	memory_slots_used++;
	return memory_expect(tl_tensor_in_slot(slot, TL_DTYPE_F32, 2, shape));
}

static inline float* tensor_data(tensor* t) { return tl_tensor_data(t); }
static inline tensor* tensor_return(tensor* t) { return tl_tensor_prepare_return(t); }

static inline tensor* tensor_own(tensor* t)
{
	tl_tensor_register(t);
	return t;
}

static inline void tensor_store(tensor** field, tensor* value)
{
	tl_tensor_acquire(value);
	tl_tensor_release(*field);
	*field = value;
}

static inline void record_define(record_type* type)
{
	const tl_type_desc described = {
		.name = type->name, .size = type->size, .pointer_offsets = type->fields, .num_pointers = type->field_count};
	if (tl_type_define(&described, &type->id) != TL_OK) memory_expect(NULL);
}

static inline void* record_new(const record_type* type) { return memory_expect(tl_object_new(type->id)); }

static inline void* record_return(void* record)
{
	tl_mem_unregister(record);
	return record;
}

static inline void* record_own(void* record)
{
	tl_mem_register_struct(record);
	return record;
}

#define record_store(field, record) (tl_ptr_acquire(record), tl_ptr_release(*(field)), *(field) = (record))

/* A struct of the host's malloc that the runtime adopts, as compilers in the wild emit it. */
static inline void* struct_new(size_t bytes)
{
	void* p = memory_expect(malloc(bytes));
	tl_mem_register_struct(p);
	return p;
}

static inline void* struct_return(void* p) { return record_return(p); }
static inline void* struct_own(void* p) { return record_own(p); }

/* By hand: nothing, the scopes do it. */
static inline void tensor_free(tensor* t) { (void)t; }
static inline void slot_free(tensor* t) { (void)t; }
static inline void memory_free(void* p) { (void)p; }
