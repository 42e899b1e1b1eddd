// A pooled (64, 64) tensor of floats, in the ways a compiler gives it back.
#include <tl_runtime.h>

#include <cstdlib>

#include "harness.hpp"

namespace bench {
namespace {

constexpr int64_t kShape[2] = {64, 64};

tl_tensor* empty()
{
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, kShape);
	touch(tl_tensor_data(tensor));
	return tensor;
}

void tensor_free(benchmark::State& state)
{
	measure(state, [] { tl_tensor_free(empty()); });
}

void tensor_returned(benchmark::State& state)
{
	measure(state, [] { tl_tensor_release(tl_tensor_prepare_return(empty())); });
}

void tensor_scope(benchmark::State& state)
{
	measure(state, [] {
		tl_mem_enter_scope();
		empty();
		tl_mem_exit_scope();
	});
}

void tensor_slot(benchmark::State& state)
{
	measure(state, [] {
		tl_mem_function_enter(1);
		touch(tl_tensor_data(tl_tensor_in_slot(0, TL_DTYPE_F32, 2, kShape)));
		tl_mem_function_exit();
	});
}

// Without a pool: the header and the data in one block.
void malloc_block(benchmark::State& state)
{
	measure(state, [] {
		void* block = std::malloc(128 + 64 * 64 * sizeof(float));
		touch(block);
		std::free(block);
	});
}

void malloc_pair(benchmark::State& state)
{
	measure(state, [] {
		void* object = std::malloc(64);
		touch(object);
		std::free(object);
	});
}

} // namespace

void register_all()
{
	add_threaded("tensor/64x64/tl", tensor_free);
	add_threaded("tensor/64x64/tl-returned", tensor_returned);
	add_threaded("tensor/64x64/tl-scope", tensor_scope);
	add_threaded("tensor/64x64/tl-slot", tensor_slot);
	add_threaded("tensor/64x64/glibc", malloc_block);
	add_threaded("pair/64/glibc", malloc_pair);
}

} // namespace bench
