/* Runs a compiled plan on the runtime.
 *
 *     host JOB
 *
 * A Go program cannot load the Go library that it is made of a second time, so
 * `tl run` starts this program: it loads libtl_runtime and the module, maps
 * constants, inputs and outputs from files, calls the module's function for each
 * sample, and prints what that took as one line of JSON.
 *
 * JOB is a text file, one statement a line:
 *     runtime PATH            libtl_runtime.so
 *     module PATH             shared object with the function
 *     function NAME           int32_t NAME(void *const *inputs, void *const *outputs, const void *const *constants)
 *     constants PATH          file; then for each constant: constant OFFSET
 *     inputs PATH BYTES       file, and the bytes of one sample; then for each input: input OFFSET
 *     outputs PATH BYTES      the same for outputs; the file is written
 *     spill PATH BYTES        file of the second space, and the bytes of the frame: the function takes the addresses
 *                             of both as two arguments more
 *     samples N               how many there are in the files
 *     repeat N                how often all samples are run */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The beginning of tl_stats of tl_runtime.h: a library fills in as much as it is told
 * there is room for, so that no header is needed to build this. */
typedef struct statistics {
	size_t struct_size;
	uint64_t live_objects, live_bytes, allocations;
} statistics;

typedef int32_t model_function(void* const* inputs, void* const* outputs, const void* const* constants);
typedef int32_t spilling_function(void* const* inputs, void* const* outputs, const void* const* constants,
                                  void* scratch, void* outside);

/* A file in memory and where its tensors begin, in one sample. */
typedef struct section {
	char* base;
	size_t bytes; /* of one sample */
	size_t* offsets;
	void** pointers; /* the tensors of the present sample */
	size_t count;
} section;

typedef struct job {
	void *runtime, *module;
	model_function* function;
	section constants, inputs, outputs;
	void *scratch, *spill; /* NULL: the function takes its memory from the runtime */
	size_t samples, repeat;
} job;

static void fail(const char* format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char* format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

#ifdef __GLIBC__
/* Calls of malloc by the model's thread while `counting`: the program's own malloc
 * comes before that of libc in every library that the process loads. */
static __thread int counting;
static uint64_t mallocs;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);

void* malloc(size_t bytes)
{
	mallocs += (uint64_t)counting;
	return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes)
{
	mallocs += (uint64_t)counting;
	return __libc_calloc(count, bytes);
}

void* realloc(void* block, size_t bytes)
{
	mallocs += (uint64_t)counting;
	return __libc_realloc(block, bytes);
}
#else
static int counting;
static uint64_t mallocs;
#endif

static void* symbol(void* library, const char* name)
{
	void* address = dlsym(library, name);
	if (!address) fail("%s", dlerror());
	return address;
}

static void* load(const char* path, int mode)
{
	void* library = dlopen(path, RTLD_NOW | mode);
	if (!library) fail("%s", dlerror());
	return library;
}

static void add_tensor(section* s, size_t offset)
{
	s->offsets = realloc(s->offsets, (s->count + 1) * sizeof *s->offsets);
	s->pointers = realloc(s->pointers, (s->count + 1) * sizeof *s->pointers);
	if (!s->offsets || !s->pointers) fail("out of memory");
	s->pointers[s->count] = NULL;
	s->offsets[s->count++] = offset;
}

/* An empty file stands for tensors without elements. */
static char* map_file(const char* path, int writable)
{
	int file = open(path, writable ? O_RDWR : O_RDONLY);
	struct stat about;
	if (file < 0 || fstat(file, &about)) fail("%s: %s", path, strerror(errno));
	static char nothing[64] __attribute__((aligned(64)));
	char* base = nothing;
	if (about.st_size)
		base = mmap(NULL, (size_t)about.st_size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, file, 0);
	if (base == MAP_FAILED) fail("%s: %s", path, strerror(errno));
	close(file);
	return base;
}

/* Memory that begins at a page. */
static void* pages(size_t bytes)
{
	void* base = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED) fail("a frame of %zu bytes: %s", bytes, strerror(errno));
	return base;
}

