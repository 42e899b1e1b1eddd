// Hash maps that a program would keep its blocks in, all with the registry's three operations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#if __has_include(<boost/unordered/unordered_flat_map.hpp>)
#include <boost/unordered/unordered_flat_map.hpp>
#define BENCH_BOOST_FLAT
#endif
#ifdef BENCH_ABSL
#include <absl/container/flat_hash_map.h>
#endif

namespace bench {

struct Owned {
	std::size_t bytes;
	std::size_t count;
};

// Sixteen maps, each behind a mutex; the shard by a mixed address, since those of pages are much alike.
template <class Map>
class Sharded {
  public:
	void insert(std::uintptr_t p, std::size_t bytes)
	{
		Shard& s = of(p);
		std::lock_guard<std::mutex> lock(s.mutex);
		s.map.emplace(p, Owned{bytes, 1});
	}
	void acquire(std::uintptr_t p)
	{
		Shard& s = of(p);
		std::lock_guard<std::mutex> lock(s.mutex);
		auto at = s.map.find(p);
		if (at != s.map.end()) ++at->second.count;
	}
	// Whether that was the last reference.
	bool erase(std::uintptr_t p)
	{
		Shard& s = of(p);
		std::lock_guard<std::mutex> lock(s.mutex);
		auto at = s.map.find(p);
		if (at == s.map.end() || --at->second.count != 0) return false;
		s.map.erase(at);
		return true;
	}
	bool contains(std::uintptr_t p)
	{
		Shard& s = of(p);
		std::lock_guard<std::mutex> lock(s.mutex);
		return s.map.find(p) != s.map.end();
	}

  private:
	struct alignas(128) Shard {
		std::mutex mutex;
		Map map;
	};
	Shard& of(std::uintptr_t p) { return shards_[(p >> 4) * 0x9E3779B97F4A7C15u >> 60]; }
	std::array<Shard, 16> shards_;
};

using StdMap = Sharded<std::unordered_map<std::uintptr_t, Owned>>;
#ifdef BENCH_BOOST_FLAT
using BoostMap = Sharded<boost::unordered_flat_map<std::uintptr_t, Owned>>;
#endif
#ifdef BENCH_ABSL
using AbslMap = Sharded<absl::flat_hash_map<std::uintptr_t, Owned>>;
#endif

} // namespace bench
