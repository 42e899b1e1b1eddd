// A worker's block of a workspace: inlined from the C++ header, and by the checked call of C.
#include <vector>

#include "../../include/tl_registry.hpp"
#include "harness.hpp"

namespace bench {
namespace {

constexpr std::size_t kWorkers = 8, kBytes = 1024;

// The rank comes from memory, and whatever is known of the workspace is forgotten each time.
template <class Get>
void ranks(benchmark::State& state, Get get)
{
	std::size_t rank = 0;
	for (auto _ : state) {
		benchmark::DoNotOptimize(rank);
		benchmark::DoNotOptimize(get(rank));
		benchmark::ClobberMemory();
		rank = (rank + 1) % kWorkers;
	}
}

void inlined(benchmark::State& state)
{
	tl::workspace scratch(kWorkers, kBytes);
	benchmark::DoNotOptimize(&scratch);
	ranks(state, [&](std::size_t rank) { return scratch.get(rank); });
}

void checked(benchmark::State& state)
{
	tl::workspace scratch(kWorkers, kBytes);
	ranks(state, [handle = scratch.handle()](std::size_t rank) { return tl_workspace_get(handle, rank); });
}

BENCH("workspace/get/vector-at")
{
	std::vector<std::vector<char>> scratch(kWorkers, std::vector<char>(kBytes));
	benchmark::DoNotOptimize(&scratch);
	ranks(state, [&](std::size_t rank) { return scratch.at(rank).data(); });
}

} // namespace

void register_all()
{
	add("workspace/get/tl", inlined);
	add("workspace/get/tl-checked", checked);
}

} // namespace bench