static void statement(job* j, char* key, char* value)
{
	char* second = strchr(value, '\t');
	if (second) *second++ = 0;
	size_t number = strtoull(second ? second : value, NULL, 10);
	if (!strcmp(key, "runtime")) j->runtime = load(value, RTLD_GLOBAL);
	else if (!strcmp(key, "module")) j->module = load(value, RTLD_LOCAL);
	else if (!strcmp(key, "function")) *(void**)&j->function = symbol(j->module, value);
	else if (!strcmp(key, "constants")) j->constants.base = map_file(value, 0);
	else if (!strcmp(key, "inputs")) j->inputs.base = map_file(value, 1), j->inputs.bytes = number;
	else if (!strcmp(key, "outputs")) j->outputs.base = map_file(value, 1), j->outputs.bytes = number;
	else if (!strcmp(key, "constant")) add_tensor(&j->constants, number);
	else if (!strcmp(key, "input")) add_tensor(&j->inputs, number);
	else if (!strcmp(key, "output")) add_tensor(&j->outputs, number);
	else if (!strcmp(key, "spill")) j->spill = map_file(value, 1), j->scratch = pages(number);
	else if (!strcmp(key, "samples")) j->samples = number;
	else if (!strcmp(key, "repeat")) j->repeat = number;
	else fail("the job has a line \"%s\" that is not known", key);
}

/* Keys and values are separated by tabs, so that paths may hold spaces. */
static void read_job(job* j, const char* path)
{
	FILE* file = fopen(path, "r");
	char line[8192];
	if (!file) fail("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = 0;
		char* tab = strchr(line, '\t');
		if (!tab) fail("%s: \"%s\" has no tab between key and value", path, line);
		*tab = 0;
		statement(j, line, tab + 1);
	}
	fclose(file);
	if (!j->runtime || !j->function) fail("%s: runtime, module and function have to be named", path);
}

static void point(section* s, size_t sample)
{
	for (size_t i = 0; i < s->count; i++) s->pointers[i] = s->base + sample * s->bytes + s->offsets[i];
}

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int32_t call(job* j)
{
	const void* const* constants = (const void* const*)j->constants.pointers;
	if (!j->spill) return j->function(j->inputs.pointers, j->outputs.pointers, constants);
	return ((spilling_function*)j->function)(j->inputs.pointers, j->outputs.pointers, constants, j->scratch, j->spill);
}

static const char* last_error(job* j)
{
	const char* (*read)(void);
	*(void**)&read = symbol(j->runtime, "tl_last_error");
	return read();
}

static uint64_t run_sample(job* j, size_t sample)
{
	point(&j->inputs, sample);
	point(&j->outputs, sample);
	uint64_t start = now();
	counting = 1;
	int32_t status = call(j);
	counting = 0;
	uint64_t took = now() - start;
	if (status) fail("sample %zu: status %d: %s", sample, (int)status, last_error(j));
	return took;
}

static int by_size(const void* a, const void* b)
{
	uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
	return (x > y) - (x < y);
}

static void read_statistics(job* j, statistics* out)
{
	int32_t (*get)(statistics*);
	*(void**)&get = symbol(j->runtime, "tl_stats_get");
	memset(out, 0, sizeof *out);
	out->struct_size = sizeof *out;
	if (get(out)) fail("%s", last_error(j)); /* the first use of the runtime is refused */
}

/* Highest resident memory of this program. getrusage would tell that of the program
 * that started it, when that was larger. */
static uint64_t peak_resident(void)
{
	FILE* file = fopen("/proc/self/status", "r");
	char line[256];
	uint64_t kib = 0;
	if (file) {
		while (fgets(line, sizeof line, file) && sscanf(line, "VmHWM: %" SCNu64, &kib) != 1);
		fclose(file);
		return kib * 1024;
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
	return (uint64_t)usage.ru_maxrss;
#else
	return (uint64_t)usage.ru_maxrss * 1024;
#endif
}

int main(int argc, char** argv)
{
	job j = {.samples = 1, .repeat = 1};
	statistics before, after;
	if (argc != 2) fail("usage: host JOB");
	read_job(&j, argv[1]);
	size_t runs = j.samples * j.repeat;
	uint64_t* times = malloc((runs + 1) * sizeof *times);
	if (!times) fail("out of memory");
	point(&j.constants, 0);
	read_statistics(&j, &before);
	for (size_t i = 0; i < runs; i++) times[i] = run_sample(&j, i % j.samples);
	read_statistics(&j, &after);
	uint64_t first = runs ? times[0] : 0;
	qsort(times, runs, sizeof *times, by_size);
	printf("{\"runs\": %zu, \"first_ns\": %" PRIu64 ", \"median_ns\": %" PRIu64 ", \"minimum_ns\": %" PRIu64
	       ", \"allocations\": %" PRIu64 ", \"mallocs\": %" PRIu64 ", \"live_bytes\": %" PRIu64
	       ", \"peak_resident_bytes\": %" PRIu64 "}\n",
	       runs, first, runs ? times[runs / 2] : 0, runs ? times[0] : 0, after.allocations - before.allocations,
	       mallocs, after.live_bytes, peak_resident());
	return 0;
}
