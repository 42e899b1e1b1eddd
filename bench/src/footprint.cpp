// Traces and what they need of memory.
//
//   footprint generate KIND SEED     writes a trace
//   footprint [FILE...]              peak footprint over peak live, ours and exact best fit, of files or of every kind
//
// The footprint is the highest end of a block in one chunk without bounds: what a chunk that just suffices would have.
// Live is in bytes that were asked for, rounded to 64 as both round them.
#include <tl_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <stdexcept>

#include "device.hpp"
#include "trace.hpp"

namespace {

using bench::Event;
using bench::Trace;

constexpr std::uint64_t kRoom = std::uint64_t{1} << 40;

// Exact best fit by the book: two ordered containers, and nothing shared with the library.
class BestFit {
  public:
	BestFit() { insert(0, kRoom); }

	std::uint64_t allocate(std::uint64_t bytes)
	{
		auto fit = by_size_.lower_bound({bytes, 0});
		if (fit == by_size_.end()) throw std::runtime_error("the trace needs more than 1 TiB");
		auto [size, at] = *fit;
		erase(at, size);
		if (size - bytes > 256) insert(at + bytes, size - bytes);
		else bytes = size;
		live_[at] = bytes;
		return at;
	}

	void release(std::uint64_t at)
	{
		std::uint64_t bytes = live_.at(at);
		live_.erase(at);
		auto next = by_address_.find(at + bytes);
		if (next != by_address_.end()) {
			std::uint64_t size = next->second;
			erase(at + bytes, size);
			bytes += size;
		}
		auto before = by_address_.lower_bound(at);
		if (before != by_address_.begin() && (--before)->first + before->second == at) {
			auto [start, size] = *before;
			erase(start, size);
			at = start;
			bytes += size;
		}
		insert(at, bytes);
	}

  private:
	void insert(std::uint64_t at, std::uint64_t bytes)
	{
		by_size_.insert({bytes, at});
		by_address_[at] = bytes;
	}
	void erase(std::uint64_t at, std::uint64_t bytes)
	{
		by_size_.erase({bytes, at});
		by_address_.erase(at);
	}

	std::set<std::pair<std::uint64_t, std::uint64_t>> by_size_;
	std::map<std::uint64_t, std::uint64_t> by_address_, live_;
};

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + 63) / 64 * 64; }

struct Result {
	std::uint64_t live = 0, ours = 0, reference = 0;
	std::size_t different = 0; // blocks that did not get the same place
};

Result replay(const Trace& trace)
{
	tl_memory_pool* pool = bench::make_pool(kRoom);
	char* base = static_cast<char*>(tl_memory_pool_allocate(pool, 64));
	tl_memory_pool_deallocate(pool, base);
	BestFit reference;
	std::vector<char*> blocks(trace.ids);
	std::vector<std::uint64_t> places(trace.ids), sizes(trace.ids);
	Result result;
	std::uint64_t live = 0;
	for (const Event& event : trace.events) {
		if (event.bytes) {
			std::uint64_t bytes = sizes[event.id] = rounded(event.bytes);
			blocks[event.id] = static_cast<char*>(tl_memory_pool_allocate(pool, event.bytes));
			places[event.id] = reference.allocate(bytes);
			std::uint64_t place = static_cast<std::uint64_t>(blocks[event.id] - base);
			result.live = std::max(result.live, live += bytes);
			result.ours = std::max(result.ours, place + bytes);
			result.reference = std::max(result.reference, places[event.id] + bytes);
			result.different += place != places[event.id];
		} else {
			live -= sizes[event.id];
			tl_memory_pool_deallocate(pool, blocks[event.id]);
			reference.release(places[event.id]);
		}
	}
	tl_memory_pool_destroy(pool);
	return result;
}

void report(const Trace& trace)
{
	Result r = replay(trace);
	double live = static_cast<double>(r.live);
	std::printf("{\"trace\": \"%s\", \"events\": %zu, \"peak_live\": %llu, \"ours\": %.4f, \"best_fit\": %.4f, "
	            "\"places_that_differ\": %zu}\n",
	            trace.name.c_str(), trace.events.size(), static_cast<unsigned long long>(r.live),
	            static_cast<double>(r.ours) / live, static_cast<double>(r.reference) / live, r.different);
}

Trace open_trace(const char* path)
{
	std::ifstream file(path);
	if (!file) throw std::runtime_error(std::string(path) + ": cannot be read");
	return bench::read_trace(file, bench::trace_stem(path));
}

} // namespace

int main(int argc, char** argv)
try {
	std::ios::sync_with_stdio(false);
	if (argc == 4 && std::strcmp(argv[1], "generate") == 0) {
		bench::write_trace(std::cout, bench::make_trace(argv[2], std::strtoull(argv[3], nullptr, 10)));
		return 0;
	}
	for (int i = 1; i < argc; ++i) report(open_trace(argv[i]));
	if (argc == 1)
		for (const std::string& kind : bench::trace_kinds()) report(bench::make_trace(kind, 1));
	return 0;
} catch (const std::exception& error) {
	std::fprintf(stderr, "footprint: %s\n", error.what());
	return 1;
}
