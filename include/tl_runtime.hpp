/* TL Runtime for C++17: scopes, references and frames that close themselves.
 *
 * Header only, over tl_runtime.h, tl_result.hpp and tl_scope.hpp. Why these shapes:
 *
 * - A C++ program counts by object lifetime, emitted code by scopes. tl::ref
 *   holds a counted reference of its own, never a floating one, so that code
 *   which registers the same object cannot sink the reference away from it.
 * - Destructors do not throw: a close that fails has changed nothing, and
 *   tl_last_status has the status. All other failures are reported by constructors
 *   and functions, which throw tl::error; functions named try_ return a tl::result.
 *   tl_result.hpp explains both, and programs without exceptions.
 * - Fields of runtime objects are tl::field, not tl::ref: the runtime releases
 *   them itself, without recursion, and clones and collects through them.
 *
 * Scopes and frames belong to the thread that opened them. References may be
 * used by any thread; one tl::ref object by one thread at a time.
 */
#ifndef TL_RUNTIME_HPP
#define TL_RUNTIME_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tl_scope.hpp"

TL_BEGIN_NAMESPACE

/* A counted reference to an object of the runtime, or NULL.
 *
 * Copying acquires, moving does not count, the destructor releases. A copy that fails throws; without
 * exceptions it is empty. T may be incomplete (tl_tensor) or void.
 */
template <class T>
class ref {
  public:
	ref() noexcept = default;
	ref(std::nullptr_t) noexcept {}
	ref(const ref& other) : pointer_(acquired(other.pointer_)) {}
	ref(ref&& other) noexcept : pointer_(other.detach()) {}

	/* To const T and to void, where the address stays the same. */
	template <class U,
	          class = std::enable_if_t<std::is_convertible_v<U*, T*> &&
	                                   (std::is_void_v<T> || std::is_same_v<std::remove_cv_t<U>, std::remove_cv_t<T>>)>>
	ref(ref<U> other) noexcept : pointer_(other.detach())
	{
	}
	ref& operator=(ref other) noexcept
	{
		swap(other);
		return *this;
	}
	~ref() { tl_ptr_release(address(pointer_)); }

	/* Takes over a counted reference that the caller holds. */
	static ref adopt(T* counted) noexcept
	{
		ref taken;
		taken.pointer_ = counted;
		return taken;
	}

	/* Adds a reference to a live object that other code holds. */
	static result<ref> try_retain(T* borrowed)
	{
		const tl_status status = tl_ptr_inc_ref(address(borrowed));
		if (status != TL_OK) {
			return failure::of(status);
		}
		return adopt(borrowed);
	}

	/* Turns a floating reference (tl_mem_alloc, tl_mem_unregister) into a held one. */
	static result<ref> try_sink(T* floating)
	{
		const result<scope> passage = scope::try_enter();
		if (!passage) {
			return passage.error();
		}
		const tl_status status = tl_mem_register_ptr(address(floating));
		if (status != TL_OK) {
			return failure::of(status);
		}
		return try_retain(floating);
	}

#ifndef TL_NO_EXCEPTIONS
	static ref retain(T* borrowed) { return adopt(acquired(borrowed)); }
	static ref sink(T* floating) { return try_sink(floating).value(); }
#endif

	T* get() const noexcept { return pointer_; }
	explicit operator bool() const noexcept { return pointer_ != nullptr; }
	T* operator->() const noexcept { return pointer_; }
	template <class U = T>
	std::enable_if_t<!std::is_void_v<U>, U&> operator*() const noexcept
	{
		return *pointer_;
	}

	/* Gives the reference to the caller, who has to release the pointer. */
	[[nodiscard]] T* detach() noexcept { return std::exchange(pointer_, nullptr); }

	void reset() noexcept { ref().swap(*this); }
	void swap(ref& other) noexcept { std::swap(pointer_, other.pointer_); }

	/* References of any kind to the object; exact while no other thread counts it. */
	std::int64_t use_count() const noexcept { return tl_ptr_refcount(pointer_); }

