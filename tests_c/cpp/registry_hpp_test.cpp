// tl_registry.hpp: destructors counted, the right operator delete, guards that let
// go once, memory resources, workspaces.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory_resource>
#if __cplusplus >= 202002L
#include <span>
#endif
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "tl_registry.hpp"

namespace {

long arrays_deleted, scalars_deleted;

} // namespace

// The program's own operators, which must be found as the ones that memory of new goes by.
// They call the runtime, as a deleter may.
namespace {

[[gnu::noinline]] void end_scalar(void* p) noexcept
{
	if (p != nullptr && tl_registry_is_registered(p)) {
		std::abort();
	}
	scalars_deleted++;
	std::free(p);
}

[[gnu::noinline]] void end_array(void* p) noexcept
{
	tl_mem_free(tl_mem_alloc(32));
	arrays_deleted++;
	std::free(p);
}

[[gnu::noinline]] void* begin(std::size_t n)
{
	void* p = std::malloc(n);
	if (p == nullptr) {
		throw std::bad_alloc();
	}
	return p;
}

} // namespace

void operator delete(void* p) noexcept { end_scalar(p); }
void operator delete(void* p, std::size_t) noexcept { end_scalar(p); }
void operator delete[](void* p) noexcept { end_array(p); }
void operator delete[](void* p, std::size_t) noexcept { end_array(p); }
void* operator new(std::size_t n) { return begin(n); }
void* operator new[](std::size_t n) { return begin(n); }

