// How long single pairs of allocate and free of 4096 bytes take while two threads make them: one way per process,
// `pool_tail WAY`. The time of a pair has that of reading the clock in it, which the way "clock" shows alone.
#include <tl_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../peers/allocators.hpp"
#include "device.hpp"

namespace {

constexpr std::size_t kBytes = 4096, kPairs = 1000000, kThreads = 2;

using Pair = std::function<void()>;

void write_to(void* block) { *static_cast<volatile char*>(block) = 1; }

bool find_pair(const std::string& name, Pair* out)
{
	if (name == "clock") return *out = [] {}, true;
	if (name == "tl") {
		static tl_memory_pool* pool = bench::make_pool(std::size_t{1} << 30);
		*out = [] {
			void* block = tl_memory_pool_allocate(pool, kBytes);
			write_to(block);
			tl_memory_pool_deallocate(pool, block);
		};
		return true;
	}
	for (const bench::Allocator& allocator : bench::allocators()) {
		if (allocator.name != name) continue;
		*out = [&allocator] {
			void* block = allocator.allocate(kBytes);
			write_to(block);
			allocator.release(block);
		};
		return true;
	}
	return false;
}

// Nanoseconds of each pair.
void run(const Pair& pair, std::atomic<std::size_t>& ready, std::vector<std::uint32_t>& out)
{
	using Clock = std::chrono::steady_clock;
	for (std::size_t i = 0; i < 1000; ++i) pair();
	++ready;
	while (ready != kThreads) {}
	for (std::uint32_t& took : out) {
		const auto began = Clock::now();
		pair();
		const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - began).count();
		took = static_cast<std::uint32_t>(std::min<std::int64_t>(nanoseconds, UINT32_MAX));
	}
}

std::uint32_t quantile(const std::vector<std::uint32_t>& sorted, double part)
{
	return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

} // namespace

int main(int argc, char** argv)
{
	Pair pair;
	if (argc != 2 || tl_init() != TL_OK) return 2;
	if (!find_pair(argv[1], &pair)) return 3;
	std::vector<std::vector<std::uint32_t>> found(kThreads, std::vector<std::uint32_t>(kPairs));
	std::vector<std::thread> threads;
	std::atomic<std::size_t> ready{0};
	for (auto& out : found) threads.emplace_back([&] { run(pair, ready, out); });
	for (std::thread& thread : threads) thread.join();
	std::vector<std::uint32_t> all;
	for (const auto& out : found) all.insert(all.end(), out.begin(), out.end());
	std::sort(all.begin(), all.end());
	std::printf("{\"way\": \"%s\", \"p50\": %u, \"p99\": %u, \"p999\": %u, \"p9999\": %u}\n", argv[1],
	            quantile(all, 0.5), quantile(all, 0.99), quantile(all, 0.999), quantile(all, 0.9999));
}
