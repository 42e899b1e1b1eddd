// Programs whose sizes vary: time, peak and what stays. One program and one way per process,
// `varying_programs PROGRAM WAY`; the way "malloc" is that of the allocator that is preloaded.
#include <sys/resource.h>
#include <tl_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

std::uint64_t random_state = 88172645463325252u;

std::size_t below(std::size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return static_cast<std::size_t>(random_state % n);
}

long resident_bytes()
{
	long total = 0, resident = 0;
	std::FILE* file = std::fopen("/proc/self/statm", "r");
	if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
	if (file) std::fclose(file);
	return resident * sysconf(_SC_PAGESIZE);
}

// Of all threads: what gives memory back counts, too.
double processor_nanoseconds()
{
	timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// A matrix of floats: a tensor, or a header and a block.
struct Matrix {
	void* handle;
	char* data;
};

struct Way {
	Matrix (*make)(std::size_t rows, std::size_t width);
	void (*drop)(Matrix);
	void* (*allocate)(std::size_t);
	void (*release)(void*);
};

Matrix make_tensor(std::size_t rows, std::size_t width)
{
	const std::int64_t shape[2] = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)};
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	if (tensor == nullptr) std::exit(1);
	return {tensor, static_cast<char*>(tl_tensor_data(tensor))};
}

Matrix make_block(std::size_t rows, std::size_t width)
{
	void* header = std::malloc(64);
	return {header, static_cast<char*>(std::malloc(rows * width * sizeof(float)))};
}

void drop_block(Matrix matrix)
{
	std::free(matrix.data);
	std::free(matrix.handle);
}

const Way kOurs = {make_tensor, [](Matrix m) { tl_tensor_free(static_cast<tl_tensor*>(m.handle)); }, tl_mem_alloc,
                   [](void* object) { tl_ptr_release(object); }};
const Way kMalloc = {make_block, drop_block, std::malloc, std::free};

void touch_pages(char* data, std::size_t bytes)
{
	for (std::size_t i = 0; i < bytes; i += 4096) data[i] = 1;
}

struct Found {
	double nanoseconds; // of an operation
	long after = 0;     // bytes above the start, a second after all was freed
};

// Sixteen activations a step, every second one of them four times as wide, for sequences of any length. The first half
// of the steps warms up.
Found shapes(const Way& way, std::size_t hidden, std::size_t longest, int steps)
{
	constexpr int kLayers = 16;
	double began = 0;
	for (int step = 0; step < steps; ++step) {
		if (step == steps / 2) began = processor_nanoseconds();
		const std::size_t length = 1 + below(longest);
		Matrix live[kLayers];
		for (int layer = 0; layer < kLayers; ++layer) {
			const std::size_t width = layer % 2 == 0 ? 4 * hidden : hidden;
			live[layer] = way.make(length, width);
			touch_pages(live[layer].data, length * width * sizeof(float));
		}
		for (int layer = kLayers; layer-- > 0;) way.drop(live[layer]);
	}
	return {(processor_nanoseconds() - began) / (steps - steps / 2) / kLayers};
}

// The keys and values of eight layers grow by a row a step: a new matrix, a copy, the old one goes.
Found decode(const Way& way, std::size_t width, std::size_t steps)
{
	constexpr std::size_t kCaches = 16;
	const std::size_t row = width * sizeof(float);
	Matrix caches[kCaches] = {};
	const double began = processor_nanoseconds();
	for (std::size_t step = 0; step < steps; ++step)
		for (Matrix& cache : caches) {
			const Matrix next = way.make(step + 1, width);
			if (cache.handle != nullptr) {
				std::memcpy(next.data, cache.data, step * row);
				way.drop(cache);
			}
			std::memset(next.data + step * row, 1, row);
			cache = next;
		}
	const double took = processor_nanoseconds() - began;
	for (Matrix& cache : caches) way.drop(cache);
	return {took / static_cast<double>(steps)};
}

