/* TL Runtime for C++17: registered memory, memory resources, workspaces.
 *
 * Header only, over tl_runtime.hpp. Why these shapes:
 *
 * - Any thread may drop the last reference to a registered block, so the way to free it
 *   is chosen when it is registered: operator delete if T has no destructor to run,
 *   delete of a T if it has one.
 * - tl::registry_guard is one reference at one address, as tl::ref is to an object:
 *   move only, since a copy would hide a call.
 * - A caller whose registration fails keeps the memory: own_ functions have changed nothing.
 *
 * Functions named try_ return a tl::result; those without it throw tl::error instead.
 */
#ifndef TL_REGISTRY_HPP
#define TL_REGISTRY_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_memory_resource.hpp"
#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

/* One reference to a registered block, dropped when the guard ends. */
template <class T>
class registry_guard {
  public:
	registry_guard() noexcept = default;
	registry_guard(registry_guard&& other) noexcept : pointer_(other.release()) {}
	registry_guard& operator=(registry_guard&& other) noexcept
	{
		registry_guard(std::move(other)).swap(*this);
		return *this;
	}
	~registry_guard() { tl_registry_unregister(const_cast<std::remove_cv_t<T>*>(pointer_)); }

	/* Takes over a reference that the caller holds. */
	static registry_guard adopt(T* registered) noexcept
	{
		registry_guard taken;
		taken.pointer_ = registered;
		return taken;
	}

	T* get() const noexcept { return pointer_; }
	explicit operator bool() const noexcept { return pointer_ != nullptr; }
	T* operator->() const noexcept { return pointer_; }
	T& operator[](std::size_t i) const noexcept { return pointer_[i]; }

	/* Gives the reference to the caller, who has to unregister the pointer. */
	[[nodiscard]] T* release() noexcept { return std::exchange(pointer_, nullptr); }

	/* Drops the reference now. */
	void reset() noexcept { registry_guard().swap(*this); }

	/* Another reference at the same address. */
	result<registry_guard> try_share() const
	{
		return over(tl_ptr_inc_ref(const_cast<std::remove_cv_t<T>*>(pointer_)), pointer_);
	}
#ifndef TL_NO_EXCEPTIONS
	registry_guard share() const { return try_share().value(); }
#endif

	/* The guard of a reference that a call with this status has made. */
	static result<registry_guard> over(tl_status status, T* registered)
	{
		if (status != TL_OK) {
			return failure::of(status);
		}
		return adopt(registered);
	}

	void swap(registry_guard& other) noexcept { std::swap(pointer_, other.pointer_); }

  private:
	T* pointer_ = nullptr;
};

namespace detail {

/* Would `delete` of a T in the place of this class call an operator of T's own? A class
 * that has one, of whatever parameters, hides the name that is inherited from `global`. */
struct global {
	static void operator delete(void*) {}
	static void operator delete[](void*) {}
};
template <class T>
struct beside_global : T, global {};
template <class T, class = void>
inline constexpr bool scalar_is_own = true;
template <class T>
inline constexpr bool scalar_is_own<T, std::void_t<decltype(&beside_global<T>::operator delete)>> = false;
template <class T, class = void>
inline constexpr bool array_is_own = true;
template <class T>
inline constexpr bool array_is_own<T, std::void_t<decltype(&beside_global<T>::operator delete[])>> = false;

template <class T>
constexpr bool has_own_delete()
{
	if constexpr (std::is_class_v<T> && !std::is_final_v<T>) {
		return scalar_is_own<T> || array_is_own<T>;
	} else {
		return std::is_class_v<T> || std::is_union_v<T>; /* not known; delete by T is always correct */
	}
}

/* The kinds for C++ call the global operator delete of the default alignment only. */
template <class T>
inline constexpr bool plain_delete =
	std::is_trivially_destructible_v<T> && !has_own_delete<T>() && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;

template <class T>
void delete_array(void* first, void*)
{
	delete[] static_cast<T*>(first);
}

template <class T>
void delete_scalar(void* object, void*)
{
	delete static_cast<T*>(object);
}

/* What n values occupy; more bytes than any block has when no number tells. */
template <class T>
constexpr std::size_t bytes_of(std::size_t n) noexcept
{
	return n <= static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T) ? n * sizeof(T) : SIZE_MAX;
}

template <class T>
tl_status register_array(T* first, std::size_t n)
{
	if constexpr (plain_delete<T>) {
		return tl_registry_register(first, bytes_of<T>(n), TL_ALLOC_NEW_ARRAY);
	} else {
		return tl_registry_register_custom(first, bytes_of<T>(n), &delete_array<T>, nullptr);
	}
}

} // namespace detail

/* Registers the n values of `new T[n]`; their destructors run when the block is freed. */
template <class T>
result<registry_guard<T>> try_own_array(T* first, std::size_t n)
{
	return registry_guard<T>::over(detail::register_array(first, n), first);
}

