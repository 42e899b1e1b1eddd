package main

import "C"

import (
	"unsafe"

	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

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
