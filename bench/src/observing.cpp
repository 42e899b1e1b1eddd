// What it costs to look: statistics, tracking, traces, and the reports of many live objects.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness.hpp"
#include "tl_runtime.h"

namespace bench {
namespace {

constexpr int kLive = 100000;

void must(tl_status status)
{
	if (status == TL_OK) return;
	std::fprintf(stderr, "%s\n", tl_last_error());
	std::abort();
}

// An option that is set while a benchmark runs.
class Option {
  public:
	Option(const char* name, const char* value, const char* usual) : name_(name), usual_(usual)
	{
		must(tl_configure(name, value));
	}
	~Option() { must(tl_configure(name_, usual_)); }

  private:
	const char *name_, *usual_;
};

void pair(benchmark::State& state)
{
	measure(state, [] {
		void* object = tl_mem_alloc(64);
		touch(object);
		tl_ptr_release(object);
	});
}

BENCH("observe/pair/sampled")
{
	Option sample("TL_TRACK_SAMPLE", "512K", "0");
	pair(state);
}

BENCH("observe/pair/tracked")
{
	Option track("TL_TRACK", "1", "0");
	pair(state);
}

// The file is full after a while; from there on events are counted, not written.
BENCH("observe/pair/traced")
{
	char path[] = "/tmp/tl-bench-XXXXXX";
	int file = mkstemp(path);
	if (file < 0) std::abort();
	close(file);
	must(tl_trace_start(path));
	pair(state);
	must(tl_trace_stop());
	std::remove(path);
}

void sums(benchmark::State& state)
{
	tl_stats stats;
	for (auto _ : state) {
		stats.struct_size = sizeof stats;
		benchmark::DoNotOptimize(tl_stats_get(&stats));
	}
}

// Types stay for ever: this comes last.
BENCH("observe/stats/get-types")
{
	static bool defined;
	for (int i = 0; !defined && i < 10000; ++i) {
		tl_type type;
		const tl_type_desc one{"one of many", static_cast<size_t>(32 + i % 500), nullptr, 0, nullptr, 0};
		must(tl_type_define(&one, &type));
	}
	defined = true;
	sums(state);
}

void json(benchmark::State& state)
{
	std::vector<char> text(1 << 20);
	for (auto _ : state) benchmark::DoNotOptimize(tl_stats_json(text.data(), text.size()));
}

void info(benchmark::State& state)
{
	Option track("TL_TRACK", "1", "0");
	void* object = tl_mem_alloc(64);
	tl_alloc_info known;
	for (auto _ : state) {
		known.struct_size = sizeof known;
		benchmark::DoNotOptimize(tl_mem_allocation_info(object, &known));
	}
	tl_ptr_release(object);
}

// Objects that are tracked and float, which is a leak each.
template <class Report>
void of_many(benchmark::State& state, Report report)
{
	Option track("TL_TRACK", "1", "0");
	std::vector<void*> live;
	for (int i = 0; i < kLive; ++i) live.push_back(tl_mem_alloc(64));
	for (auto _ : state) report();
	state.SetItemsProcessed(state.iterations() * kLive);
	for (void* object : live) tl_ptr_release(object);
}

void leaks(benchmark::State& state)
{
	of_many(state, [] {
		if (tl_leak_report("/dev/null") != kLive) std::abort();
	});
}

void profile(benchmark::State& state)
{
	of_many(state, [] { must(tl_profile_write("/dev/null")); });
}

} // namespace

void register_all()
{
	add("observe/pair/off", pair);
	add("observe/stats/get", sums);
	add("observe/stats/json", json);
	add("observe/info", info);
	add("observe/many/leaks", leaks);
	add("observe/many/profile", profile);
}

} // namespace bench
