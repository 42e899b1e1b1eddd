// Producers make objects of 256 bytes, consumers release them: processor time of an object, and peak memory over that of
// the objects that are in flight at most. One way of making them per process: `handover WAY THREADS`.
#include <sys/resource.h>
#include <tl_runtime.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../peers/allocators.hpp"

namespace {

constexpr std::size_t kBytes = 256, kBatch = 1024, kQueue = 4;
constexpr long kObjects = 8000000;

using Batch = std::vector<void*>;

// Batches on their way from one producer to one consumer; at most kQueue of them.
class Channel {
  public:
	void send(Batch&& batch)
	{
		std::unique_lock<std::mutex> lock(mutex_);
		changed_.wait(lock, [this] { return batches_.size() < kQueue; });
		batches_.push_back(std::move(batch));
		changed_.notify_one();
	}
	Batch receive()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		changed_.wait(lock, [this] { return !batches_.empty(); });
		Batch batch = std::move(batches_.front());
		batches_.pop_front();
		changed_.notify_one();
		return batch;
	}

  private:
	std::mutex mutex_;
	std::condition_variable changed_;
	std::deque<Batch> batches_;
};

struct Way {
	void* (*make)(std::size_t);
	void (*drop)(void*);
};

void drop_object(void* object) { tl_ptr_release(object); }

bool find_way(const std::string& name, Way* out)
{
	if (name == "tl") return *out = {tl_mem_alloc, drop_object}, true;
	for (const bench::Allocator& allocator : bench::allocators())
		if (allocator.name == name) return *out = {allocator.allocate, allocator.release}, true;
	return false;
}

void produce(Channel& channel, const Way& way, long batches)
{
	while (batches-- > 0) {
		Batch batch(kBatch);
		for (void*& object : batch) std::memset(object = way.make(kBytes), 1, 16);
		channel.send(std::move(batch));
	}
	channel.send({});
}

void consume(Channel& channel, const Way& way)
{
	for (Batch batch = channel.receive(); !batch.empty(); batch = channel.receive())
		for (void* object : batch) way.drop(object);
}

double processor_seconds()
{
	rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

long peak_bytes()
{
	rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss * 1024;
}

void run(const Way& way, int pairs, long batches)
{
	std::vector<Channel> channels(static_cast<std::size_t>(pairs));
	std::vector<std::thread> threads;
	for (Channel& channel : channels) {
		threads.emplace_back([&] { produce(channel, way, batches / pairs); });
		threads.emplace_back([&] { consume(channel, way); });
	}
	for (std::thread& thread : threads) thread.join();
}

} // namespace

int main(int argc, char** argv)
{
	if (argc != 3 || tl_init() != TL_OK) return 2;
	const int threads = std::atoi(argv[2]);
	Way way;
	if (threads < 2 || !find_way(argv[1], &way)) return 3;
	run(way, 1, 2); // what the first threads and the first slow calls need is there
	const long before = peak_bytes();
	const double began = processor_seconds();
	run(way, threads / 2, kObjects / static_cast<long>(kBatch));
	std::printf("{\"way\": \"%s\", \"threads\": %d, \"cpu_ns\": %.2f, \"peak\": %ld}\n", argv[1], threads,
	            1e9 * (processor_seconds() - began) / kObjects, peak_bytes() - before);
}