/* Registers the value of `new T`. T must be the type that was allocated. */
template <class T>
result<registry_guard<T>> try_own_scalar(T* object)
{
	if constexpr (detail::plain_delete<T>) {
		return registry_guard<T>::over(tl_registry_register(object, sizeof(T), TL_ALLOC_NEW_SCALAR), object);
	} else {
		return registry_guard<T>::over(
			tl_registry_register_custom(object, sizeof(T), &detail::delete_scalar<T>, nullptr), object);
	}
}

/* Registers memory of n values with its kind; no destructors run. */
template <class T>
result<registry_guard<T>> try_own(T* first, std::size_t n, tl_alloc_kind kind)
{
	static_assert(std::is_trivially_destructible_v<T>, "own_array and own_scalar run destructors");
	return registry_guard<T>::over(tl_registry_register(first, detail::bytes_of<T>(n), kind), first);
}

/* Registers memory that deleter(first, ctx) frees. */
template <class T>
result<registry_guard<T>> try_own(T* first, std::size_t n, tl_deleter deleter, void* ctx)
{
	return registry_guard<T>::over(tl_registry_register_custom(first, detail::bytes_of<T>(n), deleter, ctx), first);
}

/* n values, initialised as T() is, in registered memory; aligned to 64 where T has no
 * destructor. What T's constructor throws passes. */
template <class T>
result<registry_guard<T>> try_new_array(std::size_t n)
{
	if (detail::too_many<T>(n)) {
		return detail::refusal("tl::new_array", "so many values are larger than memory");
	}
	if constexpr (std::is_trivially_destructible_v<T> && alignof(T) <= 64) {
		const result<void*> block = try_check((tl_registry_new_array)(n, sizeof(T)));
		if (!block) {
			return block.error();
		}
		auto memory = registry_guard<T>::adopt(static_cast<T*>(*block));
		std::uninitialized_value_construct_n(memory.get(), n);
		return memory;
	} else {
		std::unique_ptr<T[]> made(new T[n]());
		auto owned = try_own_array(made.get(), n);
		if (owned) {
			static_cast<void>(made.release());
		}
		return owned;
	}
}

/* A block with its aliases, one guard for each reference. */
template <class T>
struct registry_buffer {
	registry_guard<T> block;
	std::vector<registry_guard<T>> aliases;
	std::uint64_t id = 0;

	/* Adds a reference at an address inside the block. */
	result<void> try_add_alias(T* alias)
	{
		aliases.emplace_back(); /* no reference is lost when a later line throws */
		const tl_status status = tl_registry_add_alias(id, alias);
		if (status == TL_OK) {
			aliases.back() = registry_guard<T>::adopt(alias);
			return {};
		}
		aliases.pop_back();
		return failure::of(status);
	}
#ifndef TL_NO_EXCEPTIONS
	void add_alias(T* alias) { try_add_alias(alias).value(); }
#endif
};

namespace detail {

/* Registers a buffer by `call`, which gets the aliases and where its id goes. */
template <class T, class Call>
result<registry_buffer<T>> make_buffer(T* first, T* const* aliases, std::size_t count, Call call)
{
	registry_buffer<T> made;
	made.aliases.reserve(count);
	const std::vector<void*> names(aliases, aliases + count);
	const tl_status status = call(names.data(), &made.id);
	if (status != TL_OK) {
		return failure::of(status);
	}
	made.block = registry_guard<T>::adopt(first);
	for (std::size_t i = 0; i < count; i++) {
		made.aliases.push_back(registry_guard<T>::adopt(aliases[i]));
	}
	return made;
}

} // namespace detail

/* Registers n values under their own address and under count aliases. */
template <class T>
result<registry_buffer<T>> try_own_buffer(T* first, std::size_t n, T* const* aliases, std::size_t count,
                                          tl_alloc_kind kind)
{
	static_assert(std::is_trivially_destructible_v<T>, "nobody runs the destructors of a buffer's values");
	return detail::make_buffer(first, aliases, count, [&](void* const* names, std::uint64_t* id) {
		return tl_registry_register_buffer(first, detail::bytes_of<T>(n), names, count, kind, id);
	});
}

/* The same for memory that deleter(first, ctx) frees. On failure it stays the caller's. */
template <class T>
result<registry_buffer<T>> try_own_buffer(T* first, std::size_t n, T* const* aliases, std::size_t count,
                                          tl_deleter deleter, void* ctx)
{
	return detail::make_buffer(first, aliases, count, [&](void* const* names, std::uint64_t* id) {
		return tl_registry_register_custom_buffer(first, detail::bytes_of<T>(n), names, count, deleter, ctx, id);
	});
}

