// alloc + free pairs, and a thousand at once released last first.
#include <tl_runtime.h>

#include <array>

#include "../peers/allocators.hpp"
#include "floors.hpp"
#include "harness.hpp"

namespace bench {
namespace {

constexpr int kThousand = 1000;

template <class Allocate, class Release>
void pair(benchmark::State& state, Allocate allocate, Release release, std::size_t bytes)
{
	measure(state, [=] {
		void* object = allocate(bytes);
		touch(object);
		release(object);
	});
}

template <class Allocate, class Release>
void thousand(benchmark::State& state, Allocate allocate, Release release)
{
	std::array<void*, kThousand> objects;
	for (auto _ : state) {
		for (void*& object : objects) touch(object = allocate(64));
		for (int i = kThousand; i-- > 0;) release(objects[i]);
	}
	state.SetItemsProcessed(state.iterations() * kThousand);
}

// Function pointers for all, ours included: one indirect call each, as through a PLT.
template <class Allocate, class Release>
void add_allocator(const std::string& name, Allocate allocate, Release release)
{
	for (std::size_t bytes : {64, 1024, 65536})
		add_threaded("pair/" + std::to_string(bytes) + "/" + name,
		             [=](benchmark::State& state) { pair(state, allocate, release, bytes); });
	add_threaded("thousand/64/" + name, [=](benchmark::State& state) { thousand(state, allocate, release); });
}

} // namespace

void register_all()
{
	add("floor/thousand", thousand_floor);
	for (const Allocator& allocator : allocators())
		add_allocator(allocator.name, allocator.allocate, allocator.release);
	add_allocator("tl", tl_mem_alloc, tl_ptr_release);
	// The other way to give a floating object back.
	add_allocator("tl-mem_free", tl_mem_alloc, tl_mem_free);
}

} // namespace bench
