// tl_tracking.hpp: tags that end with their block, and tests that end without leaks.
#define TL_TRACK_ALLOCATIONS
#include <cstring>
#include <stdexcept>

#include "check.h"
#include "tl_tensor.hpp"
#include "tl_tracking.hpp"

namespace {

tl_alloc_info info_of(const void* pointer)
{
	tl_alloc_info info{};
	info.struct_size = sizeof info;
	CHECK_OK(tl_mem_allocation_info(pointer, &info));
	return info;
}

TEST(macros_tell_the_line)
{
	const tl::leak_check recording;
	void* p = tl_mem_alloc(40);
	const std::uint64_t line = __LINE__ - 1;
	CHECK(std::strcmp(info_of(p).file, __FILE__) == 0);
	CHECK_INT(info_of(p).line, line);
	CHECK_OK(tl_mem_free(p));
	p = (tl_mem_alloc)(40);
	CHECK(info_of(p).file == nullptr && info_of(p).frames > 0);
	CHECK_OK(tl_mem_free(p));
}

bool at(const void* pointer, std::uint64_t line)
{
	const tl_alloc_info info = info_of(pointer);
	return info.file != nullptr && std::strcmp(info.file, __FILE__) == 0 && info.line == line;
}

/* What looks like one argument may have commas; and all that allocates is told. */
TEST(arguments_may_have_commas)
{
	const tl::leak_check recording;
	tl_mem_enter_scope();
	void* p = tl_mem_new(std::pair<int, long>{40, 2}.first);
	std::uint64_t line = __LINE__ - 1;
	CHECK(at(p, line));
	const std::int64_t shape[] = {2, 3};
	float data[6] = {};
	tl_tensor* t = tl_tensor_from_buffer(TL_DTYPE_F32, 0, 2, shape, data, nullptr, nullptr, nullptr);
	line = __LINE__ - 1;
	CHECK(at(t, line));
	tl_tensor* view = tl_view_slice(t, 0, 0, 1, 1);
	line = __LINE__ - 1;
	CHECK(at(view, line));
	tl_mem_exit_scope();
}

/* The line of a header is nobody's: its call stack leads further. */
TEST(classes_tell_no_line_of_their_own)
{
	const tl::leak_check recording;
	const tl::tensor t = tl::tensor::zeros<float>({2, 3});
	CHECK(info_of(t.get()).file == nullptr && info_of(t.get()).frames > 1);
}

TEST(tags_end_with_their_block)
{
	const tl::leak_check recording;
	void* p = nullptr;
	{
		const tl::tag outer("outer");
		try {
			const tl::tag inner("inner");
			p = tl_mem_alloc(40);
			throw std::runtime_error("out");
		} catch (const std::runtime_error&) {
		}
		void* q = tl_mem_alloc(40);
		CHECK(std::strcmp(info_of(q).tag, "outer") == 0);
		CHECK_OK(tl_mem_free(q));
	}
	CHECK(std::strcmp(info_of(p).tag, "outer/inner") == 0);
	CHECK_OK(tl_mem_free(p));
	bool refused = false;
	try {
		const tl::tag nameless("");
	} catch (const tl::error& e) {
		refused = e.status() == TL_E_INVALID_ARGUMENT;
	}
	CHECK(refused);
}

TEST(clean_bodies_pass)
{
	CHECK_INT(tl::assert_no_leaks([] {
				  void* p = tl_mem_alloc(64);
				  tl_mem_free(p);
				  return 5;
			  }),
	          5);
	tl::assert_no_leaks([] {
		tl_mem_enter_scope();
		tl_mem_new(64);
		tl_mem_exit_scope();
	});
}

TEST(leaks_are_thrown)
{
	void* p = nullptr;
	std::int64_t count = 0;
	std::fflush(stderr);
	try {
		tl::assert_no_leaks([&p] { p = tl_mem_alloc(64); });
	} catch (const tl::leak_error& e) {
		count = e.count();
		CHECK(std::strstr(e.what(), "tl::assert_no_leaks: TL_E_NOT_LIVE: 1 allocation(s) leaked") == e.what());
	}
	CHECK_INT(count, 1);
	CHECK_OK(tl_mem_free(p));
}

std::uint64_t recordings()
{
	const std::uint64_t before = *tl_track_count();
	CHECK_OK(tl_mem_free((tl_mem_alloc)(64)));
	return *tl_track_count() - before;
}

TEST(recording_goes_on_where_it_was_on)
{
	CHECK_INT(recordings(), 0);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	tl::assert_no_leaks([] {
		tl::assert_no_leaks([] {});
		CHECK_INT(recordings(), 1);
	});
	CHECK_INT(recordings(), 1);
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	void* p = nullptr;
	std::int64_t count = 0;
	try {
		tl::assert_no_leaks([&p] {
			tl::assert_no_leaks([] {});
			p = tl_mem_alloc(64); // after the inner one
		});
	} catch (const tl::leak_error& e) {
		count = e.count();
	}
	CHECK_INT(count, 1);
	CHECK_OK(tl_mem_free(p));
	CHECK_INT(recordings(), 0);
}

} // namespace

int main(void) { return check_tests(); }
