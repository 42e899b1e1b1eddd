// Resident memory of ten million live objects of 64 bytes, over their payload. One way of holding them per process.
#include <tl_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "../peers/allocators.hpp"

namespace {

constexpr long kObjects = 10000000;
constexpr std::size_t kBytes = 64;

long resident_bytes()
{
	long total = 0, resident = 0;
	std::FILE* file = std::fopen("/proc/self/statm", "r");
	if (!file || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
	if (file) std::fclose(file);
	return resident * sysconf(_SC_PAGESIZE);
}

void fill(void* object) { std::memset(object, 1, kBytes); }

void floating()
{
	for (long i = 0; i < kObjects; ++i) fill(tl_mem_alloc(kBytes));
}

void in_scope()
{
	tl_mem_enter_scope();
	for (long i = 0; i < kObjects; ++i) fill(tl_mem_new(kBytes));
}

// The objects are held by the Vec alone: their scopes have ended.
void in_vec()
{
	void* vec = tl_vec_new(kObjects);
	for (long i = 0; i < kObjects; ++i) {
		tl_mem_enter_scope();
		void* object = tl_mem_new(kBytes);
		fill(object);
		tl_vec_push(vec, object);
		tl_mem_exit_scope();
	}
}

bool by_allocator(const std::string& name)
{
	for (const bench::Allocator& allocator : bench::allocators()) {
		if (allocator.name != name) continue;
		for (long i = 0; i < kObjects; ++i) fill(allocator.allocate(kBytes));
		return true;
	}
	return false;
}

bool hold(const std::string& way)
{
	if (way == "floating") return floating(), true;
	if (way == "vec") return in_vec(), true;
	if (way == "scope") return in_scope(), true;
	return by_allocator(way);
}

} // namespace

int main(int argc, char** argv)
{
	if (argc != 2 || tl_init() != TL_OK) return 2;
	bench::allocators();
	long before = resident_bytes();
	if (!hold(argv[1])) return 0;
	long added = resident_bytes() - before;
	std::printf("{\"way\": \"%s\", \"payload\": %ld, \"resident\": %ld}\n", argv[1], kObjects * long{kBytes}, added);
	std::fflush(stdout);
	// Without releasing ten million objects one by one: the process is the measurement.
	_exit(0);
}