// The same by tensors that grow, with room for all steps from the beginning or without.
Found grown(std::size_t width, std::size_t steps, bool reserved)
{
	constexpr std::size_t kCaches = 16;
	const std::size_t row = width * sizeof(float);
	tl_tensor* caches[kCaches];
	tl_tensor_free(
		static_cast<tl_tensor*>(make_tensor(1, width).handle)); /* a thread's first call is a row of its own */
	const double began = processor_nanoseconds();
	for (tl_tensor*& cache : caches) {
		cache = static_cast<tl_tensor*>(make_tensor(0, width).handle);
		if (reserved && tl_tensor_reserve(cache, static_cast<std::int64_t>(steps)) != TL_OK) std::exit(1);
	}
	for (std::size_t step = 0; step < steps; ++step)
		for (tl_tensor* cache : caches) {
			if (tl_tensor_resize(cache, static_cast<std::int64_t>(step) + 1) != TL_OK) std::exit(1);
			std::memset(static_cast<char*>(tl_tensor_data(cache)) + step * row, 1, row);
		}
	const double took = processor_nanoseconds() - began;
	for (tl_tensor* cache : caches) tl_tensor_free(cache);
	return {took / static_cast<double>(steps)};
}

// The same memory, written once: what decode cannot do without.
Found copied(std::size_t width, std::size_t steps)
{
	const std::size_t bytes = 16 * steps * width * sizeof(float);
	std::vector<char> from(bytes, 1);
	const double began = processor_nanoseconds();
	void* to = std::malloc(bytes);
	std::memcpy(to, from.data(), bytes);
	__asm__ volatile("" ::"r"(to) : "memory");
	const double took = processor_nanoseconds() - began;
	std::free(to);
	return {took / static_cast<double>(steps)};
}

void shuffle(std::vector<void*>& objects)
{
	for (std::size_t i = objects.size(); i > 1; --i) std::swap(objects[i - 1], objects[below(i)]);
}

// All live at once, then freed: how long a pair takes, and what stays.
Found burst(const Way& way, std::size_t count, int rounds, bool in_any_order, long start)
{
	std::vector<void*> live(count);
	double took = 0;
	for (int round = 0; round < rounds; ++round) {
		const double began = processor_nanoseconds();
		for (void*& object : live) *static_cast<char*>(object = way.allocate(16 + below(585))) = 1;
		took += processor_nanoseconds() - began;
		if (in_any_order) shuffle(live);
		const double freeing = processor_nanoseconds();
		for (void* object : live) way.release(object);
		took += processor_nanoseconds() - freeing;
	}
	live = {};
	if (in_any_order) sleep(1);
	return {took / static_cast<double>(count) / rounds, resident_bytes() - start};
}

bool run(const std::string& program, const Way& way, long start, Found* out)
{
	if (program == "shapes") return *out = shapes(way, 256, 1024, 2000), true;
	if (program == "shapes-wide") return *out = shapes(way, 1024, 2048, 200), true;
	if (program == "decode") return *out = decode(way, 32, 1024), true;
	if (program == "decode-wide") return *out = decode(way, 256, 1472), true;
	if (program == "burst") return *out = burst(way, 1000000, 1, true, start), true;
	if (program == "live") return *out = burst(way, 100000, 20, false, start), true;
	return false;
}

long peak_bytes()
{
	rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss * 1024;
}

} // namespace

int main(int argc, char** argv)
{
	if (argc != 3) return 2;
	const std::string program = argv[1], way = argv[2];
	const bool grows = way == "resize" || way == "resize-unreserved";
	if ((way == "tl" || grows) && tl_init() != TL_OK) return 2;
	const long start = resident_bytes();
	const std::size_t width = program == "decode" ? 32 : 256, steps = program == "decode" ? 1024 : 1472;
	Found found;
	if (way == "copy") found = copied(width, steps);
	else if (grows) found = grown(width, steps, way == "resize");
	else if (!run(program, way == "tl" ? kOurs : kMalloc, start, &found)) return 2;
	std::printf("\"program\": \"%s\", \"ns\": %.2f, \"peak\": %ld, \"after\": %ld}\n", argv[1], found.nanoseconds,
	            peak_bytes() - start, found.after);
}
