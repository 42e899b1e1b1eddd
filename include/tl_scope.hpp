/* TL Runtime for C++17: scopes and frames that close themselves.
 *
 * tl_runtime.hpp includes this header. Scopes and frames remember the depth below them and close
 * down to it. This also closes what C code left open because an exception passed through it.
 */
#ifndef TL_SCOPE_HPP
#define TL_SCOPE_HPP

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "tl_result.hpp"

TL_BEGIN_NAMESPACE

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
	result<void> try_exit() { return try_check(close()); }
#ifndef TL_NO_EXCEPTIONS
	void exit() { check(close()); }
#endif

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
result<std::int64_t> opened(Enter enter)
{
	const std::int64_t depth = tl_get_scope_depth();
	const tl_status status = enter();
	if (status != TL_OK) {
		return failure::of(status);
	}
	return depth;
}

/* What a guard is made of that other code has opened. */
template <class Value>
struct is_open {
	Value value;
};

/* The guard of what was opened, or the failure. */
template <class Guard, class Value>
result<Guard> guarded(const result<Value>& made)
{
	if (!made) {
		return made.error();
	}
	return Guard(is_open<Value>{*made});
}

} // namespace detail

/* A scope of the calling thread, open as long as the object lives. */
class scope : public detail::closing_scopes {
  public:
	static result<scope> try_enter() { return detail::guarded<scope>(detail::opened(&tl_mem_enter_scope)); }
#ifndef TL_NO_EXCEPTIONS
	scope() : closing(detail::opened(&tl_mem_enter_scope).value()) {}
#endif
	explicit scope(detail::is_open<std::int64_t> depth) noexcept : closing(depth.value) {}
};

/* A function's frame: a scope and numbered buffers that live until it closes,
 * with the scopes that were opened inside it. */
class frame : public detail::closing_scopes {
  public:
	static result<frame> try_enter(std::int64_t slots = 0)
	{
		return detail::guarded<frame>(detail::opened([slots] { return tl_mem_function_enter(slots); }));
	}
#ifndef TL_NO_EXCEPTIONS
	explicit frame(std::int64_t slots = 0) : frame(try_enter(slots).value()) {}
#endif
	explicit frame(detail::is_open<std::int64_t> depth) noexcept : closing(depth.value) {}

	/* The buffer of a slot, for count values of type T; the same at every call
	 * that asks for no more, and perhaps another, without contents, at one that
	 * asks for more. Values are not constructed. */
	template <class T = std::byte>
	result<T*> try_slot(std::int64_t index, std::size_t count = 1)
	{
		static_assert(alignof(T) <= 64, "slots are 64-byte aligned");
		static_assert(std::is_trivially_destructible_v<T>, "nothing destroys the values of a slot");
		if (detail::too_many<T>(count)) {
			return detail::refusal("tl::frame::slot", "so many values are larger than memory");
		}
		void* buffer = tl_mem_get_buffer(index, static_cast<std::int64_t>(count * sizeof(T)));
		return try_check(static_cast<T*>(buffer));
	}
#ifndef TL_NO_EXCEPTIONS
	template <class T = std::byte>
	T* slot(std::int64_t index, std::size_t count = 1)
	{
		if (detail::too_many<T>(count)) {
			throw std::bad_array_new_length();
		}
		return try_slot<T>(index, count).value();
	}
#endif
};

/* A planned frame: one block with offsets that a compiler has computed. */
class planned_frame : public detail::closing_planned {
  public:
	static result<planned_frame> try_enter(std::size_t bytes)
	{
		return detail::guarded<planned_frame>(try_check(tl_mem_frame_enter(bytes)));
	}
#ifndef TL_NO_EXCEPTIONS
	explicit planned_frame(std::size_t bytes) : closing(check(tl_mem_frame_enter(bytes))) {}
#endif
	explicit planned_frame(detail::is_open<void*> data) noexcept : closing(data.value) {}

	void* data() const noexcept { return value_; }

	/* The value at an offset of the plan. */
	template <class T>
	T* at(std::size_t offset) const noexcept
	{
		return reinterpret_cast<T*>(static_cast<std::byte*>(value_) + offset);
	}
};

TL_END_NAMESPACE

#endif
