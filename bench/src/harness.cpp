#include "harness.hpp"

#include <cstdio>
#include <utility>

namespace bench {

void add(const std::string& name, Body body) { benchmark::RegisterBenchmark(name.c_str(), std::move(body)); }

void add_threaded(const std::string& name, Body body)
{
	add(name, body);
	benchmark::RegisterBenchmark(name.c_str(), std::move(body))->Threads(2)->UseRealTime();
}

void skip(const std::string& peer, const std::string& why)
{
	std::fprintf(stderr, "skipped: %s (%s)\n", peer.c_str(), why.c_str());
}

} // namespace bench
