// The registry beside hash maps: a pointer registered and unregistered next to n live ones, and a live one looked up.
// TL_BENCH_LIVE names the only n to measure: a table that once held a million stays as large, so each n gets a process.
#include "registry_keys.hpp"

#include <cstdlib>
#include <memory>
#include <vector>

#include "../peers/maps.hpp"
#include "harness.hpp"

void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace bench {
namespace {

constexpr std::size_t kDraws = 1 << 16;

// Places among n, one after the other or drawn before the clock runs; each thread has a part of its own.
std::vector<std::uint32_t> places(const benchmark::State& state, std::size_t n, bool in_order)
{
	const auto me = static_cast<std::size_t>(state.thread_index());
	const std::size_t part = n / static_cast<std::size_t>(state.threads());
	std::vector<std::uint32_t> at(kDraws);
	std::uint64_t random = 1 + me;
	for (std::size_t k = 0; k < kDraws; ++k) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		at[k] = static_cast<std::uint32_t>((in_order ? k : random >> 33) % part + part * me);
	}
	return at;
}

// n live blocks; `churn` more came and went before.
template <class Table>
struct Filled {
	Filled(const Keys& which, std::size_t live, std::size_t churn) : keys(which), n(live)
	{
		for (std::size_t i = 0; i < n; ++i) table.insert(live_key(keys, i), kBytes);
		for (std::size_t i = n; i < n + churn; ++i) {
			table.insert(live_key(keys, i), kBytes);
			table.erase(live_key(keys, i));
		}
	}
	~Filled()
	{
		for (std::size_t i = 0; i < n; ++i) table.erase(live_key(keys, i));
	}
	Keys keys;
	std::size_t n;
	Table table;
};

struct Pair {
	template <class Table>
	static void run(Filled<Table>& f, std::uint32_t i)
	{
		const std::uintptr_t p = live_key(f.keys, i) + f.keys.stride;
		f.table.insert(p, kBytes);
		f.table.erase(p);
	}
};

struct Hit {
	template <class Table>
	static void run(Filled<Table>& f, std::uint32_t i)
	{
		benchmark::DoNotOptimize(f.table.contains(live_key(f.keys, i)));
	}
};

// Threads of one run share a table: the first makes it before the clocks start together, and ends it after.
template <class Table, class Operation, bool kInOrder = false>
void add_one(const std::string& what, const Keys& keys, std::size_t n, std::size_t churn, const std::string& who)
{
	auto shared = std::make_shared<std::unique_ptr<Filled<Table>>>();
	add_threaded(what + "/" + keys.name + "/" + std::to_string(n) + "/" + who, [=](benchmark::State& state) {
		const std::vector<std::uint32_t> at = places(state, n, kInOrder);
		if (state.thread_index() == 0) {
			*shared = std::make_unique<Filled<Table>>(keys, n, churn);
			for (std::uint32_t i : at) Operation::run(**shared, i); // what grows on the first visit has grown
		}
		std::size_t next = 0;
		for (auto _ : state) {
			Filled<Table>& filled = **shared;
			for (int i = 0; i < kBatch; ++i) Operation::run(filled, at[next++ % kDraws]);
		}
		state.SetItemsProcessed(state.iterations() * kBatch);
		if (state.thread_index() == 0) shared->reset();
	});
}

bool wanted(std::size_t n)
{
	const char* only = std::getenv("TL_BENCH_LIVE");
	return only == nullptr || std::strtoull(only, nullptr, 10) == n;
}

template <class Table>
void add_all(const std::string& who)
{
	for (const Keys& keys : kKeys)
		for (std::size_t n : {1000, 100000, 1000000}) {
			if (!wanted(n)) continue;
			add_one<Table, Pair, true>("registry-pair", keys, n, 0, who);
			add_one<Table, Pair>("registry-random", keys, n, 0, who);
			add_one<Table, Hit>("registry-hit", keys, n, 0, who);
			if (n == 100000) add_one<Table, Hit>("registry-churned-hit", keys, n, 1000000, who);
		}
}

} // namespace

void register_all()
{
	add_all<Registry>("tl");
	add_all<StdMap>("unordered_map");
#ifdef BENCH_BOOST_FLAT
	add_all<BoostMap>("boost-flat");
#else
	skip("boost::unordered_flat_map", "it comes with Boost 1.81");
#endif
#ifdef BENCH_ABSL
	add_all<AbslMap>("absl-flat");
#else
	skip("absl::flat_hash_map", "libabsl-dev is not installed");
#endif
}

} // namespace bench
