/* From dlopen to the end of the first call that needs the runtime, and what an idle runtime keeps resident. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static long resident_kib(void)
{
	long total = 0, resident = 0;
	FILE* file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
	if (file) fclose(file);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* 0, or why the library did not answer. */
static const char* first_call(const char* path)
{
	void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) return dlerror();
	void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(library, "tl_mem_alloc");
	if (!allocate) return "tl_mem_alloc is missing";
	return allocate(64) ? NULL : "tl_mem_alloc failed";
}

int main(int argc, char** argv)
{
	if (argc != 2) return 2;
	long before = resident_kib();
	double begin = milliseconds();
	const char* error = first_call(argv[1]);
	double taken = milliseconds() - begin;
	if (error) {
		fprintf(stderr, "startup: %s\n", error);
		return 1;
	}
	usleep(200000);
	printf("{\"milliseconds\": %.3f, \"resident_kib\": %ld}\n", taken, resident_kib() - before);
	return 0;
}