	/* Whether this is the only reference: the object may be changed in place (tl_ptr_is_unique). */
	bool is_unique() const noexcept { return tl_ptr_is_unique(pointer_); }

	friend bool operator==(const ref& a, const ref& b) noexcept { return a.pointer_ == b.pointer_; }
	friend bool operator!=(const ref& a, const ref& b) noexcept { return a.pointer_ != b.pointer_; }
	friend bool operator==(const ref& a, std::nullptr_t) noexcept { return a.pointer_ == nullptr; }
	friend bool operator!=(const ref& a, std::nullptr_t) noexcept { return a.pointer_ != nullptr; }
	friend void swap(ref& a, ref& b) noexcept { a.swap(b); }

  private:
	static void* address(T* pointer) noexcept { return const_cast<std::remove_cv_t<T>*>(pointer); }
	static T* acquired(T* pointer)
	{
		const tl_status status = tl_ptr_inc_ref(address(pointer));
#ifdef TL_NO_EXCEPTIONS
		return status == TL_OK ? pointer : nullptr;
#else
		check(status);
		return pointer;
#endif
	}

	T* pointer_ = nullptr;
};

/* A reference inside an object of the runtime, declared in its tl::type.
 *
 * Assigning counts. The destructor does not: the runtime releases the fields of an object itself,
 * after the object's destructor, so that long chains need no stack.
 */
template <class T>
class field {
  public:
	field() noexcept = default;
	field(const field&) = delete;
	field& operator=(const field&) = delete;
	~field() = default;

	field& operator=(ref<T> value) noexcept
	{
		ref<T>::adopt(std::exchange(pointer_, value.detach())).reset();
		return *this;
	}

	T* get() const noexcept { return pointer_; }
	T* operator->() const noexcept { return pointer_; }
	T& operator*() const noexcept { return *pointer_; }
	explicit operator bool() const noexcept { return pointer_ != nullptr; }

	/* Another reference to the same object. */
	result<ref<T>> try_share() const { return ref<T>::try_retain(pointer_); }
#ifndef TL_NO_EXCEPTIONS
	ref<T> share() const { return ref<T>::retain(pointer_); }
#endif

  private:
	T* pointer_ = nullptr;
};

/* A type that the runtime knows: where the fields of a T are, and its destructor. */
template <class T>
class type {
  public:
	static_assert(alignof(T) <= 32, "objects of the runtime are 32-byte aligned");

	/* Defines it. Fields are members of type tl::field or plain pointers to
	 * objects of the runtime, for example define("node", &node::next). Objects that a T holds in
	 * any other way are not found. */
	template <class... Members>
	static result<type> try_define(const char* name, Members T::*... members)
	{
		static_assert(((sizeof(Members) == sizeof(void*)) && ...), "a field is one pointer");
		type defined;
		defined.offsets_ = {offset(members)...};
		tl_type_desc description{};
		description.name = name;
		description.size = sizeof(T);
		description.pointer_offsets = defined.offsets_.data();
		description.num_pointers = defined.offsets_.size();
		description.destructor = std::is_trivially_destructible_v<T> ? nullptr : &destroy;
		const tl_status status = tl_type_define(&description, &defined.id_);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return defined;
	}

#ifndef TL_NO_EXCEPTIONS
	template <class... Members>
	static type define(const char* name, Members T::*... members)
	{
		return try_define(name, members...).value();
	}
#endif

	tl_type id() const noexcept { return id_; }

	/* A new T, held only by the returned reference. What T's constructor throws passes. */
	template <class... Args>
	result<ref<T>> try_make(Args&&... args) const
	{
		std::unique_ptr<void, unconstructed> memory(allocate(), unconstructed{this});
		if (memory == nullptr) {
			return failure::last();
		}
		T* object = ::new (memory.get()) T(std::forward<Args>(args)...);
		static_cast<void>(memory.release());
		return ref<T>::adopt(object);
	}

#ifndef TL_NO_EXCEPTIONS
	template <class... Args>
	ref<T> make(Args&&... args) const
	{
		return try_make(std::forward<Args>(args)...).value();
	}
#endif

