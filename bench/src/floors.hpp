// What the machine itself takes for the least that an operation of ours has to do. Each program adds those that its
// table compares.
#pragma once

#include <cstdint>
#include <vector>

#include "../peers/floor.h"
#include "harness.hpp"

namespace bench {

// A scope of eight in an arena: each call waits for what the call before has stored.
inline void arena_floor(benchmark::State& state)
{
	measure(state, [] {
		void* mark = floor_top();
		for (int i = 0; i < 8; ++i) touch(floor_bump(64));
		floor_set_top(mark);
	});
}

// A thousand objects of 64 bytes, last first: 96 KiB of objects, records and free slots.
inline void thousand_floor(benchmark::State& state)
{
	constexpr int kThousand = 1000;
	std::vector<void*> objects(kThousand);
	for (auto _ : state) {
		for (void*& object : objects) touch(object = floor_take());
		for (int i = kThousand; i-- > 0;) floor_give(objects[static_cast<std::size_t>(i)]);
	}
	state.SetItemsProcessed(state.iterations() * kThousand);
}

// One cache line of 256 MiB, any, that is read and written. No access waits for another one, so that ten and more are
// under way at once.
inline void miss_floor(benchmark::State& state)
{
	constexpr std::size_t kLine = 64, kLines = std::size_t{4} << 20;
	std::vector<char> memory(kLine * kLines, 1);
	std::uint64_t random = 1;
	measure(state, [&] {
		random = random * 6364136223846793005u + 1442695040888963407u;
		++memory[(random >> 33) % kLines * kLine];
	});
}

// The same where each access waits for the one before, which says where it is.
inline void chase_floor(benchmark::State& state)
{
	constexpr std::size_t kLine = 64, kLines = std::size_t{4} << 20;
	struct Line {
		std::uint64_t next;
		char rest[kLine - sizeof next];
	};
	std::vector<Line> memory(kLines);
	std::uint64_t at = 0;
	for (std::size_t i = 0; i < kLines;
	     ++i) { // one circle through all of them, in the order of a full-period generator
		const std::uint64_t next = (at * 6364136223846793005u + 1442695040888963407u) % kLines;
		memory[at].next = next;
		at = next;
	}
	measure(state, [&] { at = ++memory[at].rest[0] < 0 ? memory[at].next : memory[at].next; });
	benchmark::DoNotOptimize(at);
}

} // namespace bench
