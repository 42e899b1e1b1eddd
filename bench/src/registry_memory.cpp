// Resident bytes for each of a million registered pointers: `registry_memory WHO KEYS` prints one line of JSON.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "../peers/maps.hpp"
#include "registry_keys.hpp"

void operator delete[](void*) noexcept {}
void operator delete[](void*, std::size_t) noexcept {}

namespace {

constexpr std::size_t kMany = 1000000;

long resident()
{
	long total = 0, pages = 0;
	std::FILE* file = std::fopen("/proc/self/statm", "r");
	if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
	if (file != nullptr) std::fclose(file);
	return pages * sysconf(_SC_PAGESIZE);
}

template <class Table>
double bytes_each(const bench::Keys& keys)
{
	static Table table;
	const long before = resident();
	for (std::size_t i = 0; i < kMany; ++i) table.insert(bench::live_key(keys, i), bench::kBytes);
	return static_cast<double>(resident() - before) / kMany;
}

} // namespace

int main(int argc, char** argv)
{
	if (argc != 3 || tl_init() != TL_OK) return 2;
	const bench::Keys& keys = bench::kKeys[std::strcmp(argv[2], bench::kKeys[0].name) != 0];
	const bool ours = std::strcmp(argv[1], "tl") == 0;
	double bytes = 0;
	if (ours) bytes = bytes_each<bench::Registry>(keys);
	else if (std::strcmp(argv[1], "unordered_map") == 0) bytes = bytes_each<bench::StdMap>(keys);
#ifdef BENCH_ABSL
	else if (std::strcmp(argv[1], "absl-flat") == 0) bytes = bytes_each<bench::AbslMap>(keys);
#endif
	else return 3; // a peer that is not installed
	std::printf("{\"who\": \"%s\", \"keys\": \"%s\", \"bytes\": %.1f}\n", argv[1], keys.name, bytes);
	return 0;
}
