// Blocks at which nothing is: live ones stand at even places, those that come and go between them.
#pragma once

#include <tl_runtime.h>

#include <cstddef>
#include <cstdint>

namespace bench {

struct Keys {
	const char* name; // what addresses are multiples of
	std::uintptr_t stride;
};

constexpr Keys kKeys[] = {{"64", 64}, {"4096", 4096}};
constexpr std::uintptr_t kBase = std::uintptr_t{1} << 44;
constexpr std::size_t kBytes = 64;

inline std::uintptr_t live_key(const Keys& keys, std::size_t i) { return kBase + 2 * i * keys.stride; }

// What frees the blocks is the program's operator delete[], which does nothing.
struct Registry {
	void insert(std::uintptr_t p, std::size_t bytes)
	{
		tl_registry_register(reinterpret_cast<void*>(p), bytes, TL_ALLOC_NEW_ARRAY);
	}
	void erase(std::uintptr_t p) { tl_registry_unregister(reinterpret_cast<void*>(p)); }
	bool contains(std::uintptr_t p) { return tl_registry_is_registered(reinterpret_cast<void*>(p)); }
};

} // namespace bench
