// The memory pool beside general-purpose allocators: pairs, traces, cost by the number of live blocks, and the system.
// TL_BENCH_TRACE names a trace file to replay as well (trace.hpp has the format): a row named as the file.
#include <tl_runtime.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "../peers/allocators.hpp"
#include "device.hpp"
#include "floors.hpp"
#include "harness.hpp"
#include "trace.hpp"

namespace bench {
namespace {

constexpr std::size_t kRoom = std::size_t{64} << 30; // address space, so that a trace needs one chunk

// One pool for all threads of a benchmark.
tl_memory_pool* shared_pool()
{
	static tl_memory_pool* pool = make_pool(kRoom);
	return pool;
}

struct PoolWay {
	tl_memory_pool* pool;
	void* allocate(std::size_t bytes) const { return tl_memory_pool_allocate(pool, bytes); }
	void release(void* block) const { tl_memory_pool_deallocate(pool, block); }
};

// A fresh pool for each run: one that once had a million blocks has tables of that size.
template <class Measure>
Body fresh(Measure body)
{
	return [=](benchmark::State& state) {
		PoolWay way{make_pool(kRoom)};
		body(state, way);
		tl_memory_pool_destroy(way.pool);
	};
}

struct PeerWay {
	Allocator peer;
	void* allocate(std::size_t bytes) const { return peer.allocate(bytes); }
	void release(void* block) const { peer.release(block); }
};

template <class Way>
void pair(benchmark::State& state, Way way)
{
	measure(state, [=] { way.release(way.allocate(4096)); });
}

template <class Way>
void replay(benchmark::State& state, Way way, const Trace& trace)
{
	std::vector<void*> blocks(trace.ids);
	for (auto _ : state)
		for (const Event& event : trace.events) {
			if (event.bytes) blocks[event.id] = way.allocate(event.bytes);
			else way.release(blocks[event.id]);
		}
	state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(trace.events.size()));
}

// Half a million replacements, drawn before the clock runs, in `changing` of n live blocks.
template <class Way>
void beside(benchmark::State& state, Way way, std::size_t n, std::size_t changing)
{
	constexpr std::size_t kSteps = 500000;
	Random random(n);
	std::vector<void*> blocks(n);
	std::vector<std::uint32_t> at(kSteps), bytes(kSteps);
	for (void*& block : blocks) block = way.allocate(random.size(256, 65536));
	for (std::size_t i = 0; i < kSteps; ++i) {
		at[i] = static_cast<std::uint32_t>(random.below(changing));
		bytes[i] = static_cast<std::uint32_t>(random.size(256, 65536));
	}
	for (auto _ : state)
		for (std::size_t i = 0; i < kSteps; ++i) {
			way.release(blocks[at[i]]);
			blocks[at[i]] = way.allocate(bytes[i]);
		}
	state.SetItemsProcessed(state.iterations() * 2 * kSteps);
	for (void* block : blocks) way.release(block);
}

template <class Way>
void touched(benchmark::State& state, Way way, std::size_t bytes)
{
	constexpr int kThousand = 1000;
	for (auto _ : state)
		for (int i = 0; i < kThousand; ++i) {
			char* block = static_cast<char*>(way.allocate(bytes));
			for (std::size_t at = 0; at < bytes; at += 4096) touch(block + at);
			way.release(block);
		}
	state.SetItemsProcessed(state.iterations() * kThousand);
}

// What a program has that asks the system each time.
template <std::size_t kBytes>
struct SystemWay {
	void* allocate(std::size_t bytes) const { return map_memory(nullptr, bytes); }
	void release(void* block) const { unmap_memory(nullptr, block, kBytes); }
};

using Traces = std::vector<std::shared_ptr<Trace>>;
constexpr std::size_t kLive[] = {1000, 10000, 100000, 1000000};

std::string trace_name(const Trace& trace, const std::string& who) { return "pool-trace/" + trace.name + "/" + who; }

std::string growth_name(const char* what, std::size_t n, const std::string& who)
{
	return std::string(what) + "/" + std::to_string(n) + "/" + who;
}

void add_ours(const Traces& traces)
{
	add_threaded("pool-pair/4096/tl", [](benchmark::State& state) { pair(state, PoolWay{shared_pool()}); });
	add_threaded("pool-pair/4096/tl-own", fresh([](benchmark::State& state, PoolWay way) { pair(state, way); }));
	for (const auto& trace : traces)
		add(trace_name(*trace, "tl"), fresh([=](benchmark::State& state, PoolWay way) { replay(state, way, *trace); }));
	for (std::size_t n : kLive) {
		add(growth_name("pool-resting", n, "tl"),
		    fresh([=](benchmark::State& state, PoolWay way) { beside(state, way, n, 1000); }));
		add(growth_name("pool-random", n, "tl"),
		    fresh([=](benchmark::State& state, PoolWay way) { beside(state, way, n, n); }));
	}
}

void add_peer(const Allocator& peer, const Traces& traces)
{
	const PeerWay way{peer};
	add_threaded("pool-pair/4096/" + peer.name, [=](benchmark::State& state) { pair(state, way); });
	for (const auto& trace : traces)
		add(trace_name(*trace, peer.name), [=](benchmark::State& state) { replay(state, way, *trace); });
	if (peer.name != "mimalloc") return; // one is enough to show what a million blocks cost anybody
	for (std::size_t n : kLive)
		add(growth_name("pool-random", n, peer.name), [=](benchmark::State& state) { beside(state, way, n, n); });
}

template <std::size_t kBytes>
void add_touched(const std::string& name)
{
	add(name + "/tl", fresh([](benchmark::State& state, PoolWay way) { touched(state, way, kBytes); }));
	add(name + "/mmap", [](benchmark::State& state) { touched(state, SystemWay<kBytes>{}, kBytes); });
}

// A thousand pairs of 4096 bytes on a device: by a pool, and by what the pool has its chunks from.
template <class Way>
void thousand(benchmark::State& state, Way way)
{
	for (auto _ : state)
		for (int i = 0; i < 1000; ++i) way.release(way.allocate(4096));
	state.SetItemsProcessed(state.iterations() * 1000);
}

struct DirectWay {
	const tl_device_allocator* device;
	void* allocate(std::size_t bytes) const { return device->allocate(device->ctx, bytes); }
	void release(void* block) const { device->deallocate(device->ctx, block, 4096); }
};

void add_devices()
{
	for (std::int32_t d = 0; d < tl_device_count(); ++d) {
		const tl_device_allocator* device = tl_device_allocator_for(d);
		const std::string name = std::string("pool-device/") + device->name;
		add(name + "/tl", [=](benchmark::State& state) {
			tl_memory_pool* pool = nullptr;
			if (tl_memory_pool_create(device, std::size_t{16} << 20, &pool) != TL_OK)
				return state.SkipWithError(tl_last_error());
			thousand(state, PoolWay{pool});
			tl_memory_pool_destroy(pool);
		});
		add(name + "/direct", [=](benchmark::State& state) { thousand(state, DirectWay{device}); });
	}
}

Traces all_traces()
{
	Traces traces;
	for (const std::string& kind : trace_kinds()) traces.push_back(std::make_shared<Trace>(make_trace(kind, 1)));
	if (const char* path = std::getenv("TL_BENCH_TRACE")) {
		std::ifstream file(path);
		if (file) traces.push_back(std::make_shared<Trace>(read_trace(file, trace_stem(path))));
		else skip(path, "it cannot be read");
	}
	return traces;
}

} // namespace

void register_all()
{
	add("floor/miss", miss_floor);
	add("floor/chase", chase_floor);
	const Traces traces = all_traces();
	add_ours(traces);
	for (const Allocator& peer : allocators()) add_peer(peer, traces);
	add_devices();
	add_touched<4096>("pool-touched/4096");
	add_touched<1 << 20>("pool-touched/1MiB");
}

} // namespace bench
