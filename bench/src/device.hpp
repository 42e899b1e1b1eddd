// The CPU as a device: memory straight from the system, as the pools get their chunks here.
#pragma once

#include <sys/mman.h>
#include <tl_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace bench {

inline void* map_memory(void*, std::size_t bytes)
{
	void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? nullptr : memory;
}

inline void unmap_memory(void*, void* memory, std::size_t bytes) { munmap(memory, bytes); }

inline tl_memory_pool* make_pool(std::size_t bytes)
{
	const tl_device_allocator allocator{sizeof allocator, "mmap", 64, nullptr, map_memory, unmap_memory};
	tl_memory_pool* pool = nullptr;
	if (tl_memory_pool_create(&allocator, bytes, &pool) != TL_OK) {
		std::fprintf(stderr, "%s\n", tl_last_error());
		std::exit(1);
	}
	return pool;
}

} // namespace bench
