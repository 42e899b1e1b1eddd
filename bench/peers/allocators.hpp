// General-purpose allocators side by side in one process. They are opened with RTLD_LOCAL: none replaces malloc.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

struct Allocator {
	std::string name;
	void* (*allocate)(std::size_t);
	void (*release)(void*);
};

// glibc first, then the installed ones; the others are reported as skipped.
const std::vector<Allocator>& allocators();

} // namespace bench
