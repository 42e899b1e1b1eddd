// A scope of eight objects against malloc and free, at every size class, and against the pools that people use.
#include <tl_runtime.h>

#include <memory>
#include <memory_resource>
#include <vector>

#include "../peers/allocators.hpp"
#include "floors.hpp"
#include "harness.hpp"
#include "sizes.hpp"

#include <obstack.h>
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

#ifdef BENCH_APR
#include <apr_pools.h>
#endif
#ifdef BENCH_TALLOC
#include <talloc.h>
#endif

namespace bench {
namespace {

constexpr int kObjects = 8;
constexpr std::size_t kBytes = 64;

void runtime_scope(benchmark::State& state, std::size_t bytes)
{
	measure(state, [bytes] {
		tl_mem_enter_scope();
		for (int i = 0; i < kObjects; ++i) touch(tl_mem_new(bytes));
		tl_mem_exit_scope();
	});
}

constexpr std::size_t kMixed[kObjects] = {64, 24, 96, 160, 32, 256, 64, 128};

OPERATION("scope8/mixed/tl")
{
	tl_mem_enter_scope();
	for (std::size_t bytes : kMixed) touch(tl_mem_new(bytes));
	tl_mem_exit_scope();
}

BENCH("scope8/alternating/tl")
{
	std::size_t bytes = 64;
	measure(state, [&bytes] {
		bytes ^= 64 ^ 96;
		tl_mem_enter_scope();
		for (int i = 0; i < kObjects; ++i) touch(tl_mem_new(bytes));
		tl_mem_exit_scope();
	});
}

void mixed_pairs(benchmark::State& state, const Allocator& allocator)
{
	auto allocate = allocator.allocate;
	auto release = allocator.release;
	measure(state, [=] {
		void* objects[kObjects];
		for (int i = 0; i < kObjects; ++i) touch(objects[i] = allocate(kMixed[i]));
		for (int i = kObjects; i-- > 0;) release(objects[i]);
	});
}

void pairs(benchmark::State& state, const Allocator& allocator, std::size_t bytes)
{
	auto allocate = allocator.allocate;
	auto release = allocator.release;
	measure(state, [=] {
		void* objects[kObjects];
		for (void*& object : objects) touch(object = allocate(bytes));
		for (int i = kObjects; i-- > 0;) release(objects[i]);
	});
}

void add_size(std::size_t bytes)
{
	const std::string name = "scope8/" + std::to_string(bytes) + "/";
	add(name + "tl", [bytes](benchmark::State& state) { runtime_scope(state, bytes); });
	const Allocator& glibc = allocators().front();
	add(name + glibc.name, [&glibc, bytes](benchmark::State& state) { pairs(state, glibc, bytes); });
}

void add_allocators()
{
	for (const Allocator& allocator : allocators())
		add_threaded("scope8/own/" + allocator.name,
		             [&allocator](benchmark::State& state) { pairs(state, allocator, kBytes); });
	for (const Allocator& allocator : allocators())
		add("scope8/mixed/" + allocator.name, [&allocator](benchmark::State& state) { mixed_pairs(state, allocator); });
	add_threaded("scope8/own/tl", [](benchmark::State& state) { runtime_scope(state, kBytes); });
}

// ---- the runtime without objects ----

OPERATION_THREADED("scope8/own/tl-planned-frame")
{
	char* frame = static_cast<char*>(tl_mem_frame_enter(kObjects * kBytes));
	for (int i = 0; i < kObjects; ++i) touch(frame + i * kBytes);
	tl_mem_frame_exit();
}

BENCH_THREADED("scope8/own/tl-arena-offset")
{
	tl_arena_init(1 << 20);
	measure(state, [] {
		int64_t offset = tl_arena_get_offset();
		for (int i = 0; i < kObjects; ++i) touch(tl_arena_alloc(kBytes));
		tl_arena_set_offset(offset);
	});
	tl_arena_free();
}

BENCH_THREADED("scope8/own/tl-arena-scope")
{
	tl_arena_init(1 << 20);
	measure(state, [] {
		tl_mem_enter_scope();
		for (int i = 0; i < kObjects; ++i) touch(tl_arena_alloc(kBytes));
		tl_mem_exit_scope();
	});
	tl_arena_free();
}

// ---- pools that release nothing object by object ----

void monotonic(benchmark::State& state)
{
	alignas(64) char buffer[4096];
	std::pmr::monotonic_buffer_resource pool(buffer, sizeof buffer);
	measure(state, [&pool] {
		for (int i = 0; i < kObjects; ++i) touch(pool.allocate(kBytes, 16));
		pool.release();
	});
}

BENCH("scope8/own/obstack")
{
	obstack stack;
	obstack_init(&stack);
	void* bottom = obstack_alloc(&stack, 16);
	benchmark::DoNotOptimize(bottom);
	measure(state, [&stack] {
		void* first = obstack_alloc(&stack, kBytes);
		touch(first);
		for (int i = 1; i < kObjects; ++i) touch(obstack_alloc(&stack, kBytes));
		obstack_free(&stack, first);
	});
	obstack_free(&stack, nullptr);
}

// ---- containers of owning pointers ----

struct Object {
	char bytes[kBytes];
};

OPERATION("scope8/own/vector<unique_ptr>")
{
	std::vector<std::unique_ptr<Object>> objects;
	objects.reserve(kObjects);
	for (int i = 0; i < kObjects; ++i) touch(objects.emplace_back(new Object).get());
	benchmark::DoNotOptimize(objects);
}

OPERATION("scope8/own/vector<shared_ptr>")
{
	std::vector<std::shared_ptr<Object>> objects;
	objects.reserve(kObjects);
	for (int i = 0; i < kObjects; ++i) touch(objects.emplace_back(std::make_shared<Object>()).get());
	benchmark::DoNotOptimize(objects);
}

#ifdef BENCH_APR
apr_status_t cleanup(void* object)
{
	touch(object);
	return APR_SUCCESS;
}

void apr_pool(benchmark::State& state, bool with_cleanups)
{
	apr_pool_t* pool;
	apr_pool_create(&pool, nullptr);
	measure(state, [=] {
		for (int i = 0; i < kObjects; ++i) {
			void* object = apr_palloc(pool, kBytes);
			touch(object);
			if (with_cleanups) apr_pool_cleanup_register(pool, object, cleanup, apr_pool_cleanup_null);
		}
		apr_pool_clear(pool);
	});
	apr_pool_destroy(pool);
}
#endif

void add_apr()
{
#ifdef BENCH_APR
	apr_initialize();
	add("scope8/own/apr", [](benchmark::State& state) { apr_pool(state, false); });
	add("scope8/own/apr-cleanups", [](benchmark::State& state) { apr_pool(state, true); });
#else
	skip("APR pools", "no apr-1");
#endif
}

void add_talloc()
{
#ifdef BENCH_TALLOC
	add("scope8/own/talloc", [](benchmark::State& state) {
		measure(state, [] {
			void* scope = talloc_new(nullptr);
			for (int i = 0; i < kObjects; ++i) touch(talloc_size(scope, kBytes));
			talloc_free(scope);
		});
	});
#else
	skip("talloc", "no libtalloc");
#endif
}

} // namespace

void register_all()
{
	add("floor/arena8", arena_floor);
	for (std::size_t bytes : class_sizes()) add_size(bytes);
	add_allocators();
	add("scope8/own/std::pmr::monotonic", monotonic);
	add_apr();
	add_talloc();
}

} // namespace bench