namespace {

int alive;

struct counted {
	counted() { alive++; }
	~counted() { alive--; }
	counted(const counted&) = delete;
	counted& operator=(const counted&) = delete;
	int value = 5;
};

struct alignas(256) wide {
	char bytes[256];
};

struct throws_at_3 {
	throws_at_3()
	{
		if (alive == 3) {
			throw std::runtime_error("three");
		}
		alive++;
	}
	~throws_at_3() { alive--; }
};

using guard = tl::registry_guard<int>;
static_assert(!std::is_copy_constructible_v<guard> && !std::is_copy_assignable_v<guard>);
static_assert(std::is_nothrow_move_constructible_v<guard> && std::is_nothrow_move_assignable_v<guard>);

// Kinds by operator: delete[] once for an array, delete once for a scalar, in both paths.
void kinds()
{
	const long arrays = arrays_deleted, scalars = scalars_deleted;
	{
		auto a = tl::own_array(new int[100], 100);
		tl_alloc_info info{};
		info.struct_size = sizeof info;
		tl::check(tl_registry_info(a.get(), &info));
		CHECK(info.kind == TL_ALLOC_NEW_ARRAY && info.bytes == 400);
		auto s = tl::own_scalar(new double(3));
		tl::check(tl_registry_info(s.get(), &info));
		CHECK(info.kind == TL_ALLOC_NEW_SCALAR && info.bytes == 8);
		auto m = tl::own(static_cast<char*>(std::malloc(10)), 10, TL_ALLOC_MALLOC);
		CHECK(arrays_deleted == arrays && scalars_deleted == scalars);
		CHECK(tl_registry_num_pointers() == 3);
	}
	CHECK(arrays_deleted == arrays + 1 && scalars_deleted == scalars + 1);
	CHECK(tl_registry_num_pointers() == 0);
	// As the last reference of a scope.
	{
		tl::scope scope;
		auto a = tl::own_array(new int[1000], 1000);
		tl::check(tl_mem_register_struct(a.get()));
		a.reset();
		CHECK(arrays_deleted == arrays + 1);
	}
	CHECK(arrays_deleted == arrays + 2);
	// Of a shared buffer, by another thread.
	int* block = new int[64];
	int* columns[] = {block, block + 16, block + 32};
	auto buffer = tl::own_buffer(block, 64, columns, 3, TL_ALLOC_NEW_ARRAY);
	buffer.add_alias(block + 16);
	CHECK(buffer.aliases.size() == 4 && tl_ptr_refcount(block + 16) == 2);
	CHECK(status_of([&] { buffer.add_alias(block + 64); }) == TL_E_INVALID_ARGUMENT);
	buffer.block.reset();
	std::thread([aliases = std::move(buffer.aliases)]() mutable { aliases.clear(); }).join();
	CHECK(arrays_deleted == arrays + 3);
}

// Memory with a deleter of its own, handed out as columns.
void buffers_with_a_deleter()
{
	static int freed;
	int* block = static_cast<int*>(std::malloc(64 * sizeof(int)));
	int* columns[] = {block, block + 16};
	const auto free_block = [](void* first, void* count) {
		++*static_cast<int*>(count);
		std::free(first);
	};
	CHECK(status_of([&] { tl::own_buffer(block, 64, columns, 2, nullptr, &freed); }) == TL_E_INVALID_ARGUMENT);
	auto buffer = tl::own_buffer(block, 64, columns, 2, +free_block, &freed);
	buffer.add_alias(block + 63);
	buffer.block.reset();
	CHECK(freed == 0);
	buffer.aliases.clear();
	CHECK(freed == 1);
}

void destructors_run()
{
	{
		auto array = tl::new_array<counted>(50);
		CHECK(alive == 50 && array[49].value == 5);
		auto again = array.share();
		array.reset();
		CHECK(alive == 50);
		auto one = tl::own_scalar(new counted);
		CHECK(alive == 51 && one->value == 5);
		auto moved = std::move(one);
		CHECK(!one && moved);
		one = std::move(moved);
	}
	CHECK(alive == 0);
	counted* kept = tl::new_array<counted>(3).release();
	CHECK(alive == 3 && tl_registry_is_registered(kept));
	tl::check(tl_registry_unregister(kept));
	CHECK(alive == 0);
	auto strings = tl::new_array<std::string>(10);
	strings[9] = "a string that is too long for the place inside";
}

void new_arrays()
{
	auto numbers = tl::new_array<double>(1000);
	CHECK(reinterpret_cast<std::uintptr_t>(numbers.get()) % 64 == 0);
	for (int i = 0; i < 1000; i++) {
		CHECK(numbers[i] == 0);
	}
	auto wides = tl::new_array<wide>(3);
	CHECK(reinterpret_cast<std::uintptr_t>(wides.get()) % 256 == 0);
	CHECK(!tl::new_array<int>(0));
	bool refused = false;
	try {
		tl::new_array<double>(SIZE_MAX / 4);
	} catch (const std::bad_alloc&) {
		refused = true;
	}
	CHECK(refused);
	try {
		tl::new_array<throws_at_3>(10);
		CHECK(false);
	} catch (const std::runtime_error&) {
	}
	CHECK(alive == 0);
}

// Classes that bring operators of their own, in each way that there is.
int of_their_own;

struct own_array_of {
	static void* operator new[](std::size_t n) { return static_cast<char*>(std::malloc(n + 64)) + 64; }
	static void operator delete[](void* p) { of_their_own++, std::free(static_cast<char*>(p) - 64); }
	int value;
};
struct own_scalar_of final {
	static void* operator new(std::size_t n) { return static_cast<char*>(std::malloc(n + 64)) + 64; }
	static void operator delete(void* p, std::size_t) { of_their_own++, std::free(static_cast<char*>(p) - 64); }
	int value;
};
struct inherited : own_array_of {};
struct plain {
	int value;
};
union either {
	int value;
	float other;
};
static_assert(tl::detail::plain_delete<plain> && tl::detail::plain_delete<int> && tl::detail::plain_delete<int*>);
static_assert(!tl::detail::plain_delete<own_array_of> && !tl::detail::plain_delete<own_scalar_of>);
static_assert(!tl::detail::plain_delete<inherited> && !tl::detail::plain_delete<either>);

void operators_of_a_class()
{
	const long arrays = arrays_deleted, scalars = scalars_deleted;
	{
		auto a = tl::own_array(new own_array_of[3], 3);
		auto b = tl::own_array(new inherited[3], 3);
		auto c = tl::own_scalar(new own_scalar_of{});
	}
	CHECK(of_their_own == 3 && arrays_deleted == arrays && scalars_deleted == scalars);
}

void many_of_any_type()
{
	double* blocks[] = {static_cast<double*>(std::malloc(8)), static_cast<double*>(std::malloc(16))};
	const std::vector<std::size_t> sizes{8, 16};
	tl::register_many(blocks, sizes, TL_ALLOC_MALLOC);
	CHECK(tl_registry_total_bytes() == 24);
#if __cplusplus >= 202002L
	const std::span<double* const> view(blocks);
	CHECK(tl::unregister_many(view.first(1)) == 1 && tl::unregister_many(view.last(1)) == 1);
#else
	CHECK(tl::unregister_many(blocks) == 2);
#endif
}

// Aliases that are added one by one cost what a vector's growth costs, and no reference is lost.
void many_aliases()
{
	constexpr std::size_t n = 20000;
	char* block = static_cast<char*>(std::malloc(n));
	auto buffer = tl::own_buffer<char>(block, n, nullptr, 0, TL_ALLOC_MALLOC);
	std::size_t moves = 0, room = 0;
	for (std::size_t i = 0; i < n; i++) {
		buffer.add_alias(block + i);
		moves += buffer.aliases.capacity() != room;
		room = buffer.aliases.capacity();
	}
	CHECK(moves < 40);
	CHECK(status_of([&] { buffer.add_alias(block + n); }) == TL_E_INVALID_ARGUMENT && buffer.aliases.size() == n);
}

// Who fails to register keeps the memory.
void failures_change_nothing()
{
	auto first = tl::own_array(new int[10], 10);
	CHECK(status_of([&] { tl::own_array(first.get(), 10); }) == TL_E_ALREADY_REGISTERED);
	CHECK(status_of([&] { tl::own(first.get(), 10, static_cast<tl_alloc_kind>(77)); }) == TL_E_INVALID_ARGUMENT);
	CHECK(tl_ptr_refcount(first.get()) == 1);
	std::vector<void*> pointers{std::malloc(8), std::malloc(8), first.get()};
	std::vector<std::size_t> sizes{8, 8, 8};
	CHECK(status_of([&] { tl::register_many(pointers, sizes, TL_ALLOC_MALLOC); }) == TL_E_ALREADY_REGISTERED);
	pointers.pop_back();
	CHECK(status_of([&] { tl::register_many(pointers, sizes, TL_ALLOC_MALLOC); }) == TL_E_INVALID_ARGUMENT);
	sizes.pop_back();
	tl::register_many(pointers, sizes, TL_ALLOC_MALLOC);
	CHECK(tl::unregister_many(pointers) == 2);
	CHECK(tl::unregister_many(pointers) == 0);
}

template <class Resource>
void fill(Resource& resource)
{
	std::pmr::vector<std::pmr::string> words(&resource);
	std::pmr::map<int, std::pmr::vector<double>> rows(&resource);
	for (int i = 0; i < 500; i++) {
		words.emplace_back("a word that needs memory of its own, number " + std::to_string(i));
		rows[i].assign(static_cast<std::size_t>(i) * 40, i);
	}
	CHECK(words[499].size() > 40 && rows[499].back() == 499);
	for (std::size_t alignment : {1, 8, 32, 64}) {
		void* p = resource.allocate(200, alignment);
		CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
		std::thread([&] { resource.deallocate(p, 200, alignment); }).join();
	}
}

// As many values as their bytes have no number for: the product alone would be 16 bytes.
void counts_that_overflow()
{
	constexpr std::size_t n = (std::size_t{1} << 62) + 4;
	int* first = new int[4];
	int* const alias = first + 1;
	const auto is_refused = [](auto register_it) {
		CHECK(status_of(register_it) == TL_E_INVALID_ARGUMENT);
		CHECK(std::strstr(tl_last_error(), "cannot be a block of 18446744073709551615 bytes") != nullptr);
	};
	is_refused([=] { tl::own_array(first, n); });
	is_refused([=] { tl::own(first, n, TL_ALLOC_NEW_ARRAY); });
	is_refused([=] { tl::own(first, n, [](void*, void*) { std::abort(); }, nullptr); });
	is_refused([=] { tl::own_buffer(first, n, &alias, 1, TL_ALLOC_NEW_ARRAY); });
	std::string* text = new std::string[1];
	is_refused([=] { tl::own_array(text, (SIZE_MAX / sizeof(std::string)) + 2); });
	CHECK(tl_registry_num_pointers() == 0);
	delete[] text;
	delete[] first;
}

void resources()
{
	tl::pmr_resource heap, same;
	fill(heap);
	CHECK(heap == same);
	void* page = heap.allocate(100, 4096);
	CHECK(reinterpret_cast<std::uintptr_t>(page) % 4096 == 0);
	heap.deallocate(page, 100, 4096);
	bool refused = false;
	try {
		static_cast<void>(heap.allocate(SIZE_MAX, 8));
	} catch (const std::bad_alloc&) {
		refused = true;
	}
	CHECK(refused);

	tl_memory_pool* pool = nullptr;
	tl::check(tl_memory_pool_create(tl_device_allocator_for(TL_DEVICE_CPU), 1 << 20, &pool));
	{
		tl::pmr_resource over(pool);
		fill(over);
		for (std::size_t alignment = 128; alignment <= 65536; alignment *= 2) { // more than the pool aligns to
			void* wide[3];
			for (void*& p : wide) {
				p = over.allocate(100, alignment);
				CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
				std::memset(p, 1, 100);
			}
			for (void* p : wide) {
				over.deallocate(p, 100, alignment);
			}
		}
		CHECK(!(over == heap) && over == tl::pmr_resource(pool));
	}
	tl_memory_pool_stats stats{};
	stats.struct_size = sizeof stats;
	tl::check(tl_memory_pool_stats_get(pool, &stats));
	CHECK(stats.num_allocations > 500 && stats.current_usage == 0);
	tl_memory_pool_destroy(pool);
}

void workspaces()
{
	tl::workspace scratch(4, 1000);
	CHECK(scratch.size() == 4 && scratch.bytes() == 1000);
	for (std::size_t rank = 0; rank < 4; rank++) {
		CHECK(scratch.get(rank) == tl_workspace_get(scratch.handle(), rank));
		std::memset(scratch.get<char>(rank), 1, 1000);
	}
	tl_clear_error();
	CHECK(scratch.get<int>(4) == nullptr && tl_last_status() == TL_E_INVALID_ARGUMENT);
	tl::workspace other = std::move(scratch);
	CHECK(scratch.size() == 0 && scratch.get(0) == nullptr && other.get(3) != nullptr);
	CHECK(status_of([] { tl::workspace none(0, 1000); }) == TL_E_INVALID_ARGUMENT);
}

} // namespace

int main()
{
	kinds();
	buffers_with_a_deleter();
	destructors_run();
	new_arrays();
	operators_of_a_class();
	many_of_any_type();
	many_aliases();
	failures_change_nothing();
	counts_that_overflow();
	resources();
	workspaces();
	tl_mem_purge();
	tl_stats stats{};
	stats.struct_size = sizeof stats;
	tl::check(tl_stats_get(&stats));
	CHECK(tl_registry_num_pointers() == 0 && tl_registry_total_bytes() == 0 && tl_registry_num_buffers() == 0);
	CHECK(stats.live_objects == 0 && stats.live_bytes == 0 && stats.foreign_live == 0);
	std::puts("registry_hpp: ok");
	return 0;
}
