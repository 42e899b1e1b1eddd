// The least that a table of registered memory with extents has to do, for one thread after the other: the regions, units
// and lists of entries that docs/internals.md describes, with as many bytes in each, and a lock for each operation. It
// trusts its callers: it checks no address, no overlap, no generation and no owner, and all of its memory is there before
// the clock runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace bench {

class FloorRegistry {
  public:
	// For addresses of [base, base + bytes), of which each KiB has at most `most` of them.
	FloorRegistry(std::uintptr_t base, std::size_t bytes, std::size_t most) : cells_(kCells)
	{
		const std::size_t regions = (bytes >> 16) + 1;
		units_.resize(regions * 64);
		entries_.resize(regions * 64 * most);
		for (std::size_t i = 0; i < units_.size(); ++i) units_[i].list = &entries_[i * most];
		for (std::size_t i = 0; i < regions; ++i) {
			Region& cell = cell_of((base >> 16) + i);
			cell.key = (base >> 16) + i;
			cell.units = &units_[i * 64];
		}
	}
	void insert(std::uintptr_t p)
	{
		Lock lock(*this, p);
		Unit& u = unit_of(p);
		Entry* at = entry_of(u, p);
		std::memmove(at + 1, at, static_cast<std::size_t>(end_of(u) - at) * sizeof *at);
		u.starts |= bit_of(p);
		*at = {1, ++gen_, 0, 0, 1};
	}
	void acquire(std::uintptr_t p)
	{
		Lock lock(*this, p);
		++entry_of(unit_of(p), p)->count;
	}
	// Returns how many references are left.
	std::uint32_t release(std::uintptr_t p)
	{
		Lock lock(*this, p);
		Unit& u = unit_of(p);
		Entry* at = entry_of(u, p);
		const std::uint32_t left = --at->count;
		if (left != 0) return left;
		std::memmove(at, at + 1, static_cast<std::size_t>(end_of(u) - at - 1) * sizeof *at);
		u.starts &= ~bit_of(p);
		return left;
	}

  private:
	static constexpr std::size_t kCells = 4096, kShards = 64;

	struct Entry {
		std::uint32_t count, gen;
		std::uint64_t block;
		std::uint32_t type, link;
	};
	struct Unit {
		std::uint64_t starts = 0, covers = 0;
		Entry* list = nullptr;
		std::uint64_t spare[2] = {};
	};
	struct Region {
		std::uint64_t key = 0, present = 0;
		Unit* units = nullptr;
	};
	static_assert(sizeof(Entry) == 24 && sizeof(Unit) == 40 && sizeof(Region) == 24, "as large as the library's");

	class Lock {
	  public:
		Lock(FloorRegistry& of, std::uintptr_t p) : word_(of.locks_[(p >> 16) % kShards].word)
		{
			std::uint32_t free = 0;
			while (!word_.compare_exchange_weak(free, 1, std::memory_order_acquire)) free = 0;
		}
		~Lock() { word_.store(0, std::memory_order_release); }

	  private:
		std::atomic<std::uint32_t>& word_;
	};
	struct alignas(64) Word {
		std::atomic<std::uint32_t> word{0};
	};

	static std::uint64_t bit_of(std::uintptr_t p) { return std::uint64_t{1} << (p >> 4 & 63); }
	Region& cell_of(std::uint64_t key)
	{
		std::size_t i = key * 0x9E3779B97F4A7C15u >> 52;
		while (cells_[i].key != key && cells_[i].key != 0) i = (i + 1) % kCells;
		return cells_[i];
	}
	Unit& unit_of(std::uintptr_t p) { return cell_of(p >> 16).units[p >> 10 & 63]; }
	static Entry* entry_of(const Unit& u, std::uintptr_t p)
	{
		return u.list + __builtin_popcountll(u.starts & (bit_of(p) - 1));
	}
	static Entry* end_of(const Unit& u) { return u.list + __builtin_popcountll(u.starts); }

	std::vector<Region> cells_;
	std::vector<Unit> units_;
	std::vector<Entry> entries_;
	std::array<Word, kShards> locks_;
	std::uint32_t gen_ = 0;
};

} // namespace bench
