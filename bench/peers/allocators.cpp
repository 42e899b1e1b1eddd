#include "allocators.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "../src/harness.hpp"

namespace bench {
namespace {

struct Candidate {
	const char *name, *library, *allocate, *release;
};

// jemalloc's mallocx takes a slower way than its malloc, which RTLD_LOCAL keeps apart from ours.
constexpr Candidate kCandidates[] = {
	{"mimalloc", "libmimalloc.so.2", "mi_malloc", "mi_free"},
	{"jemalloc", "libjemalloc.so.2", "malloc", "free"},
	{"tcmalloc", "libtcmalloc_minimal.so.4", "tc_malloc", "tc_free"},
};

bool open(const Candidate& candidate, Allocator* out)
{
	void* library = dlopen(candidate.library, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		skip(candidate.name, dlerror());
		return false;
	}
	out->name = candidate.name;
	out->allocate = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, candidate.allocate));
	out->release = reinterpret_cast<void (*)(void*)>(dlsym(library, candidate.release));
	if (out->allocate && out->release) return true;
	skip(candidate.name, "its functions were not found");
	return false;
}

std::vector<Allocator> open_all()
{
	std::vector<Allocator> found{{"glibc", std::malloc, std::free}};
	Allocator next;
	for (const Candidate& candidate : kCandidates)
		if (open(candidate, &next)) found.push_back(next);
	return found;
}

} // namespace

const std::vector<Allocator>& allocators()
{
	static const std::vector<Allocator> all = open_all();
	return all;
}

} // namespace bench
