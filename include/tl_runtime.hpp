/* TL Runtime for C++17: scopes, references and frames that close themselves.
 *
 * Header only, over tl_runtime.h. Why these shapes:
 *
 * - A C++ program counts by object lifetime, emitted code by scopes. tl::ref
 *   holds a counted reference of its own, never a floating one, so that code
 *   which registers the same object cannot sink the reference away from it.
 * - Destructors do not throw: a close that fails has changed nothing, and
 *   tl_last_status has the status. All other failures are reported by constructors
 *   and functions, which throw tl::error; functions named try_ return a tl::result.
 * - Scopes and frames remember the depth below them and close down to it. This also
 *   closes what C code left open because an exception passed through it.
 * - Fields of runtime objects are tl::field, not tl::ref: the runtime releases
 *   them itself, without recursion, and clones and collects through them.
 *
 * Scopes and frames belong to the thread that opened them. References may be
 * used by any thread; one tl::ref object by one thread at a time.
 */
#ifndef TL_RUNTIME_HPP
#define TL_RUNTIME_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tl_runtime.h"

namespace tl {

/* Why a call failed: its status and the text of tl_last_error. */
struct failure {
	tl_status status;
	std::string message;

	/* The calling thread's last failure. */
	static failure last() { return {tl_last_status(), tl_last_error()}; }

	/* The failure behind a status that a call has just returned. */
	static failure of(tl_status status)
	{
		return {status, tl_last_status() == status ? tl_last_error() : tl_status_string(status)};
	}
};

/* A failure as an exception. what() is the text of tl_last_error. */
class error : public std::runtime_error {
  public:
	explicit error(const failure& why) : std::runtime_error(why.message), status_(why.status) {}

	tl_status status() const noexcept { return status_; }

  private:
	tl_status status_;
};

/* Throws tl::error for a status other than TL_OK. */
inline void check(tl_status status)
{
	if (status != TL_OK) {
		throw error(failure::of(status));
	}
}

/* Throws tl::error for a NULL that is a failure; returns a NULL that is the correct result. */
template <class T>
T* check(T* pointer)
{
	if (pointer == nullptr && tl_last_status() != TL_OK) {
		throw error(failure::last());
	}
	return pointer;
}

/* A value or a failure, for programs that do not throw. The names are those of
 * std::expected. */
template <class T>
class result {
  public:
	result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
	result(failure why) : state_(std::in_place_index<1>, std::move(why)) {}

	bool has_value() const noexcept { return state_.index() == 0; }
	explicit operator bool() const noexcept { return has_value(); }

	/* The value; throws the failure as tl::error. */
	T& value() & { return require(), **this; }
	T&& value() && { return require(), *std::move(*this); }

	/* The value; only after has_value. */
	T& operator*() & noexcept { return *std::get_if<0>(&state_); }
	const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
	T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
	T* operator->() noexcept { return std::get_if<0>(&state_); }
	const T* operator->() const noexcept { return std::get_if<0>(&state_); }

	T value_or(T otherwise) && { return has_value() ? *std::move(*this) : std::move(otherwise); }

	/* The failure; only without a value. */
	const failure& error() const noexcept { return *std::get_if<1>(&state_); }

  private:
	void require() const
	{
		if (!has_value()) {
			throw tl::error(error());
		}
	}

	std::variant<T, failure> state_;
};

/* Success or a failure. */
template <>
class result<void> {
  public:
	result() noexcept : why_{TL_OK, {}} {}
	result(failure why) : why_(std::move(why)) {}

	/* What a status means. */
	static result of(tl_status status) { return status == TL_OK ? result() : result(failure::of(status)); }

	bool has_value() const noexcept { return why_.status == TL_OK; }
	explicit operator bool() const noexcept { return has_value(); }
	void value() const
	{
		if (!has_value()) {
			throw tl::error(why_);
		}
	}
	const failure& error() const noexcept { return why_; }

  private:
	failure why_;
};

namespace detail {

/* A scope or frame of the calling thread that is open. It is closed at most once, by exit or by the
 * destructor. Move-only. */
template <class Value, Value closed, tl_status (*close_it)(Value)>
class closing {
  public:
	closing(closing&& other) noexcept : value_(std::exchange(other.value_, closed)) {}
	closing& operator=(closing&& other) noexcept
	{
		if (this != &other) {
			close();
			value_ = std::exchange(other.value_, closed);
		}
		return *this;
	}

	bool open() const noexcept { return value_ != closed; }

	/* Closes it now. */
	void exit() { check(close()); }

	/* Leaves it open; other code has to close it. */
	void dismiss() noexcept { value_ = closed; }

  protected:
	explicit closing(Value value) noexcept : value_(value) {}
	~closing() { close(); }

	Value value_;

