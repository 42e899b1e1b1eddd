/* TL Runtime for C++17: tensors, their views, and DLPack.
 *
 * Header only, over tl_runtime.hpp. A tl::tensor is a tl::ref<tl_tensor>, a counted
 * reference of its own, with the properties and views as members. Views share memory and keep it
 * alive; only clone copies. Functions throw tl::error; copying a tl::tensor counts, moving it does
 * not.
 *
 * This header only names DLPack's structs: include dlpack.h to use their fields.
 */
#ifndef TL_TENSOR_HPP
#define TL_TENSOR_HPP

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_runtime.hpp"

namespace tl {

/* The tl_dtype of a C++ type. */
template <class T>
struct dtype_of;

template <>
struct dtype_of<float> : std::integral_constant<std::int32_t, TL_DTYPE_F32> {};
template <>
struct dtype_of<double> : std::integral_constant<std::int32_t, TL_DTYPE_F64> {};
template <>
struct dtype_of<bool> : std::integral_constant<std::int32_t, TL_DTYPE_BOOL> {};
template <>
struct dtype_of<std::int8_t> : std::integral_constant<std::int32_t, TL_DTYPE_I8> {};
template <>
struct dtype_of<std::int16_t> : std::integral_constant<std::int32_t, TL_DTYPE_I16> {};
template <>
struct dtype_of<std::int32_t> : std::integral_constant<std::int32_t, TL_DTYPE_I32> {};
template <>
struct dtype_of<std::int64_t> : std::integral_constant<std::int32_t, TL_DTYPE_I64> {};
template <>
struct dtype_of<std::uint8_t> : std::integral_constant<std::int32_t, TL_DTYPE_U8> {};
template <>
struct dtype_of<std::uint16_t> : std::integral_constant<std::int32_t, TL_DTYPE_U16> {};
template <>
struct dtype_of<std::uint32_t> : std::integral_constant<std::int32_t, TL_DTYPE_U32> {};
template <>
struct dtype_of<std::uint64_t> : std::integral_constant<std::int32_t, TL_DTYPE_U64> {};

/* What tensor::slice takes of an axis: elements start, start + step, ... before stop; {} is the whole axis. at takes one
 * element and leaves the axis out. */
struct part {
	std::int64_t start = INT64_MIN, stop = INT64_MAX, step = 1;
	static constexpr part at(std::int64_t position) { return {position, 0, 0}; }
};

class tensor : public ref<tl_tensor> {
  public:
	using extents = std::vector<std::int64_t>;

	tensor() noexcept = default;
	tensor(ref<tl_tensor> held) noexcept : ref(std::move(held)) {}

	/* A new tensor of elements of type T, undefined or 0. */
	template <class T>
	static tensor empty(const extents& shape)
	{
		return own([&] { return (tl_tensor_empty)(dtype_of<T>::value, TL_DEVICE_CPU, rank_of(shape), shape.data()); });
	}
	template <class T>
	static tensor zeros(const extents& shape)
	{
		return own(
			[&] { return (tl_tensor_new_zeroed)(dtype_of<T>::value, TL_DEVICE_CPU, rank_of(shape), shape.data()); });
	}

	/* A tensor over memory that deleter(data, ctx) frees. On failure the memory stays the caller's. */
	template <class T>
	static tensor borrow(T* data, const extents& shape, tl_deleter deleter = nullptr, void* ctx = nullptr)
	{
		using element = std::remove_const_t<T>;
		tl_tensor_info what{};
		what.struct_size = sizeof what;
		what.data = const_cast<element*>(data);
		what.shape = shape.data();
		what.rank = static_cast<std::int32_t>(shape.size());
		what.dtype = dtype_of<element>::value;
		what.flags = std::is_const_v<T> ? std::uint32_t{TL_TENSOR_FLAG_READ_ONLY} : 0u;
		return own([&] { return (tl_tensor_wrap)(&what, deleter, ctx); });
	}

	/* All properties in one call. The pointers are valid as long as the tensor. */
	tl_tensor_info info() const
	{
		tl_tensor_info known{};
		known.struct_size = sizeof known;
		check(tl_tensor_info_get(get(), &known));
		return known;
	}

