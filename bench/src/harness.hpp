// What every benchmark program shares: one `main`, a second thread that is alive all the time (without it glibc and
// libstdc++ skip their atomic operations, which no program with a runtime in it can), and names of the form
// operation/size/who, by which report.py pairs ours with a peer.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

namespace bench {

// Operations per timed iteration: the loop's own cost disappears next to them.
constexpr int kBatch = 64;

template <class Operation>
void measure(benchmark::State& state, Operation operation)
{
	for (auto _ : state)
		for (int i = 0; i < kBatch; ++i) operation();
	state.SetItemsProcessed(state.iterations() * kBatch);
}

// A user writes to what was allocated; without it the page of a large block is never touched.
inline void touch(void* object) { *static_cast<volatile char*>(object) = 1; }

using Body = std::function<void(benchmark::State&)>;

void add(const std::string& name, Body body);
// The same once more with two threads: wall time over the operations of both.
void add_threaded(const std::string& name, Body body);
// A peer that is not installed: said once, on stderr.
void skip(const std::string& peer, const std::string& why);

// Each program registers its benchmarks here.
void register_all();

} // namespace bench
