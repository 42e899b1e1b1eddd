// tl_memory_pool.hpp: a pool that ends by itself, as a memory resource, and the adaptors over it.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "check.hpp"
#include "tl_memory_pool.hpp"
#include "tl_registry.hpp"
#include "tl_tensor.hpp"

namespace {

static_assert(!std::is_copy_constructible_v<tl::memory_pool> && !std::is_copy_assignable_v<tl::memory_pool>);
static_assert(std::is_nothrow_move_constructible_v<tl::memory_pool>);
static_assert(std::is_nothrow_move_assignable_v<tl::memory_pool>);
static_assert(std::is_base_of_v<std::pmr::memory_resource, tl::memory_pool>);

constexpr std::size_t mebibyte = 1 << 20;

// An allocator that counts the chunks that are out.
std::atomic<int> chunks;
const tl_device_allocator counting = {
	sizeof(tl_device_allocator),
	"counting",
	64,
	nullptr,
	[](void*, std::size_t bytes) {
		++chunks;
		return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
	},
	[](void*, void* block, std::size_t) {
		--chunks;
		std::free(block);
	},
};

void a_pool_ends_with_its_object()
{
	{
		tl::memory_pool pool(&counting, mebibyte);
		CHECK(pool.is_open() && pool.get() != nullptr && chunks == 1);
		void* block = pool.allocate(1000);
		std::memset(block, 1, 1000);
		const tl_memory_pool_stats now = pool.stats();
		CHECK(now.num_allocations == 1 && now.current_usage == 1024 && now.reserved == mebibyte);
		pool.deallocate(block, 1000);
		CHECK(pool.stats().current_usage == 0);
		CHECK(pool.try_allocate(100).has_value());
		pool.reset();
		pool.trim();
		CHECK(chunks == 0 && pool.stats().reserved == 0);
		pool.deallocate(pool.allocate(8), 8);
		CHECK(chunks == 1);
	}
	CHECK(chunks == 0);
	tl::memory_pool by_name("cpu", mebibyte), by_number(TL_DEVICE_CPU, mebibyte);
	CHECK(by_name.get() != by_number.get());
	CHECK(status_of([] { tl::memory_pool pool("GPU 0"); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([] { tl::memory_pool pool(4096); }) == TL_E_DEVICE);
	CHECK(status_of([] { tl::memory_pool pool(&counting, 0); }) == TL_E_INVALID_ARGUMENT);
}

void a_pool_that_is_used_stays()
{
	auto* pool = new tl::memory_pool(&counting, mebibyte);
	tl_memory_pool* handle = pool->get();
	void* block = pool->allocate(64);
	CHECK(status_of([&] { pool->close(); }) == TL_E_BUSY && pool->is_open());
	std::FILE* told = std::tmpfile();
	const int standard_error = dup(STDERR_FILENO);
	dup2(fileno(told), STDERR_FILENO);
	delete pool;
	dup2(standard_error, STDERR_FILENO);
	close(standard_error);
	CHECK(tl_last_status() == TL_E_BUSY && chunks == 1);
	char line[256] = "";
	std::rewind(told);
	CHECK(std::fgets(line, sizeof line, told) != nullptr && std::fclose(told) == 0);
	CHECK(std::strstr(line,
	                  "tl_runtime: a tl::memory_pool ends and leaves its memory: tl_memory_pool_destroy: TL_E_BUSY: "));
	tl::memory_pool again = tl::memory_pool::adopt(handle);
	CHECK(again.try_deallocate(block) && status_in(again.try_deallocate(block)) == TL_E_UNKNOWN_POINTER);
	again.close();
	again.close();
	CHECK(chunks == 0);
}

void a_closed_pool_refuses()
{
	tl::memory_pool pool(&counting, mebibyte), other;
	other = std::move(pool);
	CHECK(!pool.is_open() && other.is_open() && chunks == 1); // NOLINT(bugprone-use-after-move)
	tl::memory_pool& self = other;
	other = std::move(self);
	CHECK(other.is_open());
	CHECK(status_in(pool.try_allocate(8)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(pool.try_allocate_async(8, nullptr)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_in(pool.try_deallocate(&pool)) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { pool.deallocate_async(&pool, nullptr); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { pool.stats(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { pool.trim(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { pool.reset(); }) == TL_E_INVALID_ARGUMENT);
	CHECK(status_of([&] { pool.set_limit(1); }) == TL_E_INVALID_ARGUMENT);
	bool thrown = false;
	try {
		static_cast<void>(pool.allocate(8)); // and not from the heap
	} catch (const std::bad_alloc&) {
		thrown = true;
	}
	CHECK(thrown);
	other = tl::memory_pool();
	CHECK(chunks == 0);
}

void limits_and_streams()
{
	tl::memory_pool pool(&counting, mebibyte);
	pool.set_limit(2 * mebibyte);
	CHECK(status_in(pool.try_allocate(3 * mebibyte)) == TL_E_LIMIT);
	pool.set_limit(0);
	void* large = pool.allocate(3 * mebibyte);
	pool.deallocate(large, 3 * mebibyte);
	// The CPU has no streams: NULL is the only one, and means at once.
	void* block = pool.allocate_async(256, nullptr);
	CHECK(status_of([&] { pool.deallocate_async(block, &pool); }) == TL_E_UNSUPPORTED);
	pool.deallocate_async(block, nullptr);
	CHECK(status_of([&] { pool.allocate_async(8, &pool); }) == TL_E_UNSUPPORTED);
}

void containers_use_it()
{
	tl::memory_pool pool(&counting, mebibyte), other(&counting, mebibyte);
	CHECK(pool == pool && !(pool == other));
	{
		std::pmr::vector<std::pmr::string> words(&pool);
		std::pmr::map<int, int> numbers(&pool);
		for (int i = 0; i < 1000; i++) {
			words.emplace_back("a string that is too long for the place that strings have in themselves");
			numbers[i] = i;
		}
		CHECK(numbers.size() == 1000 && words[999].get_allocator().resource() == &pool);
		struct alignas(256) wide {
			char bytes[256];
		};
		std::pmr::vector<wide> aligned(3, &pool);
		CHECK(reinterpret_cast<std::uintptr_t>(aligned.data()) % 256 == 0);
		CHECK(pool.stats().num_allocations > 2000);
		std::pmr::vector<std::pmr::string> copied(words, &other);
		CHECK(other.stats().num_allocations > 1000);
	}
	CHECK(pool.stats().current_usage == 0 && other.stats().current_usage == 0);
}

void adaptors_stack()
{
	tl::memory_pool pool(&counting, mebibyte);
	char text[4096];
	std::FILE* log = std::tmpfile();
	CHECK(log != nullptr);
	{
		tl::logging_resource logged(pool, log);
		tl::statistics_resource counted(logged);
		tl::limiting_resource limited(counted, 1000);
		CHECK(&limited.upstream() == &counted && limited.limit() == 1000);
		void* first = limited.allocate(600);
		CHECK(status_in(limited.try_allocate(401)) == TL_E_LIMIT && limited.allocated() == 600);
		CHECK(status_in(limited.try_allocate(SIZE_MAX)) == TL_E_LIMIT);
		void* second = limited.allocate(400, 16);
		limited.deallocate(first, 600);
		const tl::resource_statistics now = counted.statistics();
		CHECK(now.current_bytes == 400 && now.current_count == 1 && now.peak_bytes == 1000 && now.peak_count == 2);
		CHECK(now.total_bytes == 1000 && now.total_count == 2);
		counted.reset_peak();
		CHECK(counted.statistics().peak_bytes == 400 && counted.statistics().total_bytes == 1000);
		limited.deallocate(second, 400, 16);
		pool.set_limit(mebibyte);
		CHECK(status_in(counted.try_allocate(2 * mebibyte)) == TL_E_LIMIT && counted.statistics().total_count == 2);
		tl::limiting_resource wide(counted, 4 * mebibyte);
		CHECK(status_in(wide.try_allocate(2 * mebibyte)) == TL_E_LIMIT && wide.allocated() == 0);
		std::pmr::vector<int> numbers(10, &limited);
		CHECK(limited.allocated() == 40);
	}
	std::rewind(log);
	const std::size_t length = std::fread(text, 1, sizeof text - 1, log);
	text[length] = '\0';
	std::fclose(log);
	CHECK(std::strncmp(text, "Time,Action,Pointer,Size\n", 25) == 0);
	int lines = 0;
	for (const char* at = text; (at = std::strchr(at, '\n')) != nullptr; at++) {
		lines++;
	}
	CHECK(lines == 1 + 4 + 2 + 2); // the heading, two blocks, two failures, and the vector
	CHECK(std::strstr(text, ",allocate failure,0,2097152\n") != nullptr);
}

void threads_share_it()
{
	tl::memory_pool pool(&counting, mebibyte);
	tl::statistics_resource counted(pool);
	tl::limiting_resource limited(counted, mebibyte);
	std::vector<std::thread> threads;
	for (int t = 0; t < 4; t++) {
		threads.emplace_back([&limited] {
			for (std::size_t i = 1; i < 500; i++) {
				std::pmr::vector<char> bytes(i, &limited);
				bytes[i - 1] = 1;
			}
		});
	}
	for (std::thread& thread : threads) {
		thread.join();
	}
	CHECK(counted.statistics().current_count == 0 && counted.statistics().total_count == 4 * 499);
	CHECK(limited.allocated() == 0);
}

// dtype_of of complex numbers, which sparse matrices may have, too.
void complex_tensors()
{
	const tl::tensor made = tl::tensor::zeros<std::complex<double>>({3});
	CHECK(tl_tensor_dtype(made.get()) == TL_DTYPE_C128 && made.data<std::complex<double>>()[2] == 0.0);
	CHECK(status_of([&] { made.data<std::complex<float>>(); }) == TL_E_INVALID_ARGUMENT);
}

} // namespace

int main()
{
	const tl_stats before = counters();
	a_pool_ends_with_its_object();
	a_pool_that_is_used_stays();
	a_closed_pool_refuses();
	limits_and_streams();
	containers_use_it();
	adaptors_stack();
	threads_share_it();
	complex_tensors();
	tl_mem_purge();
	const tl_stats after = counters();
	CHECK(chunks == 0 && after.live_objects == before.live_objects && after.foreign_live == before.foreign_live);
	std::puts("passed");
	return 0;
}
