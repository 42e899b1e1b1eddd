// The memory pool beside general-purpose allocators: pairs, traces, cost by the number of live blocks, and the system.
// TL_BENCH_TRACE names a trace file to replay as well (trace.hpp has the format).
#include <tl_runtime.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "../peers/allocators.hpp"
#include "device.hpp"
#include "harness.hpp"
#include "trace.hpp"

namespace bench {
namespace {

constexpr std::size_t kRoom = std::size_t{64} << 30;  // address space, so that a trace needs one chunk

// One pool for all threads of a benchmark, and for all benchmarks that want a fresh one.
tl_memory_pool* shared_pool() {
  static tl_memory_pool* pool = make_pool(kRoom);
  return pool;
}

struct PoolWay {
  tl_memory_pool* pool = shared_pool();
  void* allocate(std::size_t bytes) const { return tl_memory_pool_allocate(pool, bytes); }
  void release(void* block) const { tl_memory_pool_deallocate(pool, block); }
};

struct PeerWay {
  Allocator peer;
  void* allocate(std::size_t bytes) const { return peer.allocate(bytes); }
  void release(void* block) const { peer.release(block); }
};

template <class Way>
void pair(benchmark::State& state, Way way) {
  measure(state, [=] { way.release(way.allocate(4096)); });
}

// A pool for each thread.
void pair_own(benchmark::State& state) {
  PoolWay way{make_pool(1 << 20)};
  pair(state, way);
  tl_memory_pool_destroy(way.pool);
}

template <class Way>
void replay(benchmark::State& state, Way way, const Trace& trace) {
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
void beside(benchmark::State& state, Way way, std::size_t n, std::size_t changing) {
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
void touched(benchmark::State& state, Way way, std::size_t bytes) {
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

template <class Way>
void add_traces(const std::string& who, Way way, const std::vector<std::shared_ptr<Trace>>& traces) {
  for (const auto& trace : traces)
    add("pool-trace/" + trace->name + "/" + who, [=](benchmark::State& state) { replay(state, way, *trace); });
}

template <class Way>
void add_growth(const std::string& who, Way way) {
  for (std::size_t n : {1000, 10000, 100000, 1000000}) {
    add("pool-resting/" + std::to_string(n) + "/" + who,
        [=](benchmark::State& state) { beside(state, way, n, 1000); });
    add("pool-random/" + std::to_string(n) + "/" + who, [=](benchmark::State& state) { beside(state, way, n, n); });
  }
}

std::vector<std::shared_ptr<Trace>> all_traces() {
  std::vector<std::shared_ptr<Trace>> traces;
  for (const std::string& kind : trace_kinds()) traces.push_back(std::make_shared<Trace>(make_trace(kind, 1)));
  if (const char* path = std::getenv("TL_BENCH_TRACE")) {
    std::ifstream file(path);
    if (file) traces.push_back(std::make_shared<Trace>(read_trace(file, "file")));
    else skip(path, "it cannot be read");
  }
  return traces;
}

}  // namespace

void register_all() {
  const auto traces = all_traces();
  add_threaded("pool-pair/4096/tl", [](benchmark::State& state) { pair(state, PoolWay{}); });
  add_threaded("pool-pair/4096/tl-own", pair_own);
  add_traces("tl", PoolWay{}, traces);
  add_growth("tl", PoolWay{});
  for (const Allocator& peer : allocators()) {
    add_threaded("pool-pair/4096/" + peer.name, [=](benchmark::State& state) { pair(state, PeerWay{peer}); });
    add_traces(peer.name, PeerWay{peer}, traces);
  }
  for (const Allocator& peer : allocators())
    if (peer.name == "mimalloc") add_growth(peer.name, PeerWay{peer});
  add("pool-touched/4096/tl", [](benchmark::State& state) { touched(state, PoolWay{}, 4096); });
  add("pool-touched/4096/mmap", [](benchmark::State& state) { touched(state, SystemWay<4096>{}, 4096); });
  add("pool-touched/1MiB/tl", [](benchmark::State& state) { touched(state, PoolWay{}, 1 << 20); });
  add("pool-touched/1MiB/mmap", [](benchmark::State& state) { touched(state, SystemWay<1 << 20>{}, 1 << 20); });
}

}  // namespace bench
