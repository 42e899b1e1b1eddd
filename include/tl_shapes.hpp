/* C++ for structs and Vecs that a program lays out itself, in memory of malloc.
 *
 * Functions named try_ return a tl::result; those without it throw tl::error instead.
 */
#ifndef TL_SHAPES_HPP
#define TL_SHAPES_HPP

#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

/* Gives a T in memory of malloc to the runtime, which releases its fields, runs its destructor and
 * frees it. The returned reference is the only one. On failure the memory is the caller's still. */
template <class T>
result<ref<T>> try_take(T* in_malloc, const type<T>& as)
{
	const std::int64_t depth = tl_get_scope_depth();
	tl_status status = tl_mem_enter_scope();
	if (status == TL_OK) {
		status = tl_mem_register_struct_typed(in_malloc, as.id());
		if (status == TL_OK) {
			tl_ptr_acquire(in_malloc);
		}
		tl_mem_exit_scopes_to(depth);
	}
	if (status != TL_OK) {
		return failure::of(status);
	}
	return ref<T>::adopt(in_malloc);
}

#ifndef TL_NO_EXCEPTIONS
template <class T>
ref<T> take(T* in_malloc, const type<T>& as)
{
	return try_take(in_malloc, as).value();
}
#endif

/* Defines the type of Vecs of type V, by three of its members. Elements that are pointers are
 * references to objects of the runtime, all others plain bytes. */
template <class V, class Element, class Number>
result<tl_type> try_define_vec(const char* name, Element* V::* data, Number V::* length, Number V::* capacity)
{
	static_assert(sizeof(Number) == 4 || sizeof(Number) == 8, "length and capacity have 4 or 8 bytes");
	alignas(V) static std::byte space[sizeof(V)];
	const V* header = reinterpret_cast<const V*>(space);
	const auto offset = [header](const void* member) {
		return static_cast<std::size_t>(static_cast<const std::byte*>(member) -
		                                reinterpret_cast<const std::byte*>(header));
	};
	tl_vec_desc description{};
	description.struct_size = sizeof description;
	description.name = name;
	description.size = sizeof(V);
	description.data_offset = offset(std::addressof(header->*data));
	description.length_offset = offset(std::addressof(header->*length));
	description.capacity_offset = offset(std::addressof(header->*capacity));
	description.number_bytes = sizeof(Number);
	description.elements = std::is_pointer_v<Element> ? TL_VEC_POINTERS : TL_VEC_BYTES;
	description.element_bytes = sizeof(Element);
	tl_type defined = 0;
	const tl_status status = tl_type_define_vec(&description, &defined);
	if (status != TL_OK) {
		return failure::of(status);
	}
	return defined;
}

#ifndef TL_NO_EXCEPTIONS
template <class V, class Element, class Number>
tl_type define_vec(const char* name, Element* V::* data, Number V::* length, Number V::* capacity)
{
	return try_define_vec(name, data, length, capacity).value();
}
#endif

TL_END_NAMESPACE

#endif
