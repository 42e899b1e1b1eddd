// Function frames, foreign structs and unregister: what a compiler emits around objects.
#include <tl_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <random>
#include <vector>

#include "floors.hpp"
#include "harness.hpp"

namespace bench {
namespace {

BENCH_THREADED("pair/64/glibc")
{
	void* (*volatile allocate)(std::size_t) = std::malloc;
	auto call = allocate;
	measure(state, [call] {
		void* object = call(64);
		touch(object);
		std::free(object);
	});
}

// ---- malloc's blocks in a scope ----
//
// What a block costs in the registry hangs on whether it lies within a KiB of addresses, and malloc gives a loop the same
// block again and again. So the blocks that a batch gets are other ones each time, at every place in a KiB alike.

constexpr int kPlaces = 512;

std::vector<void*> all_places(std::size_t bytes)
{
	std::vector<void*> blocks(kPlaces);
	for (void*& block : blocks) block = std::malloc(bytes);
	return blocks;
}

// Those that begin in one KiB and end in the next. The others stay allocated, so that malloc does not give them.
std::vector<void*> straddling_places(std::size_t bytes)
{
	std::vector<void*> blocks;
	for (int tries = 0; blocks.size() < 8 && tries < 64; ++tries)
		for (void* block : all_places(bytes)) {
			const auto first = reinterpret_cast<std::uintptr_t>(block) / 1024;
			const auto last = (reinterpret_cast<std::uintptr_t>(block) + bytes - 1) / 1024;
			if (first != last) blocks.push_back(block);
		}
	return blocks;
}

// malloc gives what was freed last: those blocks, one batch after the other.
template <int kBlocks>
void measure_scopes(benchmark::State& state, std::size_t bytes, std::vector<void*> blocks)
{
	std::size_t next = 0;
	for (auto _ : state) {
		void** mine = &blocks[next];
		next = next + 2 * kBlocks > blocks.size() ? 0 : next + kBlocks;
		for (int i = kBlocks; i-- > 0;) std::free(mine[i]);
		for (int i = 0; i < kBatch; ++i) {
			tl_mem_enter_scope();
			for (int k = 0; k < kBlocks; ++k) {
				void* object = std::malloc(bytes);
				touch(object);
				tl_mem_register_struct(object);
			}
			tl_mem_exit_scope();
		}
		for (int i = 0; i < kBlocks; ++i) mine[i] = std::malloc(bytes);
	}
	state.SetItemsProcessed(state.iterations() * kBatch);
	for (void* block : blocks) std::free(block);
}

template <std::size_t kBytes>
void register_one(benchmark::State& state)
{
	measure_scopes<1>(state, kBytes, all_places(kBytes));
}

BENCH("foreign/1/straddle/tl") { measure_scopes<1>(state, 64, straddling_places(64)); }

BENCH("foreign/8/tl") { measure_scopes<8>(state, 64, all_places(64)); }

OPERATION_THREADED("frame/4x256/tl")
{
	tl_mem_function_enter(4);
	for (int slot = 0; slot < 4; ++slot) touch(tl_mem_get_buffer(slot, 256));
	tl_mem_function_exit();
}

OPERATION("frame/4x256/glibc")
{
	void* buffers[4];
	for (void*& buffer : buffers) touch(buffer = std::malloc(256));
	for (int i = 4; i-- > 0;) std::free(buffers[i]);
}

OPERATION("frame/empty/tl")
{
	tl_mem_function_enter(0);
	tl_mem_function_exit();
}

OPERATION("scope/empty/tl")
{
	tl_mem_enter_scope();
	tl_mem_exit_scope();
}

// A value handed to the caller: made in the callee's frame, taken out, registered by the caller.
OPERATION("return/64/tl")
{
	tl_mem_enter_scope();
	tl_mem_function_enter(0);
	void* object = tl_mem_new(64);
	tl_mem_unregister(object);
	tl_mem_function_exit();
	tl_mem_register_struct(object);
	tl_mem_exit_scope();
}

// What a compiler also emits: unregister of a parameter, which no scope of the function holds.
BENCH("unregister/miss/tl")
{
	void* object = tl_mem_alloc(64);
	tl_mem_enter_scope();
	measure(state, [object] { tl_mem_unregister(object); });
	tl_mem_exit_scope();
	tl_ptr_release(object);
}

// A struct of malloc's that was never registered.
BENCH("unregister/unknown/tl")
{
	void* object = std::malloc(64);
	measure(state, [object] { tl_mem_unregister(object); });
	std::free(object);
}

// ---- any object of a scope of a million ----

constexpr int kMillion = 1000000;

enum class Order { kForward, kBackward, kRandom };

std::vector<int> order_of(Order order)
{
	std::vector<int> positions(kMillion);
	std::iota(positions.begin(), positions.end(), 0);
	if (order == Order::kBackward) std::reverse(positions.begin(), positions.end());
	if (order == Order::kRandom) std::shuffle(positions.begin(), positions.end(), std::mt19937(1));
	return positions;
}

// As the harness times the others: without what other processes take.
double thread_seconds()
{
	timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double unregister_all(const std::vector<int>& positions)
{
	std::vector<void*> objects(kMillion);
	tl_mem_enter_scope();
	for (void*& object : objects) object = tl_mem_new(64);
	double begin = thread_seconds();
	for (int position : positions) tl_mem_unregister(objects[position]);
	double taken = thread_seconds() - begin;
	tl_mem_exit_scope();
	for (void* object : objects) tl_ptr_release(object);
	return taken;
}

// The same with nothing but the accesses that an index has to make: a slot of 16 bytes for each of two million, the
// number of a record beside each slot, a record of 16 bytes, and an entry of the stack. The numbers are as far from each
// other as the library's, the slots are found without a probe, and nobody asks whether any of it is right.
struct TrivialIndex {
	struct Slot {
		std::uintptr_t pointer;
		std::uint32_t position, gen;
	};
	struct Record {
		std::uint32_t counts, shared, type, gen;
	};
	static constexpr std::size_t kSlots = std::size_t{1} << 21, kFirst = 64; // of pointers that begin nothing

	TrivialIndex() : slots(kSlots), numbers(kSlots), records(kMillion), entries(2 * kMillion)
	{
		for (std::uint32_t i = 0; i < kMillion; ++i) {
			const std::size_t at = slot_of(pointer(i));
			slots[at] = {pointer(i), i, 1};
			numbers[at] = i;
			records[i] = {1, 1, 0, 1};
			entries[2 * i] = pointer(i);
		}
	}
	static std::uintptr_t pointer(std::size_t i) { return (kFirst + i) * 64; }
	static std::size_t slot_of(std::uintptr_t p) { return p / 64 * 0x9E3779B97F4A7C15u % kSlots; }
	// Returns 0.
	std::uint32_t unregister(std::uintptr_t p)
	{
		const std::size_t at = slot_of(p);
		Slot& slot = slots[at];
		Record& record = records[numbers[at]];
		if (slot.pointer != p || record.gen != slot.gen) return 0;
		++record.counts;
		entries[2 * slot.position] = 0;
		slot.pointer = 0;
		return record.type;
	}

	std::vector<Slot> slots;
	std::vector<std::uint32_t> numbers;
	std::vector<Record> records;
	std::vector<std::uintptr_t> entries; // of 16 bytes
};

// In turn: no call begins before the lines of the one before have come, as for calls of so many instructions that the
// processor does not see the next one meanwhile.
template <bool kInTurn>
double unregister_trivially(const std::vector<int>& positions)
{
	TrivialIndex index;
	std::vector<std::uintptr_t> objects(kMillion);
	for (std::size_t i = 0; i < objects.size(); ++i) objects[i] = TrivialIndex::pointer(i);
	const double begin = thread_seconds();
	std::uint32_t none = 0;
	for (int position : positions) {
		const std::uint32_t result = index.unregister(objects[static_cast<std::size_t>(position) + none]);
		if (kInTurn) none = result;
	}
	const double taken = thread_seconds() - begin;
	benchmark::DoNotOptimize(index.records.data());
	return taken;
}

void add_million(const std::string& name, Order order, double (*run)(const std::vector<int>&) = unregister_all)
{
	auto body = [order, run](benchmark::State& state) {
		const std::vector<int> positions = order_of(order);
		for (auto _ : state) state.SetIterationTime(run(positions));
		state.SetItemsProcessed(state.iterations() * kMillion);
	};
	benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Iterations(1);
}

} // namespace

void register_all()
{
	add("floor/miss", miss_floor);
	add_threaded("foreign/1/tl", register_one<64>);
	add("foreign/1/256/tl", register_one<256>);
	add("foreign/1/4096/tl", register_one<4096>);
	add_million("unregister/million-forward/tl", Order::kForward);
	add_million("unregister/million-backward/tl", Order::kBackward);
	add_million("unregister/million-random/tl", Order::kRandom);
	add_million("floor/unregister", Order::kRandom, unregister_trivially<false>);
	add_million("floor/unregister-in-turn", Order::kRandom, unregister_trivially<true>);
}

} // namespace bench
