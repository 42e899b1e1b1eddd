// # Shapes of a compiler
//
// A compiler lays out its own structs and its own Vecs, often in memory of
// malloc. tl_mem_register_struct adopts such a block, and frees it, but knows
// nothing of the references inside it. A block that is registered with a type
// is counted, released, copied and collected as an object of that type is: its
// destructor runs once, then its references are released, then free() takes the
// block. Chains of any length need no stack.
//
// A type for Vecs names the offsets at which a header has its data, its length
// and its capacity. The header may be a block that is registered with the type,
// or an object of tl_object_new. The data belongs to the Vec: memory of malloc
// that nobody registered is freed with it, and of a block of tl_mem_alloc or of
// the registry the Vec holds one reference. The program may call realloc() on
// data of malloc's, store elements and change the length, as long as the header
// is sound when the Vec is released, copied or looked at by the cycle collector:
//
//	length <= capacity
//	data == NULL only where length == 0
//	capacity * element bytes <= the bytes of the block at data
//
// A header that is not sound is not followed: its elements and its data stay,
// and the calling thread gets TL_E_INVALID_ARGUMENT as its last status.
//
// A block with a type is never handed back. After tl_mem_unregister its
// reference floats: register it again, release it, or free it with tl_mem_free,
// and not with free(). A forked child, which cannot run the slow path, cannot
// end such a block: TL_E_FORKED.
package main

import "C"

import (
	"unsafe"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_vec_elements tells what the elements of a Vec are.
//
//	C: enum tl_vec_elements {
//	    TL_VEC_POINTERS = 0, /* each element is a reference, or NULL */
//	    TL_VEC_STRUCTS = 1,  /* structs of a type, which hold references at its offsets */
//	    TL_VEC_BYTES = 2     /* bytes without references */
//	};
const _ = "tl_vec_elements"

// tl_vec_desc describes a Vec to tl_type_define_vec. Length and capacity count
// elements.
//
//	C: typedef struct tl_vec_desc {
//	    size_t struct_size;       /* sizeof(tl_vec_desc) */
//	    const char* name;         /* for messages and reports; NULL is "unnamed" */
//	    size_t size;              /* bytes of the header */
//	    size_t data_offset;       /* of the pointer to the elements; a multiple of 8 */
//	    size_t length_offset;     /* a multiple of number_bytes */
//	    size_t capacity_offset;   /* likewise */
//	    uint32_t number_bytes;    /* of length and of capacity: 8, or 4 */
//	    uint32_t elements;        /* TL_VEC_POINTERS, TL_VEC_STRUCTS or TL_VEC_BYTES */
//	    size_t element_bytes;     /* from one element to the next; 0: 8 for pointers, the size of element_type */
//	    tl_type element_type;     /* of TL_VEC_STRUCTS, else 0; without a destructor and not a Vec */
//	    uint32_t flags;           /* 0 */
//	    tl_destructor destructor; /* called with the header, before the elements are released; NULL: none */
//	} tl_vec_desc;
const _ = "tl_vec_desc"

// tl_mem_register_struct_typed registers memory of malloc's that is laid out as
// a type says. The runtime owns the block and the references in it from then
// on: store a reference as into a field of an object. Fields that are not
// written yet have to be NULL. Again, or of an object of the type, the call is
// tl_mem_register_struct.
//
//	C: tl_status tl_mem_register_struct_typed(void* object, tl_type type);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime that holds no object),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (no such type,
// misaligned, memory that cannot be read, a block that is smaller than the
// type, a Vec's header that is not sound), TL_E_ALREADY_REGISTERED (without a
// type, with another one, or inside a registered block), TL_E_UNSUPPORTED
// (memory of the runtime that is no object of the type), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; that of tl_mem_register_struct; a Vec's data is looked up, too.
// Trusts: object.
//
//export tlgo_mem_register_struct_typed
func tlgo_mem_register_struct_typed(c, pointer uintptr, kind uint32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterTyped(pointer, kind) })
}

// tl_type_define_vec defines a type for the Vecs that a compiler lays out
// itself. It exists until the process ends. Equal definitions get one number, as
// with tl_type_define.
//
//	C: tl_status tl_type_define_vec(const tl_vec_desc* description, tl_type* out_type);
//
// Ownership: the description and its name are copied.
// Threads: any thread; the type holds for all of them.
// Returns: TL_OK and the type in *out_type, or why no type was defined.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a struct_size that is too small, a part
// that is misaligned, outside the size or overlaps another one, elements of no
// or too many bytes, no such element type, unknown flags), TL_E_UNSUPPORTED
// (an element type that has a destructor or is a Vec), TL_E_LIMIT (too many
// types), TL_E_OUT_OF_MEMORY (no memory for the offsets).
// Cost: slow call; constant.
//
//export tlgo_type_define_vec
func tlgo_type_define_vec(c, description, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return defineVec(o, description, out) })
}

// tl_vec_set_type sets the type of the Vecs that the program lays out itself:
// from then on tl_mem_register_vec_ptr registers an address that the runtime
// does not know with this type. 0 ends that.
//
//	C: tl_status tl_vec_set_type(tl_type type);
//
// Ownership: none.
// Threads: any thread; the setting holds for all of them.
// Returns: TL_OK, or why nothing was set.
// Errors: TL_E_INVALID_ARGUMENT (no such type, or not one of
// tl_type_define_vec).
// Cost: slow call; constant.
//
//export tlgo_vec_set_type
func tlgo_vec_set_type(c uintptr, kind uint32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.SetVecType(kind) })
}

// The kinds of elements, as tl_vec_elements has them.
const (
	elementsPointers = iota
	elementsStructs
	elementsBytes
)

func defineVec(o *object.Context, description, out uintptr) status.Status {
	if !usable(description) || !usable(out) {
		return fail(o, status.InvalidArgument, "description and out_type are both needed")
	}
	if size := load[uintptr](description); size < unsafe.Sizeof(tl_vec_desc{}) {
		return fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_vec_desc)", size)
	}
	d := load[tl_vec_desc](description)
	name, named := text(d.Name)
	if !named {
		name = "unnamed"
	}
	shape := object.VecShape{Data: d.DataOffset, Length: d.LengthOffset, Capacity: d.CapacityOffset,
		NumberBytes: uintptr(d.NumberBytes), ElementBytes: d.ElementBytes, Element: d.ElementType,
		Pointers: d.Elements == elementsPointers}
	switch {
	case d.Flags != 0:
		return fail(o, status.InvalidArgument, "flags %#x are unknown; pass 0", d.Flags)
	case d.Elements > elementsBytes:
		return fail(o, status.InvalidArgument, "elements is %d, which is none of TL_VEC_*", d.Elements)
	case d.Elements == elementsStructs && d.ElementType == 0, d.Elements == elementsBytes && d.ElementType != 0:
		return fail(o, status.InvalidArgument, "element_type is %d; TL_VEC_STRUCTS needs one, TL_VEC_BYTES has none",
			d.ElementType)
	}
	id, st := o.Define(object.Type{Name: name, Size: d.Size, Destructor: d.Destructor, Vec: &shape})
	if st == status.OK {
		store(out, id)
	}
	return st
}