  private:
	/* Frees the memory of a T whose constructor threw: runs no destructor, but releases the fields
	 * that the constructor had set. */
	struct unconstructed {
		const type* owner;

		void operator()(void* object) const noexcept
		{
			for (const std::size_t at : owner->offsets_) {
				tl_ptr_release(*reinterpret_cast<void**>(static_cast<std::byte*>(object) + at));
			}
			if (tl_ptr_dec_ref(object) == 1) {
				tl_mem_free(object);
			}
		}
	};

	/* A zeroed object with one counted reference. tl_object_new registers the object; the scope
	 * opened here drops that reference again. */
	void* allocate() const noexcept
	{
		const std::int64_t depth = tl_get_scope_depth();
		if (tl_mem_enter_scope() != TL_OK) {
			return nullptr;
		}
		void* object = (tl_object_new)(id_); /* no macro of TL_TRACK_ALLOCATIONS: the line would be this one */
		tl_ptr_acquire(object);
		tl_mem_exit_scopes_to(depth);
		return object;
	}

	static void destroy(void* object) { std::destroy_at(static_cast<T*>(object)); }

	template <class Member>
	static std::size_t offset(Member T::* member) noexcept
	{
		alignas(T) static std::byte space[sizeof(T)];
		const T* object = reinterpret_cast<const T*>(space);
		return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(std::addressof(object->*member)) - space);
	}

	tl_type id_ = 0;
	std::vector<std::size_t> offsets_;
};

namespace detail {

template <class T>
result<const type<T>*> defined_as(const type<T>& defined)
{
	return &defined;
}

template <class T>
result<const type<T>*> defined_as(const result<type<T>>& defined)
{
	if (!defined) {
		return defined.error();
	}
	return &*defined;
}

/* A type without fields, defined by the first call that succeeds. */
template <class T, class = void>
struct type_holder {
	static result<const type<T>*> get()
	{
		static std::atomic<const type<T>*> known{nullptr};
		if (const type<T>* defined = known.load(std::memory_order_acquire)) {
			return defined;
		}
		static std::mutex mutex;
		static std::optional<type<T>> kept;
		const std::lock_guard<std::mutex> lock(mutex);
		if (!kept) {
			result<type<T>> defined = type<T>::try_define(nullptr);
			if (!defined) {
				return defined.error();
			}
			kept = *std::move(defined);
			known.store(&*kept, std::memory_order_release);
		}
		return &*kept;
	}
};

template <class T>
struct type_holder<T, std::void_t<decltype(T::runtime_type())>> {
	static result<const type<T>*> get() { return defined_as<T>(T::runtime_type()); }
};

} // namespace detail

/* The type that T::runtime_type() returns, a tl::type<T> or a result of one; without such a function
 * a type without fields. */
template <class T>
result<const type<T>*> try_type_of()
{
	return detail::type_holder<T>::get();
}

/* A new T, held only by the returned reference. What T's constructor throws passes. */
template <class T, class... Args>
result<ref<T>> try_make(Args&&... args)
{
	const result<const type<T>*> known = try_type_of<T>();
	if (!known) {
		return known.error();
	}
	return (*known)->try_make(std::forward<Args>(args)...);
}

#ifndef TL_NO_EXCEPTIONS

template <class T>
const type<T>& type_of()
{
	return *try_type_of<T>().value();
}

template <class T, class... Args>
ref<T> make(Args&&... args)
{
	return try_make<T>(std::forward<Args>(args)...).value();
}

#endif

namespace detail {

/* Calls a function that registers what it makes, and holds that by a reference of its own. */
template <class Handle, class Make>
result<Handle> owned(Make make)
{
	const result<scope> passage = scope::try_enter();
	if (!passage) {
		return passage.error();
	}
	auto* made = make();
	if (made == nullptr) {
		return failure::last();
	}
	using held = ref<std::remove_pointer_t<decltype(made)>>;
	result<held> kept = held::try_retain(made);
	if (!kept) {
		return kept.error();
	}
	return Handle(*std::move(kept));
}

} // namespace detail

TL_END_NAMESPACE

#endif
