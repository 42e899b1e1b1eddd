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

// A benchmark by its name, which measures `state`; and one that is an operation alone.
#define BENCH(name) BENCH_AT(name, add, __LINE__)
#define BENCH_THREADED(name) BENCH_AT(name, add_threaded, __LINE__)
#define OPERATION(name) OPERATION_AT(name, add, __LINE__)
#define OPERATION_THREADED(name) OPERATION_AT(name, add_threaded, __LINE__)
#define BENCH_AT(name, how, line) BENCH_AS(name, how, line) /* expands __LINE__ */
#define BENCH_AS(name, how, line)                                    \
	void bench_##line(benchmark::State&);                            \
	const bool bench_added_##line = (how(name, bench_##line), true); \
	void bench_##line(benchmark::State& state)
#define OPERATION_AT(name, how, line) OPERATION_AS(name, how, line)
#define OPERATION_AS(name, how, line)               \
	void operation_##line();                        \
	BENCH_AS(name, how, line)                       \
	{                                               \
		measure(state, [] { operation_##line(); }); \
	}                                               \
	inline void operation_##line()

// Others are registered here.
void register_all();

} // namespace bench
