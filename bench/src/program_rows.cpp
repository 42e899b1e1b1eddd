// A graph over one buffer with a name for each row: nodes hold the rows that they read, and drop them.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "../peers/maps.hpp"
#include "floor_registry.hpp"
#include "harness.hpp"
#include "registry_keys.hpp"

// The buffer is an address where nothing is.
void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace bench {
namespace {

constexpr std::size_t kRows = 4096, kRowBytes = 256, kInputs = 2;

struct Graph {
	Graph() : order(kRows), reads(kRows * kInputs)
	{
		std::mt19937 random(1);
		std::iota(order.begin(), order.end(), 0u);
		std::shuffle(order.begin(), order.end(), random);
		for (std::uint32_t& row : reads) row = static_cast<std::uint32_t>(random() % kRows);
	}
	std::vector<std::uint32_t> order, reads; // in which rows go; the rows that node i reads, kInputs of them
};

std::uintptr_t row(std::size_t i) { return kBase + i * kRowBytes; }

class RuntimeRows {
  public:
	void begin()
	{
		tl_registry_register_buffer(reinterpret_cast<void*>(kBase), kRows * kRowBytes, nullptr, 0, TL_ALLOC_NEW_ARRAY,
		                            &id_);
	}
	void name(std::uintptr_t p) { tl_registry_add_alias(id_, reinterpret_cast<void*>(p)); }
	void acquire(std::uintptr_t p) { tl_ptr_acquire(reinterpret_cast<void*>(p)); }
	void release(std::uintptr_t p) { tl_registry_unregister(reinterpret_cast<void*>(p)); }
	void end() { tl_registry_unregister(reinterpret_cast<void*>(kBase)); }

  private:
	std::uint64_t id_ = 0;
};

template <class Map>
class MappedRows {
  public:
	void begin() { map_.insert(kBase - 1, kRows * kRowBytes); } // the buffer's own count
	void name(std::uintptr_t p)
	{
		map_.acquire(kBase - 1);
		map_.insert(p, kRowBytes);
	}
	void acquire(std::uintptr_t p) { map_.acquire(p); }
	void release(std::uintptr_t p)
	{
		if (map_.erase(p)) map_.erase(kBase - 1);
	}
	void end() { map_.erase(kBase - 1); }

  private:
	Map map_;
};

// The same lists, followed by a program that checks nothing; and what the buffer's record counts: its names, and the
// references beyond the first of each, which let tl_registry_info answer without a walk over the names.
class FloorRows {
  public:
	void begin() { names_ = 1; }
	void name(std::uintptr_t p)
	{
		registry_.insert(p);
		names_.fetch_add(1, std::memory_order_relaxed);
	}
	void acquire(std::uintptr_t p)
	{
		registry_.acquire(p);
		more_.fetch_add(1, std::memory_order_relaxed);
	}
	void release(std::uintptr_t p)
	{
		if (registry_.release(p) == 0) names_.fetch_sub(1, std::memory_order_acq_rel);
		else more_.fetch_sub(1, std::memory_order_relaxed);
	}
	void end() { names_.fetch_sub(1, std::memory_order_acq_rel); }

  private:
	FloorRegistry registry_{kBase, kRows* kRowBytes, 1024 / kRowBytes};
	std::atomic<std::uint64_t> names_{0}, more_{0};
};

template <class Rows>
void build_and_drop(Rows& rows, const Graph& graph)
{
	rows.begin();
	for (std::size_t i = 0; i < kRows; ++i) rows.name(row(i));
	for (std::uint32_t i : graph.reads) rows.acquire(row(i));
	for (std::uint32_t i : graph.reads) rows.release(row(i));
	for (std::uint32_t i : graph.order) rows.release(row(i));
	rows.end();
}

template <class Rows>
void add_program(const std::string& who)
{
	add("program/rows/" + who, [](benchmark::State& state) {
		const Graph graph;
		Rows rows;
		for (auto _ : state) build_and_drop(rows, graph);
	});
}

} // namespace

void register_all()
{
	add_program<RuntimeRows>("tl");
	add_program<FloorRows>("floor");
	add_program<MappedRows<StdMap>>("unordered_map");
#ifdef BENCH_BOOST_FLAT
	add_program<MappedRows<BoostMap>>("boost-flat");
#endif
#ifdef BENCH_ABSL
	add_program<MappedRows<AbslMap>>("absl-flat");
#endif
}

} // namespace bench
