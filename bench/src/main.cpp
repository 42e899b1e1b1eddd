#include <tl_runtime.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "harness.hpp"

namespace {

class ParkedThread {
  public:
	ParkedThread() : thread_([this] { wait(); }) {}
	~ParkedThread()
	{
		{
			std::lock_guard<std::mutex> lock(mutex_);
			done_ = true;
		}
		changed_.notify_one();
		thread_.join();
	}

  private:
	void wait()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		changed_.wait(lock, [this] { return done_; });
	}

	std::mutex mutex_;
	std::condition_variable changed_;
	bool done_ = false;
	std::thread thread_;
};

} // namespace

__attribute__((weak)) void bench::register_all() {}

int main(int argc, char** argv)
{
	ParkedThread parked;
	if (tl_init() != TL_OK) {
		std::fprintf(stderr, "tl_init: %s\n", tl_last_error());
		return 1;
	}
	benchmark::Initialize(&argc, argv);
	bench::register_all();
	benchmark::RunSpecifiedBenchmarks();
	benchmark::Shutdown();
	return 0;
}
