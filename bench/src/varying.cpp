// What varies: sizes to 64 MiB, shapes, lengths, and the operations beside those that other programs measure. Each row
// is one of a kind; tests_c/kinds holds that none of a kind calls the slow path.
#include <tl_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "device.hpp"
#include "harness.hpp"

namespace bench {
namespace {

// The same numbers for ours and for the peer.
class Draw {
  public:
	std::size_t below(std::size_t n)
	{
		state_ ^= state_ << 13;
		state_ ^= state_ >> 7;
		state_ ^= state_ << 17;
		return static_cast<std::size_t>(state_ % n);
	}
	// 1 to 2 to the power of bits.
	std::size_t log_uniform(int bits)
	{
		const std::size_t low = std::size_t{1} << below(static_cast<std::size_t>(bits));
		return low + below(low) + 1;
	}

  private:
	std::uint64_t state_ = 88172645463325252u;
};

constexpr int kWarm = 500;

template <class Operation>
void row(const std::string& kind, const char* who, Operation operation)
{
	add("varying/" + kind + "/" + who, [=](benchmark::State& state) mutable {
		for (int i = 0; i < kWarm; ++i) operation();
		measure(state, [&operation] { operation(); });
	});
}

// ---- objects ----

template <class Bytes>
void sized(const std::string& kind, Bytes bytes)
{
	row(kind, "tl", [=]() mutable {
		void* object = tl_mem_alloc(bytes());
		benchmark::DoNotOptimize(object);
		tl_ptr_release(object);
	});
	row(kind, "glibc", [=]() mutable {
		void* block = std::malloc(bytes());
		benchmark::DoNotOptimize(block);
		std::free(block);
	});
}

void add_objects()
{
	for (std::size_t bytes : {60000, 70000, 131072, 1 << 20, 3 << 20, 8 << 20, 24 << 20, 64 << 20})
		sized("object-" + std::to_string(bytes), [bytes] { return bytes; });
	for (int bits : {12, 18, 25})
		sized("object-to-" + std::to_string(std::size_t{1} << bits),
		      [bits, draw = Draw()]() mutable { return draw.log_uniform(bits); });
	row("dec-ref", "tl", [] {
		void* object = tl_mem_alloc(64);
		if (tl_ptr_dec_ref(object) == 1) tl_mem_free(object);
	});
	row("dec-ref", "glibc", [] {
		void* block = std::malloc(64);
		benchmark::DoNotOptimize(block);
		std::free(block);
	});
	row("share", "tl", [] {
		void* object = tl_mem_alloc(32);
		tl_ptr_share(object);
		tl_ptr_release(object);
	});
	row("unknown", "tl", [] {
		int local = 0;
		tl_ptr_inc_ref(&local);
	});
}

void* realloc_object(void* object, std::size_t bytes) { return tl_mem_realloc(object, bytes); }
void* realloc_block(void* block, std::size_t bytes) { return std::realloc(block, bytes); }
void drop_object(void* object) { tl_ptr_release(object); }
void drop_block(void* block) { std::free(block); }

// Blocks that grow to `most` in turn, one or two: of one that has another behind it the peer has to copy, too. An iteration
// is the whole of it, since its last steps may copy a thousand times as much as its first. The time is that of a step.
void grows_by(const std::string& kind, const char* who, int count, std::size_t most, std::size_t (*next)(std::size_t),
              void* (*grow)(void*, std::size_t), void (*end)(void*))
{
	add("varying/" + kind + "/" + who, [=](benchmark::State& state) {
		std::int64_t steps = 0;
		for (auto _ : state) {
			void* blocks[2] = {};
			for (std::size_t bytes = 64;; bytes = next(bytes)) {
				for (int i = 0; i < count; ++i) touch(blocks[i] = grow(blocks[i], bytes));
				steps += count;
				if (bytes >= most) break;
			}
			for (int i = 0; i < count; ++i) end(blocks[i]);
		}
		state.SetItemsProcessed(steps);
	});
}

void grows(const std::string& kind, int count, std::size_t most, std::size_t (*next)(std::size_t))
{
	grows_by(kind, "tl", count, most, next, realloc_object, drop_object);
	grows_by(kind, "glibc", count, most, next, realloc_block, drop_block);
}

void add_growth()
{
	grows("realloc-by-17", 1, 4000, [](std::size_t bytes) { return bytes + 17; });
	grows("realloc-by-8", 1, 112, [](std::size_t bytes) { return bytes + 8; });
	grows("realloc-by-half", 2, 64 << 10, [](std::size_t bytes) { return bytes + bytes / 2; });
	grows("realloc-twice", 1, 32 << 20, [](std::size_t bytes) { return bytes * 2; });
}

// ---- typed objects and Vecs ----

long destroyed;

void destroy(void*) { ++destroyed; }

tl_type define(tl_destructor destructor)
{
	tl_type type = 0;
	tl_type_desc description = {};
	description.name = "leaf";
	description.size = 32;
	description.destructor = destructor;
	if (tl_type_define(&description, &type) != TL_OK) std::abort();
	return type;
}

void add_typed()
{
	const tl_type leaf = define(destroy), plain = define(nullptr);
	row("destructor", "tl", [leaf] {
		tl_mem_enter_scope();
		benchmark::DoNotOptimize(tl_object_new(leaf));
		tl_mem_exit_scope();
	});
	row("destructor", "glibc", [] {
		void* block = std::calloc(1, 32);
		benchmark::DoNotOptimize(block);
		destroy(block);
		std::free(block);
	});
	row("floating", "tl", [plain] {
		void* object = tl_object_new(plain);
		tl_mem_unregister(object);
		tl_ptr_release(object);
	});
}

// A Vec is built anew each time, with its element held by a scope around.
void vecs(benchmark::State& state, int count, bool cleared)
{
	tl_mem_enter_scope();
	void *element = tl_mem_new(32), *vec = tl_vec_new(0);
	for (auto _ : state) {
		tl_mem_enter_scope();
		void* built = cleared ? vec : tl_vec_new(0);
		for (int i = 0; i < count; ++i) tl_vec_push(built, element);
		if (cleared) tl_vec_clear(vec);
		tl_mem_exit_scope();
	}
	tl_mem_exit_scope();
	state.SetItemsProcessed(state.iterations() * (cleared ? count : 1));
}

// ---- tensors ----

void shaped(const std::string& kind, std::int64_t width, std::size_t most)
{
	row(kind, "tl", [=, draw = Draw()]() mutable {
		const std::int64_t shape[2] = {static_cast<std::int64_t>(1 + draw.below(most)), width};
		tl_tensor_free(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape));
	});
	row(kind, "glibc", [=, draw = Draw()]() mutable {
		void* block = std::malloc((1 + draw.below(most)) * static_cast<std::size_t>(width) * sizeof(float));
		benchmark::DoNotOptimize(block);
		std::free(block);
	});
}

float outside[4096];
const std::int64_t kSquare[2] = {64, 64};

void dlpack(benchmark::State& state)
{
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, kSquare);
	measure(state, [=] { tl_tensor_free(tl_tensor_from_dlpack(tl_tensor_to_dlpack(tensor, false))); });
	tl_tensor_free(tensor);
}