  private:
	tl_status close() noexcept
	{
		const Value value = std::exchange(value_, closed);
		return value == closed ? TL_OK : close_it(value);
	}
};

inline tl_status exit_planned(void*) { return tl_mem_frame_exit(); }

using closing_scopes = closing<std::int64_t, -1, &tl_mem_exit_scopes_to>;
using closing_planned = closing<void*, nullptr, &exit_planned>;

/* Opens something and returns the depth to go back to. */
template <class Enter>
std::int64_t opened(Enter enter)
{
	const std::int64_t depth = tl_get_scope_depth();
	check(enter());
	return depth;
}

} // namespace detail

/* A scope of the calling thread, open as long as the object lives. */
class scope : public detail::closing_scopes {
  public:
	scope() : closing(detail::opened(&tl_mem_enter_scope)) {}
};

/* A function's frame: a scope and numbered buffers that live until it closes,
 * with the scopes that were opened inside it. */
class frame : public detail::closing_scopes {
  public:
	explicit frame(std::int64_t slots = 0) : closing(detail::opened([slots] { return tl_mem_function_enter(slots); }))
	{
	}

	/* The buffer of a slot, for count values of type T; the same at every call
	 * that asks for no more. Values are not constructed. */
	template <class T = std::byte>
	T* slot(std::int64_t index, std::size_t count = 1)
	{
		static_assert(alignof(T) <= 64, "slots are 64-byte aligned");
		static_assert(std::is_trivially_destructible_v<T>, "nothing destroys the values of a slot");
		if (count > static_cast<std::size_t>(INT64_MAX) / sizeof(T)) {
			throw std::bad_array_new_length();
		}
		return static_cast<T*>(check(tl_mem_get_buffer(index, static_cast<std::int64_t>(count * sizeof(T)))));
	}
};

/* A planned frame: one block with offsets that a compiler has computed. */
class planned_frame : public detail::closing_planned {
  public:
	explicit planned_frame(std::size_t bytes) : closing(check(tl_mem_frame_enter(bytes))) {}

	void* data() const noexcept { return value_; }

	/* The value at an offset of the plan. */
	template <class T>
	T* at(std::size_t offset) const noexcept
	{
		return reinterpret_cast<T*>(static_cast<std::byte*>(value_) + offset);
	}
};

/* A counted reference to an object of the runtime, or NULL.
 *
 * Copying acquires, moving does not count, the destructor releases. T may be incomplete (tl_tensor)
 * or void.
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
	static ref retain(T* borrowed) { return adopt(acquired(borrowed)); }

	/* Turns a floating reference (tl_mem_alloc, tl_mem_unregister) into a held one. */
	static ref sink(T* floating)
	{
		scope passage;
		check(tl_mem_register_ptr(address(floating)));
		return retain(floating);
	}

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

	friend bool operator==(const ref& a, const ref& b) noexcept { return a.pointer_ == b.pointer_; }
	friend bool operator!=(const ref& a, const ref& b) noexcept { return a.pointer_ != b.pointer_; }
	friend bool operator==(const ref& a, std::nullptr_t) noexcept { return a.pointer_ == nullptr; }
	friend bool operator!=(const ref& a, std::nullptr_t) noexcept { return a.pointer_ != nullptr; }
	friend void swap(ref& a, ref& b) noexcept { a.swap(b); }

  private:
	static void* address(T* pointer) noexcept { return const_cast<std::remove_cv_t<T>*>(pointer); }
	static T* acquired(T* pointer)
	{
		check(tl_ptr_inc_ref(address(pointer)));
		return pointer;
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
	ref<T> share() const { return ref<T>::retain(pointer_); }

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
	static type define(const char* name, Members T::*... members)
	{
		return try_define(name, members...).value();
	}

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

	tl_type id() const noexcept { return id_; }

	/* A new T, held only by the returned reference. */
	template <class... Args>
	ref<T> make(Args&&... args) const
	{
		return try_make(std::forward<Args>(args)...).value();
	}

	/* The same without tl::error; what T's constructor throws passes. */
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

template <class T, class = void>
struct type_holder {
	static const type<T>& get()
	{
		static const type<T> defined = type<T>::define(nullptr);
		return defined;
	}
};

template <class T>
struct type_holder<T, std::void_t<decltype(T::runtime_type())>> {
	static const type<T>& get() { return T::runtime_type(); }
};

} // namespace detail

/* The type that T::runtime_type() returns; without such a function a type without fields. */
template <class T>
const type<T>& type_of()
{
	return detail::type_holder<T>::get();
}

/* A new T, held only by the returned reference. */
template <class T, class... Args>
ref<T> make(Args&&... args)
{
	return type_of<T>().make(std::forward<Args>(args)...);
}

/* The same without tl::error; what T's constructor throws passes. */
template <class T, class... Args>
result<ref<T>> try_make(Args&&... args)
{
	return type_of<T>().try_make(std::forward<Args>(args)...);
}

} // namespace tl

#endif
