/* TL Runtime for C++17: tensors, their views, and DLPack.
 *
 * Header only, over tl_runtime.hpp. A tl::tensor is a tl::ref<tl_tensor>, a counted
 * reference of its own, with the properties and views as members. Views share memory and keep it
 * alive; only clone copies. Copying a tl::tensor counts, moving it does not. Functions named try_
 * return a tl::result; those at the end of the class throw tl::error instead.
 *
 * This header only names DLPack's structs: include dlpack.h to use their fields.
 */
#ifndef TL_TENSOR_HPP
#define TL_TENSOR_HPP

#include <complex>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

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
template <>
struct dtype_of<std::complex<float>> : std::integral_constant<std::int32_t, TL_DTYPE_C64> {};
template <>
struct dtype_of<std::complex<double>> : std::integral_constant<std::int32_t, TL_DTYPE_C128> {};

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
	static result<tensor> try_empty(const extents& shape)
	{
		return own([&] { return (tl_tensor_empty)(dtype_of<T>::value, TL_DEVICE_CPU, rank_of(shape), shape.data()); });
	}
	template <class T>
	static result<tensor> try_zeros(const extents& shape)
	{
		return own(
			[&] { return (tl_tensor_new_zeroed)(dtype_of<T>::value, TL_DEVICE_CPU, rank_of(shape), shape.data()); });
	}

	/* A tensor over memory that deleter(data, ctx) frees. On failure the memory stays the caller's. */
	template <class T>
	static result<tensor> try_borrow(T* data, const extents& shape, tl_deleter deleter = nullptr, void* ctx = nullptr)
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
	result<tl_tensor_info> try_info() const
	{
		tl_tensor_info known{};
		known.struct_size = sizeof known;
		const tl_status status = tl_tensor_info_get(get(), &known);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return known;
	}

	std::int64_t rank() const { return tl_tensor_rank(get()); }
	std::int64_t size() const { return tl_tensor_numel(get()); }
	std::int64_t dim(std::int64_t axis) const { return tl_tensor_dim(get(), axis); }
	bool is_contiguous() const { return tl_tensor_is_contiguous(get()); }
	result<bool> try_is_read_only() const
	{
		const result<tl_tensor_info> known = try_info();
		if (!known) {
			return known.error();
		}
		return (known->flags & TL_TENSOR_FLAG_READ_ONLY) != 0;
	}
	result<extents> try_shape() const
	{
		const result<tl_tensor_info> known = try_info();
		if (!known) {
			return known.error();
		}
		return extents(known->shape, known->shape + known->rank);
	}

	/* The first element; fails when elements are of another type, or T could write what is read-only. */
	template <class T>
	result<T*> try_data() const
	{
		const result<tl_tensor_info> known = try_info();
		if (!known) {
			return known.error();
		}
		const bool writes = !std::is_const_v<T> && (known->flags & TL_TENSOR_FLAG_READ_ONLY) != 0;
		if (known->dtype != dtype_of<std::remove_const_t<T>>::value || writes) {
			return detail::refusal("tl::tensor::data", "the tensor is not one of such elements, or it is read-only");
		}
		return static_cast<T*>(known->data);
	}

	/* Views, as tl_view_reshape and the others in tl_runtime.h describe. */
	result<tensor> try_reshape(const extents& shape) const
	{
		return own([&] { return (tl_view_reshape)(get(), rank_of(shape), shape.data()); });
	}
	result<tensor> try_slice(std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const
	{
		return own([&] { return (tl_view_slice)(get(), axis, start, stop, step); });
	}
	result<tensor> try_transpose(std::int64_t axis_a = 0, std::int64_t axis_b = 1) const
	{
		return own([&] { return (tl_view_transpose)(get(), axis_a, axis_b); });
	}
	result<tensor> try_permute(const extents& axes) const
	{
		return own([&] { return (tl_view_permute)(get(), rank_of(axes), axes.data()); });
	}
	result<tensor> try_broadcast_to(const extents& shape) const
	{
		return own([&] { return (tl_view_broadcast_to)(get(), rank_of(shape), shape.data()); });
	}
	result<tensor> try_squeeze(std::int64_t axis) const
	{
		return own([&] { return (tl_view_squeeze)(get(), axis); });
	}
	result<tensor> try_expand_dims(std::int64_t axis) const
	{
		return own([&] { return (tl_view_expand_dims)(get(), axis); });
	}

	/* Parts of the first axes; those after them stay whole. */
	result<tensor> try_slice(std::initializer_list<part> parts) const
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

	/* The tensor whose memory a view shares; none for a tensor that is not a view. */
	result<tensor> try_base() const
	{
		const result<tl_tensor*> shared = try_check(tl_tensor_base(get()));
		if (!shared) {
			return shared.error();
		}
		result<ref> held = ref::try_retain(*shared);
		if (!held) {
			return held.error();
		}
		return tensor(*std::move(held));
	}

	/* A contiguous copy. */
	result<tensor> try_clone() const
	{
		return own([&] { return (tl_tensor_clone)(get()); });
	}

	/* Another first extent, in place while the capacity lasts; TL_E_BUSY while there is another reference. Pointers of
	 * data are to be asked for again. */
	result<void> try_resize(std::int64_t extent, bool zeros = false) const
	{
		return result<void>::of((zeros ? tl_tensor_resize_zeros : tl_tensor_resize)(get(), extent));
	}
	result<void> try_reserve(std::int64_t capacity) const
	{
		return result<void>::of(tl_tensor_reserve(get(), capacity));
	}
	std::int64_t capacity() const { return tl_tensor_capacity(get()); }

	/* A contiguous copy on a device: to(TL_DEVICE_SHARED) is memory that other processes can open. */
	result<tensor> try_to(std::int32_t device) const
	{
		return own([&] { return (tl_tensor_to)(get(), device); });
	}

	/* What another process opens a tensor of TL_DEVICE_SHARED with. fd is the caller's to close. */
	result<tl_tensor_shared> try_share(std::uint32_t flags = 0) const
	{
		tl_tensor_shared shared{};
		shared.struct_size = sizeof shared;
		const tl_status status = tl_tensor_share(get(), flags, &shared);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return shared;
	}

	/* A tensor over the memory of another process; shared.fd stays the caller's. */
	static result<tensor> try_open(const tl_tensor_shared& shared)
	{
		return own([&] { return (tl_tensor_open)(&shared); });
	}

	/* For a consumer, who calls the struct's deleter. */
	result<DLManagedTensorVersioned*> try_to_dlpack(bool copy = false) const
	{
		return try_check(tl_tensor_to_dlpack(get(), copy));
	}
	result<DLManagedTensor*> try_to_dlpack_legacy(bool copy = false) const
	{
		return try_check(tl_tensor_to_dlpack_legacy(get(), copy));
	}

	/* From a producer; takes the struct unless it fails. */
	static result<tensor> try_from_dlpack(DLManagedTensorVersioned* managed)
	{
		return own([&] { return (tl_tensor_from_dlpack)(managed); });
	}
	static result<tensor> try_from_dlpack(DLManagedTensor* managed)
	{
		return own([&] { return (tl_tensor_from_dlpack_legacy)(managed); });
	}

#ifndef TL_NO_EXCEPTIONS
	template <class T>
	static tensor empty(const extents& shape)
	{
		return try_empty<T>(shape).value();
	}
	template <class T>
	static tensor zeros(const extents& shape)
	{
		return try_zeros<T>(shape).value();
	}
	template <class T>
	static tensor borrow(T* data, const extents& shape, tl_deleter deleter = nullptr, void* ctx = nullptr)
	{
		return try_borrow(data, shape, deleter, ctx).value();
	}
	tl_tensor_info info() const { return try_info().value(); }
	bool is_read_only() const { return try_is_read_only().value(); }
	extents shape() const { return try_shape().value(); }
	template <class T>
	T* data() const
	{
		return try_data<T>().value();
	}
	tensor reshape(const extents& shape) const { return try_reshape(shape).value(); }
	tensor slice(std::int64_t axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1) const
	{
		return try_slice(axis, start, stop, step).value();
	}
	tensor slice(std::initializer_list<part> parts) const { return try_slice(parts).value(); }
	tensor transpose(std::int64_t axis_a = 0, std::int64_t axis_b = 1) const
	{
		return try_transpose(axis_a, axis_b).value();
	}
	tensor permute(const extents& axes) const { return try_permute(axes).value(); }
	tensor broadcast_to(const extents& shape) const { return try_broadcast_to(shape).value(); }
	tensor squeeze(std::int64_t axis) const { return try_squeeze(axis).value(); }
	tensor expand_dims(std::int64_t axis) const { return try_expand_dims(axis).value(); }
	tensor base() const { return try_base().value(); }
	tensor clone() const { return try_clone().value(); }
	void resize(std::int64_t extent, bool zeros = false) const { try_resize(extent, zeros).value(); }
	void reserve(std::int64_t capacity) const { try_reserve(capacity).value(); }
	tensor to(std::int32_t device) const { return try_to(device).value(); }
	[[nodiscard]] tl_tensor_shared share(std::uint32_t flags = 0) const { return try_share(flags).value(); }
	static tensor open(const tl_tensor_shared& shared) { return try_open(shared).value(); }
	[[nodiscard]] DLManagedTensorVersioned* to_dlpack(bool copy = false) const { return try_to_dlpack(copy).value(); }
	[[nodiscard]] DLManagedTensor* to_dlpack_legacy(bool copy = false) const
	{
		return try_to_dlpack_legacy(copy).value();
	}
	static tensor from_dlpack(DLManagedTensorVersioned* managed) { return try_from_dlpack(managed).value(); }
	static tensor from_dlpack(DLManagedTensor* managed) { return try_from_dlpack(managed).value(); }
#endif

  private:
	static std::int64_t rank_of(const extents& shape) { return static_cast<std::int64_t>(shape.size()); }

	template <class Make>
	static result<tensor> own(Make make)
	{
		return detail::owned<tensor>(make);
	}
};

TL_END_NAMESPACE

#endif