void add_tensors()
{
	for (std::int64_t width : {64, 1024, 4096}) shaped("tensor-" + std::to_string(width), width, 2048);
	row("from-buffer", "tl", [] {
		tl_tensor_free(
			tl_tensor_from_buffer(TL_DTYPE_F32, TL_DEVICE_CPU, 2, kSquare, outside, nullptr, nullptr, nullptr));
	});
	add("varying/dlpack/tl", dlpack);
}

// ---- memory of malloc, and pools ----

template <class Bytes>
void array(const std::string& kind, Bytes bytes)
{
	row(kind, "tl", [=]() mutable { tl_registry_unregister(tl_registry_new_array(bytes(), 1)); });
	row(kind, "glibc", [=]() mutable {
		void* block = std::malloc(bytes());
		benchmark::DoNotOptimize(block);
		std::free(block);
	});
}

void add_blocks()
{
	row("aligned", "tl", [] { tl_aligned_free(tl_aligned_alloc(4096, 4096)); });
	row("aligned", "glibc", [] {
		void* block = std::aligned_alloc(4096, 4096);
		benchmark::DoNotOptimize(block);
		std::free(block);
	});
	array("array", [] { return std::size_t{4000}; });
	for (const int bits : {10, 16, 25})
		array("array-to-" + std::to_string(std::size_t{1} << bits),
		      [bits, draw = Draw()]() mutable { return draw.log_uniform(bits); });
	static tl_memory_pool* pool = make_pool(std::size_t{1} << 30);
	add_threaded("varying/pool/tl", [](benchmark::State& state) {
		Draw draw;
		measure(state, [&] { tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, draw.log_uniform(16))); });
	});
	add_threaded("varying/pool-4096/tl", [](benchmark::State& state) {
		measure(state, [] { tl_memory_pool_deallocate(pool, tl_memory_pool_allocate(pool, 4096)); });
	});
}

} // namespace

void register_all()
{
	add_objects();
	add_growth();
	add_typed();
	add("varying/vec-of-4/tl", [](benchmark::State& state) { vecs(state, 4, false); });
	add("varying/vec-of-1000/tl", [](benchmark::State& state) { vecs(state, 1000, true); });
	add_tensors();
	add_blocks();
}

} // namespace bench