	std::int64_t rank() const { return tl_tensor_rank(get()); }
	std::int64_t size() const { return tl_tensor_numel(get()); }
	std::int64_t dim(std::int64_t axis) const { return tl_tensor_dim(get(), axis); }
	bool is_contiguous() const { return tl_tensor_is_contiguous(get()); }
	bool is_read_only() const { return (info().flags & TL_TENSOR_FLAG_READ_ONLY) != 0; }
	extents shape() const
	{
		const tl_tensor_info known = info();
		return extents(known.shape, known.shape + known.rank);
	}

	/* The first element; throws when elements are of another type, or T could write what is read-only. */
	template <class T>
	T* data() const
	{
		const tl_tensor_info known = info();
		const bool writes = !std::is_const_v<T> && (known.flags & TL_TENSOR_FLAG_READ_ONLY) != 0;
		if (known.dtype != dtype_of<std::remove_const_t<T>>::value || writes) {
			throw error(failure{
				TL_E_INVALID_ARGUMENT,
				"tl::tensor::data: TL_E_INVALID_ARGUMENT: the tensor is not one of such elements, or it is read-only"});
		}
		return static_cast<T*>(known.data);
	}

	/* Views, as tl_view_reshape and the others in tl_runtime.h describe. */
	tensor reshape(const extents& shape) const
	{
		return own([&] { return (tl_view_reshape)(get(), rank_of(shape), shape.data()); });
	}
	tensor slice(std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const
	{
		return own([&] { return (tl_view_slice)(get(), axis, start, stop, step); });
	}
	/* Parts of the first axes; those after them stay whole. */
	tensor slice(std::initializer_list<part> parts) const
	{
		extents starts, stops, steps;
		for (const part& p : parts) {
			starts.push_back(p.start);
			stops.push_back(p.stop);
			steps.push_back(p.step);
		}
		return own(
			[&] { return (tl_view_slice_axes)(get(), rank_of(starts), starts.data(), stops.data(), steps.data()); });
	}
	tensor transpose(std::int64_t axis_a = 0, std::int64_t axis_b = 1) const
	{
		return own([&] { return (tl_view_transpose)(get(), axis_a, axis_b); });
	}
	tensor permute(const extents& axes) const
	{
		return own([&] { return (tl_view_permute)(get(), rank_of(axes), axes.data()); });
	}
	tensor broadcast_to(const extents& shape) const
	{
		return own([&] { return (tl_view_broadcast_to)(get(), rank_of(shape), shape.data()); });
	}
	tensor squeeze(std::int64_t axis) const
	{
		return own([&] { return (tl_view_squeeze)(get(), axis); });
	}
	tensor expand_dims(std::int64_t axis) const
	{
		return own([&] { return (tl_view_expand_dims)(get(), axis); });
	}

	/* The tensor whose memory a view shares; none for a tensor that is not a view. */
	tensor base() const { return tensor(ref::retain(check(tl_tensor_base(get())))); }

	/* A contiguous copy. */
	tensor clone() const
	{
		return own([&] { return (tl_tensor_clone)(get()); });
	}

	/* For a consumer, who calls the struct's deleter. */
	[[nodiscard]] DLManagedTensorVersioned* to_dlpack(bool copy = false) const
	{
		return check(tl_tensor_to_dlpack(get(), copy));
	}
	[[nodiscard]] DLManagedTensor* to_dlpack_legacy(bool copy = false) const
	{
		return check(tl_tensor_to_dlpack_legacy(get(), copy));
	}

	/* From a producer; takes the struct unless it throws. */
	static tensor from_dlpack(DLManagedTensorVersioned* managed)
	{
		return own([&] { return (tl_tensor_from_dlpack)(managed); });
	}
	static tensor from_dlpack(DLManagedTensor* managed)
	{
		return own([&] { return (tl_tensor_from_dlpack_legacy)(managed); });
	}

  private:
	static std::int64_t rank_of(const extents& shape) { return static_cast<std::int64_t>(shape.size()); }

	/* Functions that make tensors register them; the scope opened here drops that reference again. */
	template <class Make>
	static tensor own(Make make)
	{
		scope passage;
		return tensor(ref::retain(check(make())));
	}
};

} // namespace tl

#endif
