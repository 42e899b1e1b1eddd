// The memory of a training step: eight layers, each with an activation, two views and two gradients.
#include <malloc.h>
#include <tl_runtime.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "../peers/allocators.hpp"
#include "harness.hpp"

namespace bench {
namespace {

constexpr int kLayers = 8;
constexpr int64_t kRows = 16, kWidth = 64;
constexpr int64_t kActivation[2] = {kRows, kWidth};
constexpr int64_t kWeight[2] = {kWidth, kWidth};
constexpr int64_t kFlat[1] = {kRows * kWidth};

// ---- ours ----

tl_tensor* made(const int64_t* shape)
{
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	touch(tl_tensor_data(tensor));
	return tensor;
}

BENCH("program/training/tl")
{
	tl_mem_enter_scope();
	tl_tensor* weights[kLayers];
	for (tl_tensor*& weight : weights) weight = made(kWeight);
	for (auto _ : state) {
		tl_mem_enter_scope();
		for (tl_tensor* weight : weights) {
			benchmark::DoNotOptimize(tl_view_transpose(weight, 0, 1));
			benchmark::DoNotOptimize(tl_view_reshape(made(kActivation), 1, kFlat));
		}
		for (int layer = kLayers; layer-- > 0;) {
			made(kActivation);
			made(kWeight);
		}
		tl_mem_exit_scope();
	}
	tl_mem_exit_scope();
}

// ---- a program that counts by hand ----

// What a compiler would emit over malloc: a header as small as it can be, and the data in a block of its own.
struct Tensor {
	std::atomic<int> count;
	int rank;
	Tensor* base; // a view holds it
	void* data;
	std::int64_t shape[2], strides[2];
};

class ByHand {
  public:
	explicit ByHand(const Allocator& allocator) : allocate_(allocator.allocate), release_(allocator.release) {}

	Tensor* empty(const int64_t* shape)
	{
		auto* tensor = header(2, nullptr, {shape[0], shape[1]}, {shape[1], 1});
		touch(tensor->data = allocate_(static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float)));
		return tensor;
	}
	Tensor* transpose(Tensor* of)
	{
		return view(of, 2, {of->shape[1], of->shape[0]}, {of->strides[1], of->strides[0]});
	}
	Tensor* flat(Tensor* of) { return view(of, 1, {of->shape[0] * of->shape[1], 0}, {1, 0}); }
	void drop(Tensor* tensor)
	{
		if (tensor->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
		Tensor* base = tensor->base;
		if (base == nullptr) release_(tensor->data);
		release_(tensor);
		if (base != nullptr) drop(base);
	}

  private:
	using Pair = std::pair<std::int64_t, std::int64_t>;

	Tensor* header(int rank, Tensor* base, Pair shape, Pair strides)
	{
		return new (allocate_(sizeof(Tensor)))
			Tensor{{1}, rank, base, nullptr, {shape.first, shape.second}, {strides.first, strides.second}};
	}
	Tensor* view(Tensor* of, int rank, Pair shape, Pair strides)
	{
		of->count.fetch_add(1, std::memory_order_relaxed);
		Tensor* tensor = header(rank, of, shape, strides);
		tensor->data = of->data;
		return tensor;
	}

	void* (*allocate_)(std::size_t);
	void (*release_)(void*);
};

void training_by_hand(benchmark::State& state, const Allocator& allocator)
{
	ByHand heap(allocator);
	Tensor* weights[kLayers];
	for (Tensor*& weight : weights) weight = heap.empty(kWeight);
	for (auto _ : state) {
		std::array<Tensor*, 5 * kLayers> tape;
		std::size_t n = 0;
		for (Tensor* weight : weights) {
			benchmark::DoNotOptimize(tape[n++] = heap.transpose(weight));
			Tensor* activation = tape[n++] = heap.empty(kActivation);
			benchmark::DoNotOptimize(tape[n++] = heap.flat(activation));
		}
		for (int layer = kLayers; layer-- > 0;) {
			tape[n++] = heap.empty(kActivation);
			tape[n++] = heap.empty(kWeight);
		}
		while (n-- > 0) heap.drop(tape[n]);
	}
	for (Tensor* weight : weights) heap.drop(weight);
}

} // namespace

void register_all()
{
	// Otherwise glibc returns the top of its heap after each step and faults it in again, which takes 80 us.
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	for (const Allocator& allocator : allocators())
		add("program/training/" + allocator.name,
		    [&allocator](benchmark::State& state) { training_by_hand(state, allocator); });
}

} // namespace bench
