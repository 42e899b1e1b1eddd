package main

import "strings"

// tracked are the functions that allocate, by what they return.
var tracked = []struct {
	result string
	names  []string
}{
	{"void*", []string{"mem_alloc", "mem_new", "mem_new_zeroed", "alloc_tmp", "object_new", "mem_deep_clone",
		"mem_realloc", "mem_aligned_alloc", "ptr_reuse",
		"vec_new", "registry_new_array", "aligned_alloc", "memory_pool_allocate", "memory_pool_allocate_async"}},
	{"tl_tensor*", []string{"tensor_new", "tensor_new_i64", "tensor_empty", "tensor_new_zeroed", "tensor_from_buffer",
		"tensor_wrap",
		"tensor_clone", "tensor_to", "view_reshape", "view_slice", "view_slice_axes",
		"view_transpose", "view_permute",
		"view_broadcast_to", "view_squeeze", "view_expand_dims", "tensor_from_dlpack",
		"tensor_from_dlpack_legacy",
		"pool_acquire", "pool_acquire_compat"}},
	{"tl_sparse*", []string{"sparse_create", "sparse_from_csr", "sparse_from_csc", "sparse_wrap", "sparse_slice",
		"sparse_transpose"}},
}

// trackingMacros ends the header: calls that tell the runtime where they stand. A macro
// is not expanded inside its own expansion, so the name on the right is the function. It
// takes any number of arguments: what looks like one may have commas, as
// (int64_t[]){2, 3} has.
func trackingMacros() string {
	var b strings.Builder
	b.WriteString(`/*
 * With TL_TRACK_ALLOCATIONS defined before this header is included, the functions below
 * are macros that tell tracking the line of each call (see tl_track_site). The names stay
 * usable as functions, in parentheses: (tl_mem_alloc)(64).
 */
#ifdef TL_TRACK_ALLOCATIONS
#define TL_TRACKED_(type, call) ((type)tl_track_site((call), __FILE__, __LINE__))
`)
	for _, t := range tracked {
		for _, name := range t.names {
			b.WriteString("#define tl_" + name + "(...) TL_TRACKED_(" + t.result + ", tl_" + name + "(__VA_ARGS__))\n")
		}
	}
	b.WriteString("#endif\n")
	return b.String()
}
