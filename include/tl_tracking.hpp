/* Tags and checks for leaks in C++17, over tl_runtime.hpp.
 *
 *	tl::tag phase("load");              // what is allocated below carries the tag
 *	tl::assert_no_leaks([&] { run(); }); // for tests: throws when run() leaks
 *
 * Functions named try_ return a tl::result; those without it throw tl::error instead.
 */
#ifndef TL_TRACKING_HPP
#define TL_TRACKING_HPP

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include "tl_runtime.hpp"

TL_BEGIN_NAMESPACE

/* A tag of the calling thread, for as long as the object lives; they nest. */
class tag {
  public:
	static result<tag> try_push(const char* name)
	{
		const tl_status status = tl_tag_push(name);
		if (status != TL_OK) {
			return failure::of(status);
		}
		return tag();
	}
#ifndef TL_NO_EXCEPTIONS
	explicit tag(const char* name) : tag(try_push(name).value()) {}
#endif
	tag(tag&& other) noexcept : pushed_(std::exchange(other.pushed_, false)) {}
	~tag()
	{
		if (pushed_) {
			tl_tag_pop();
		}
	}

  private:
	tag() noexcept = default;

	bool pushed_ = true;
};

namespace detail {

/* Keeps TL_TRACK=1 while at least one of these exists, and restores the former value after the last. */
class recording {
  public:
	static result<recording> try_start()
	{
		state& s = shared();
		const std::lock_guard<std::mutex> lock(s.mutex);
		if (s.users == 0) {
			s.before = option();
		}
		const tl_status status = tl_configure("TL_TRACK", "1"); /* repeated, so that this thread follows at once */
		if (status != TL_OK) {
			return failure::of(status);
		}
		++s.users;
		return recording();
	}
	recording(recording&& other) noexcept : active_(std::exchange(other.active_, false)) {}
	~recording()
	{
		if (!active_) {
			return;
		}
		state& s = shared();
		const std::lock_guard<std::mutex> lock(s.mutex);
		if (--s.users == 0) {
			tl_configure("TL_TRACK", s.before.c_str());
		}
	}

  private:
	struct state {
		std::mutex mutex;
		int users = 0;
		std::string before;
	};

	static state& shared()
	{
		static state only;
		return only;
	}

	/* The value of TL_TRACK, out of a line "TL_TRACK=value (source)". */
	static std::string option()
	{
		std::string text(tl_config_dump(nullptr, 0) + 1, '\0');
		tl_config_dump(&text[0], text.size());
		const std::string name = "\nTL_TRACK=";
		const std::size_t at = text.find(name);
		if (at == std::string::npos) {
			return "0";
		}
		const std::size_t begin = at + name.size();
		return text.substr(begin, text.find(' ', begin) - begin);
	}

	recording() noexcept = default;

	bool active_ = true;
};

/* What a leak is called as a failure. */
inline failure leaked(std::int64_t count)
{
	return {TL_E_NOT_LIVE, "tl::assert_no_leaks: TL_E_NOT_LIVE: " + std::to_string(count) +
	                           " allocation(s) leaked; the report is on standard error"};
}

} // namespace detail

/* Records what is allocated while the object lives. TL_TRACK is on until the last such object ends,
 * which restores the former value. Other threads take part from their next slow call on. */
class leak_check {
  public:
	static result<leak_check> try_start()
	{
		result<detail::recording> started = detail::recording::try_start();
		if (!started) {
			return started.error();
		}
		return leak_check(*std::move(started));
	}
#ifndef TL_NO_EXCEPTIONS
	leak_check() : leak_check(try_start().value()) {}
#endif
	leak_check(leak_check&&) noexcept = default;

	/* Returns how many allocations since the constructor have leaked, and reports them to a file,
	 * or to standard error for nullptr. */
	result<std::int64_t> try_leaks(const char* path = nullptr) const
	{
		const std::int64_t count = tl_leak_report_since(path, mark_);
		if (count < 0) {
			return failure::last();
		}
		return count;
	}
#ifndef TL_NO_EXCEPTIONS
	std::int64_t leaks(const char* path = nullptr) const { return try_leaks(path).value(); }
#endif

  private:
	explicit leak_check(detail::recording started) noexcept : recording_(std::move(started)), mark_(*tl_track_count())
	{
	}

	detail::recording recording_; /* before the mark */
	std::uint64_t mark_;
};

/* Calls body and fails with TL_E_NOT_LIVE when what it allocated, on this thread or on others that have made a slow
 * call meanwhile, has leaked. What open scopes hold is not a leak. The result is a copy of what body returns. */
template <class Body>
auto try_assert_no_leaks(Body&& body) -> result<std::decay_t<decltype(std::forward<Body>(body)())>>
{
	const result<leak_check> check = leak_check::try_start();
	if (!check) {
		return check.error();
	}
	const auto verify = [&check]() -> result<void> {
		const result<std::int64_t> count = check->try_leaks();
		if (!count) {
			return count.error();
		}
		return *count == 0 ? result<void>() : detail::leaked(*count);
	};
	if constexpr (std::is_void_v<decltype(std::forward<Body>(body)())>) {
		std::forward<Body>(body)();
		return verify();
	} else {
		auto returned = std::forward<Body>(body)();
		const result<void> clean = verify();
		if (!clean) {
			return clean.error();
		}
		return returned;
	}
}

#ifndef TL_NO_EXCEPTIONS

/* What tl::assert_no_leaks throws. */
class leak_error : public error {
  public:
	explicit leak_error(std::int64_t count) : error(detail::leaked(count)), count_(count) {}

	std::int64_t count() const noexcept { return count_; }

  private:
	std::int64_t count_;
};

/* As try_assert_no_leaks; throws tl::leak_error, and returns what body returns, references too. */
template <class Body>
decltype(auto) assert_no_leaks(Body&& body)
{
	const leak_check check;
	const auto verify = [&check] {
		if (const std::int64_t count = check.leaks(); count > 0) {
			throw leak_error(count);
		}
	};
	if constexpr (std::is_void_v<decltype(std::forward<Body>(body)())>) {
		std::forward<Body>(body)();
		verify();
	} else {
		decltype(auto) result = std::forward<Body>(body)();
		verify();
		return result;
	}
}

#endif

TL_END_NAMESPACE

#endif