namespace detail {

/* The pointers of a container; an array of void* is used without a copy. */
template <class Pointers>
auto untyped(const Pointers& pointers)
{
	if constexpr (std::is_convertible_v<decltype(std::data(pointers)), void* const*>) {
		return std::data(pointers);
	} else {
		return std::vector<void*>(std::begin(pointers), std::end(pointers));
	}
}
inline void* const* address(void* const* first) { return first; }
inline void* const* address(const std::vector<void*>& all) { return all.data(); }

} // namespace detail

/* Registers all blocks of a span or container of pointers, with their sizes in another,
 * or none of them. No destructors run. */
template <class Pointers, class Sizes>
result<void> try_register_many(const Pointers& pointers, const Sizes& bytes, tl_alloc_kind kind)
{
	if (std::size(pointers) != std::size(bytes)) {
		return detail::refusal("tl::register_many", "as many sizes as pointers are needed");
	}
	const auto all = detail::untyped(pointers);
	return try_check(tl_registry_register_many(detail::address(all), std::data(bytes), std::size(pointers), kind));
}

/* Drops one reference of each pointer and returns how many were dropped. */
template <class Pointers>
std::size_t unregister_many(const Pointers& pointers)
{
	const auto all = detail::untyped(pointers);
	return tl_registry_unregister_many(detail::address(all), std::size(pointers));
}

#ifndef TL_NO_EXCEPTIONS

template <class T>
registry_guard<T> own_array(T* first, std::size_t n)
{
	return try_own_array(first, n).value();
}

template <class T>
registry_guard<T> own_scalar(T* object)
{
	return try_own_scalar(object).value();
}

template <class T>
registry_guard<T> own(T* first, std::size_t n, tl_alloc_kind kind)
{
	return try_own(first, n, kind).value();
}

template <class T>
registry_guard<T> own(T* first, std::size_t n, tl_deleter deleter, void* ctx)
{
	return try_own(first, n, deleter, ctx).value();
}

template <class T>
registry_guard<T> new_array(std::size_t n)
{
	if (detail::too_many<T>(n)) {
		throw std::bad_array_new_length();
	}
	return try_new_array<T>(n).value();
}

template <class T>
registry_buffer<T> own_buffer(T* first, std::size_t n, T* const* aliases, std::size_t count, tl_alloc_kind kind)
{
	return try_own_buffer(first, n, aliases, count, kind).value();
}

template <class T>
registry_buffer<T> own_buffer(T* first, std::size_t n, T* const* aliases, std::size_t count, tl_deleter deleter,
                              void* ctx)
{
	return try_own_buffer(first, n, aliases, count, deleter, ctx).value();
}

template <class Pointers, class Sizes>
void register_many(const Pointers& pointers, const Sizes& bytes, tl_alloc_kind kind)
{
	try_register_many(pointers, bytes, kind).value();
}

#endif

/* A workspace of the object's own. get is inline: a comparison, a product and a sum. */
class workspace {
  public:
	static result<workspace> try_create(std::size_t threads, std::size_t bytes_each, std::size_t alignment = 64)
	{
		tl_workspace* made = nullptr;
		const tl_status status = tl_workspace_create(threads, bytes_each, alignment, &made);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return workspace(made);
	}
#ifndef TL_NO_EXCEPTIONS
	workspace(std::size_t threads, std::size_t bytes_each, std::size_t alignment = 64)
		: workspace(try_create(threads, bytes_each, alignment).value())
	{
	}
#endif
	workspace(workspace&& other) noexcept
		: handle_(std::exchange(other.handle_, nullptr)), base_(other.base_), stride_(other.stride_),
		  count_(std::exchange(other.count_, 0))
	{
	}
	workspace& operator=(workspace&& other) noexcept
	{
		workspace(std::move(other)).swap(*this);
		return *this;
	}
	~workspace() { tl_workspace_destroy(handle_); }

	/* The block of a worker; NULL, with the status recorded, when there is no such block. */
	template <class T = void>
	T* get(std::size_t rank) const noexcept
	{
		void* block = rank < count_ ? base_ + rank * stride_ : tl_workspace_get(handle_, rank);
		return static_cast<T*>(block);
	}

	std::size_t size() const noexcept { return count_; }
	std::size_t bytes() const noexcept { return handle_ != nullptr ? handle_->bytes_each : 0; }
	tl_workspace* handle() const noexcept { return handle_; }

	void swap(workspace& other) noexcept
	{
		std::swap(handle_, other.handle_);
		std::swap(base_, other.base_);
		std::swap(stride_, other.stride_);
		std::swap(count_, other.count_);
	}

  private:
	explicit workspace(tl_workspace* made) noexcept
		: handle_(made), base_(static_cast<std::byte*>(made->base)), stride_(made->stride), count_(made->count)
	{
	}

	tl_workspace* handle_ = nullptr;
	std::byte* base_ = nullptr;
	std::size_t stride_ = 0;
	std::size_t count_ = 0;
};

TL_END_NAMESPACE

#endif
