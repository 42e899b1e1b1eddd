// Tensors that are made and freed, and what a program without a pool does instead.
#pragma once

#include <tl_runtime.h>

#include <cstdlib>

#include "harness.hpp"

namespace bench {

inline constexpr int64_t kShapes[5][4] = {{}, {4096}, {64, 64}, {16, 16, 16}, {8, 8, 8, 8}};

inline tl_tensor* empty(int64_t rank)
{
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, rank, kShapes[rank]);
	benchmark::DoNotOptimize(tensor);
	return tensor;
}

inline void made_and_freed(benchmark::State& state, int64_t rank)
{
	measure(state, [=] { tl_tensor_free(empty(rank)); });
}

// A header, and the data in a block of its own.
inline void header_and_data(benchmark::State& state, int64_t rank)
{
	const std::size_t bytes = rank == 0 ? sizeof(float) : 4096 * sizeof(float);
	measure(state, [=] {
		void* header = std::malloc(64);
		void* data = std::malloc(bytes);
		touch(header);
		touch(data);
		std::free(data);
		std::free(header);
	});
}

} // namespace bench
