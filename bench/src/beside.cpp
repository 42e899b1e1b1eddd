// One step beside the fastest call: views, tensors from data, tensors freed oldest first, aliases, deleters. One thread
// alone uses the library; beside_threads.cpp has what several do.
#include <array>

#include "../peers/floor.h"
#include "../peers/maps.hpp"
#include "tensors_made.hpp"

namespace bench {
namespace {

// ---- tensors ----

void made_asked_and_freed(benchmark::State& state, int64_t rank)
{
	measure(state, [=] {
		tl_tensor* tensor = empty(rank);
		touch(tl_tensor_data(tensor));
		tl_tensor_free(tensor);
	});
}

OPERATION("beside/tensor0/floor")
{
	void* tensor = floor_make_tensor(1, 1, sizeof(float));
	benchmark::DoNotOptimize(tensor);
	floor_free_tensor(tensor);
}

constexpr std::size_t kHundred = 100;

void freed_in_scope(benchmark::State& state, bool oldest_first)
{
	std::array<tl_tensor*, kHundred> tensors;
	for (auto _ : state) {
		tl_mem_enter_scope();
		for (tl_tensor*& tensor : tensors) tensor = empty(2);
		for (std::size_t i = 0; i < kHundred; ++i) tl_tensor_free(tensors[oldest_first ? i : kHundred - 1 - i]);
		tl_mem_exit_scope();
	}
	state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kHundred));
}

void scalar(benchmark::State& state)
{
	const float value = 1;
	measure(state, [&] { tl_tensor_free(tl_tensor_new(&value, 0, nullptr)); });
}

BENCH("beside/new-i64/tl")
{
	const int64_t values[4] = {1, 2, 3, 4}, shape = 4;
	measure(state, [&] { tl_tensor_free(tl_tensor_new_i64(values, 1, &shape)); });
}

// Of a tensor of a few numbers, so that the copy is none to speak of.
void clone(benchmark::State& state)
{
	const int64_t shape = 4;
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
	measure(state, [&] { tl_tensor_free(tl_tensor_clone(tensor)); });
	tl_tensor_free(tensor);
}

template <class View>
void view(benchmark::State& state, View make)
{
	tl_tensor* tensor = empty(2);
	measure(state, [&] { tl_tensor_free(make(tensor)); });
	tl_tensor_free(tensor);
}

void add_tensors()
{
	for (int64_t rank = 0; rank <= 4; ++rank) {
		const std::string name = "beside/tensor" + std::to_string(rank);
		add(name + "/tl", [rank](benchmark::State& state) { made_and_freed(state, rank); });
		add(name + "/glibc", [rank](benchmark::State& state) { header_and_data(state, rank); });
	}
	for (int64_t rank = 0; rank <= 1; ++rank)
		add("beside/tensor" + std::to_string(rank) + "-data/tl",
		    [rank](benchmark::State& state) { made_asked_and_freed(state, rank); });
	add("beside/newest-first/tl", [](benchmark::State& state) { freed_in_scope(state, false); });
	add("beside/oldest-first/tl", [](benchmark::State& state) { freed_in_scope(state, true); });
	add("beside/new-scalar/tl", scalar);
	add("beside/clone/tl", clone);
	static constexpr int64_t kFlat[1] = {4096};
	add("beside/reshape/tl",
	    [](benchmark::State& state) { view(state, [](tl_tensor* of) { return tl_view_reshape(of, 1, kFlat); }); });
	add("beside/transpose/tl",
	    [](benchmark::State& state) { view(state, [](tl_tensor* of) { return tl_view_transpose(of, 0, 1); }); });
	add("beside/slice/tl",
	    [](benchmark::State& state) { view(state, [](tl_tensor* of) { return tl_view_slice(of, 0, 8, 16, 1); }); });
}

// ---- memory of others ----

alignas(64) char block[64];

void nothing(void*, void*) {}

void alias(benchmark::State& state)
{
	std::uint64_t id = 0;
	void* buffer = std::malloc(4096);
	tl_registry_register_buffer(buffer, 4096, nullptr, 0, TL_ALLOC_MALLOC, &id);
	char* row = static_cast<char*>(buffer) + 64;
	measure(state, [=] {
		tl_registry_add_alias(id, row);
		tl_registry_unregister(row);
	});
	tl_registry_unregister(buffer);
}

void custom(benchmark::State& state)
{
	measure(state, [] {
		tl_registry_register_custom(block, sizeof block, nothing, nullptr);
		tl_registry_unregister(block);
	});
}

// A count for the block and one for the name.
BENCH("beside/alias/unordered_map")
{
	StdMap map;
	const auto p = reinterpret_cast<std::uintptr_t>(block);
	map.insert(p, sizeof block);
	measure(state, [&] {
		map.acquire(p);
		map.insert(p + 64, 64);
		if (map.erase(p + 64)) map.erase(p);
	});
}

BENCH("beside/custom/unordered_map")
{
	StdMap map;
	const auto p = reinterpret_cast<std::uintptr_t>(block);
	measure(state, [&] {
		map.insert(p, sizeof block);
		if (map.erase(p)) nothing(block, nullptr);
	});
}

} // namespace

void register_all()
{
	add_tensors();
	add("beside/alias/tl", alias);
	add("beside/custom/tl", custom);
}

} // namespace bench
