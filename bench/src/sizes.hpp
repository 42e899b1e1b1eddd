// The runtime's size classes: steps of 32 bytes up to 512, then eighths of a power of two up to 64 KiB.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

inline std::vector<std::size_t> class_sizes()
{
	std::vector<std::size_t> sizes;
	for (std::size_t bytes = 32; bytes <= 512; bytes += 32) sizes.push_back(bytes);
	for (std::size_t power = 512; power < 65536; power *= 2)
		for (std::size_t bytes = power + power / 8; bytes <= 2 * power; bytes += power / 8) sizes.push_back(bytes);
	return sizes;
}

} // namespace bench
