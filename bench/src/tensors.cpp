// A (64, 64) tensor of floats, in the ways a compiler gives it back.
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

OPERATION_THREADED("tensor/64x64/tl") { tl_tensor_free(empty()); }

OPERATION_THREADED("tensor/64x64/tl-returned") { tl_tensor_release(tl_tensor_prepare_return(empty())); }

OPERATION_THREADED("tensor/64x64/tl-scope")
{
	tl_mem_enter_scope();
	empty();
	tl_mem_exit_scope();
}

OPERATION_THREADED("tensor/64x64/tl-slot")
{
	tl_mem_function_enter(1);
	touch(tl_tensor_data(tl_tensor_in_slot(0, TL_DTYPE_F32, 2, kShape)));
	tl_mem_function_exit();
}

// Without a pool: the header and the data in one block.
OPERATION_THREADED("tensor/64x64/glibc")
{
	void* block = std::malloc(128 + 64 * 64 * sizeof(float));
	touch(block);
	std::free(block);
}

OPERATION_THREADED("pair/64/glibc")
{
	void* object = std::malloc(64);
	touch(object);
	std::free(object);
}

} // namespace
} // namespace bench
