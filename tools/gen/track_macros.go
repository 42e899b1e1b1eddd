package main

// trackingMacros ends the header: calls that tell the runtime where they stand. A macro
// is not expanded inside its own expansion, so the name on the right is the function.
const trackingMacros = `/*
 * With TL_TRACK_ALLOCATIONS defined before this header is included, the functions below
 * are macros that tell tracking the line of each call (see tl_track_site). The names stay
 * usable as functions, in parentheses: (tl_mem_alloc)(64).
 */
#ifdef TL_TRACK_ALLOCATIONS
#define TL_TRACKED_(type, call) ((type)tl_track_site((call), __FILE__, __LINE__))
#define tl_mem_alloc(bytes) TL_TRACKED_(void*, tl_mem_alloc(bytes))
#define tl_mem_new(bytes) TL_TRACKED_(void*, tl_mem_new(bytes))
#define tl_mem_new_zeroed(bytes) TL_TRACKED_(void*, tl_mem_new_zeroed(bytes))
#define tl_alloc_tmp(bytes) TL_TRACKED_(void*, tl_alloc_tmp(bytes))
#define tl_object_new(type) TL_TRACKED_(void*, tl_object_new(type))
#define tl_mem_deep_clone(object) TL_TRACKED_(void*, tl_mem_deep_clone(object))
#define tl_mem_realloc(object, bytes) TL_TRACKED_(void*, tl_mem_realloc(object, bytes))
#define tl_vec_new(capacity) TL_TRACKED_(void*, tl_vec_new(capacity))
#define tl_tensor_new(data, rank, shape) TL_TRACKED_(tl_tensor*, tl_tensor_new(data, rank, shape))
#define tl_tensor_new_i64(data, rank, shape) TL_TRACKED_(tl_tensor*, tl_tensor_new_i64(data, rank, shape))
#define tl_tensor_empty(dtype, device, rank, shape) TL_TRACKED_(tl_tensor*, tl_tensor_empty(dtype, device, rank, shape))
#define tl_tensor_zeros(dtype, device, rank, shape) TL_TRACKED_(tl_tensor*, tl_tensor_zeros(dtype, device, rank, shape))
#define tl_tensor_clone(tensor) TL_TRACKED_(tl_tensor*, tl_tensor_clone(tensor))
#define tl_registry_new_array(count, bytes) TL_TRACKED_(void*, tl_registry_new_array(count, bytes))
#define tl_aligned_alloc(bytes, alignment) TL_TRACKED_(void*, tl_aligned_alloc(bytes, alignment))
#define tl_memory_pool_allocate(pool, bytes) TL_TRACKED_(void*, tl_memory_pool_allocate(pool, bytes))
#endif
`
