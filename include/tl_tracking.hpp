/* Tags and checks for leaks in C++17, over tl_runtime.hpp.
 *
 *	tl::tag phase("load");              // what is allocated below carries the tag
 *	tl::assert_no_leaks([&] { run(); }); // for tests: throws when run() leaks
 */
#ifndef TL_TRACKING_HPP
#define TL_TRACKING_HPP

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "tl_runtime.hpp"

namespace tl {

/* A tag of the calling thread, for as long as the object lives; they nest. */
class tag {
  public:
	explicit tag(const char* name) { check(tl_tag_push(name)); }
	tag(const tag&) = delete;
	tag& operator=(const tag&) = delete;
	~tag() { tl_tag_pop(); }
};

/* What tl::assert_no_leaks throws. */
class leak_error : public error {
  public:
	explicit leak_error(std::int64_t count)
		: error(failure{TL_E_NOT_LIVE, "tl::assert_no_leaks: TL_E_NOT_LIVE: " + std::to_string(count) +
	                                       " allocation(s) leaked; the report is on standard error"}),
		  count_(count)
	{
	}

	std::int64_t count() const noexcept { return count_; }

  private:
	std::int64_t count_;
};

namespace detail {

/* Keeps TL_TRACK=1 while at least one of these exists, and restores the former value after the last. */
class recording {
  public:
	recording()
	{
		state& s = shared();
		const std::lock_guard<std::mutex> lock(s.mutex);
		if (s.users == 0) {
			s.before = option();
		}
		check(tl_configure("TL_TRACK", "1")); /* repeated, so that this thread follows at once */
		++s.users;
	}
	recording(const recording&) = delete;
	recording& operator=(const recording&) = delete;
	~recording()
	{
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
};

} // namespace detail

/* Records what is allocated while the object lives. TL_TRACK is on until the last such object ends,
 * which restores the former value. Other threads take part from their next slow call on. */
class leak_check {
  public:
	leak_check() : mark_(*tl_track_count()) {}
	leak_check(const leak_check&) = delete;
	leak_check& operator=(const leak_check&) = delete;

	/* Returns how many allocations since the constructor have leaked, and reports them to a file,
	 * or to standard error for nullptr. */
	std::int64_t leaks(const char* path = nullptr) const
	{
		const std::int64_t count = tl_leak_report_since(path, mark_);
		if (count < 0) {
			throw error(failure::last());
		}
		return count;
	}

  private:
	detail::recording recording_; /* before the mark */
	std::uint64_t mark_;
};

/* Calls body and throws tl::leak_error when what it allocated, on this thread or on
 * others that have made a slow call meanwhile, has leaked. What open scopes hold is not a leak.
 * Returns what body returns. */
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

} // namespace tl

#endif
