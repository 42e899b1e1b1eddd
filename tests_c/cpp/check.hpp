// Assertions of the C++ tests: a failed one names its place and the last error, and ends
// the program.
#ifndef TL_TESTS_CHECK_HPP
#define TL_TESTS_CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tl_runtime.hpp"

[[noreturn]] inline void fail(const char* file, int line, const char* text)
{
	std::fprintf(stderr, "%s:%d: not true: %s; last error: %s\n", file, line, text, tl_last_error());
	std::exit(1);
}

#define CHECK(condition) ((condition) ? void() : fail(__FILE__, __LINE__, #condition))

inline tl_stats counters()
{
	tl_stats stats{};
	stats.struct_size = sizeof stats;
	tl::try_check(tl_stats_get(&stats)).value();
	return stats;
}

inline std::uint64_t live() { return counters().live_objects; }

// The status of a result; each failure has a text that begins with the function and the status.
template <class T>
tl_status status_in(const tl::result<T>& result)
{
	if (result) {
		return TL_OK;
	}
	const std::string& text = result.error().message;
	CHECK(text.compare(0, 2, "tl") == 0 && text.find(": TL_E_") != std::string::npos);
	return result.error().status;
}

#ifndef TL_NO_EXCEPTIONS

// The status of the exception that a block ends with; each has a text that begins with the
// function and the status.
template <class Block>
tl_status status_of(Block block)
{
	try {
		block();
	} catch (const tl::error& e) {
		CHECK(std::strncmp(e.what(), "tl", 2) == 0 && std::strstr(e.what(), ": TL_E_") != nullptr);
		return e.status();
	}
	return TL_OK;
}

#endif

#endif
