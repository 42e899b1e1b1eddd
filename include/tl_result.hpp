/* TL Runtime for C++17: how a failure is told, by tl::result or by an exception.
 *
 * tl_runtime.hpp includes this header. Each function that can fail has a form whose name
 * begins with try_, which returns a tl::result: the value, or a tl::failure with the status and
 * the sentence of tl_last_error. The names of its members are those of std::expected. The form
 * without try_ throws the failure as a tl::error, and so do constructors.
 *
 * Without exceptions (-fno-exceptions, or TL_NO_EXCEPTIONS defined before the first of these
 * headers) the throwing forms are not declared; scopes, frames and other guards are made by
 * static functions (tl::scope::try_enter()). Then
 *
 * - tl::result::value() of a failure writes the failure to standard error and aborts: it is for
 *   failures that cannot be. Look first, and use * and ->.
 * - a copy of a tl::ref that cannot be counted is empty, and tl_last_status says why;
 *   try_retain tells it by its result. Destructors tell nothing in either case.
 * - what the standard lets no result leave, do_allocate of tl::pmr_resource, ends as value()
 *   does; try_allocate returns a result.
 *
 * A type of one way is not a type of the other: without exceptions all names stand in the inline
 * namespace tl::no_exceptions. Parts of a program that were compiled differently do not link
 * where they share such a type; they hand over what tl::ref::detach() returns.
 */
#ifndef TL_RESULT_HPP
#define TL_RESULT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "tl_runtime.h"

#if !defined(TL_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#define TL_NO_EXCEPTIONS
#endif

/* The namespace tl, as these headers open and close it. */
#ifdef TL_NO_EXCEPTIONS
#define TL_BEGIN_NAMESPACE \
	namespace tl {         \
	inline namespace no_exceptions {
#define TL_END_NAMESPACE \
	}                    \
	}
#else
#define TL_BEGIN_NAMESPACE namespace tl {
#define TL_END_NAMESPACE }
#endif

TL_BEGIN_NAMESPACE

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

#ifndef TL_NO_EXCEPTIONS

/* A failure as an exception. what() is the text of tl_last_error. */
class error : public std::runtime_error {
  public:
	explicit error(const failure& why) : std::runtime_error(why.message), status_(why.status) {}

	tl_status status() const noexcept { return status_; }

  private:
	tl_status status_;
};

#endif

namespace detail {

/* Throws a failure; without exceptions it ends the process. */
[[noreturn]] inline void raise(const failure& why)
{
#ifdef TL_NO_EXCEPTIONS
	std::fprintf(stderr, "tl_runtime: %s\n", why.message.c_str());
	std::abort();
#else
	throw error(why);
#endif
}

} // namespace detail

/* A value or a failure. */
template <class T>
class [[nodiscard]] result {
  public:
	using value_type = T;

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
			detail::raise(error());
		}
	}

	std::variant<T, failure> state_;
};

/* Success or a failure. */
template <>
class [[nodiscard]] result<void> {
  public:
	using value_type = void;

	result() noexcept : why_{TL_OK, {}} {}
	result(failure why) : why_(std::move(why)) {}

	/* What a status means. */
	static result of(tl_status status) { return status == TL_OK ? result() : result(failure::of(status)); }

	bool has_value() const noexcept { return why_.status == TL_OK; }
	explicit operator bool() const noexcept { return has_value(); }
	void value() const
	{
		if (!has_value()) {
			detail::raise(why_);
		}
	}
	const failure& error() const noexcept { return why_; }

  private:
	failure why_;
};

/* What a call of the C interface has returned, as a result: a status, or a pointer whose NULL can
 * be a failure or the correct value. */
inline result<void> try_check(tl_status status) { return result<void>::of(status); }

template <class T>
result<T*> try_check(T* pointer)
{
	if (pointer == nullptr && tl_last_status() != TL_OK) {
		return failure::last();
	}
	return pointer;
}

#ifndef TL_NO_EXCEPTIONS

/* Throws tl::error for a status other than TL_OK. */
inline void check(tl_status status)
{
	if (status != TL_OK) {
		detail::raise(failure::of(status));
	}
}

/* Throws tl::error for a NULL that is a failure; returns a NULL that is the correct result. */
template <class T>
T* check(T* pointer)
{
	if (pointer == nullptr && tl_last_status() != TL_OK) {
		detail::raise(failure::last());
	}
	return pointer;
}

#endif

namespace detail {

/* A failure of these headers' own functions, worded as the library words its own. */
inline failure refusal(const char* function, const char* why)
{
	return {TL_E_INVALID_ARGUMENT, std::string(function) + ": TL_E_INVALID_ARGUMENT: " + why};
}

/* Whether so many values are more than any block has bytes for. */
template <class T>
constexpr bool too_many(std::size_t count) noexcept
{
	return count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T);
}

} // namespace detail

TL_END_NAMESPACE

#endif
