// What beside.cpp measures of tensors, after a second thread has used the library, and with two threads.
#include <thread>

#include "tensors_made.hpp"

namespace bench {
namespace {

BENCH_THREADED("beside/two-shapes/tl") { made_and_freed(state, 2 + state.thread_index()); }

} // namespace

void register_all()
{
	tl_mem_purge();
	std::thread([] { tl_mem_purge(); }).join();
	for (int64_t rank = 0; rank <= 1; ++rank) {
		const std::string name = "beside/later" + std::to_string(rank);
		add(name + "/tl", [rank](benchmark::State& state) { made_and_freed(state, rank); });
		add(name + "/glibc", [rank](benchmark::State& state) { header_and_data(state, rank); });
	}
	add_threaded("beside/one-shape/tl", [](benchmark::State& state) { made_and_freed(state, 2); });
}

} // namespace bench
