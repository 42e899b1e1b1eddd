/*
 * Runs compiled plans for the tests.
 *
 *   driver LIBRARY < CASES
 *
 * Each line of CASES is "name input-file output-file". The input file holds the
 * inputs and then the constants of the plan, one behind the other; the output file
 * gets the status, as four bytes, and the outputs. What a plan may not touch lies
 * on pages that it cannot touch: each tensor ends at such a page in a first run and
 * begins behind one in a second, whose outputs have to be the same. Outputs hold
 * 0xA5 before the call, and inputs cannot be written.
 *
 * With -DWITH_RUNTIME frames come from libtl_runtime, else from this file. A plan with
 * the caller's memory gets it here: it holds 0xFF before the call and is guarded as
 * tensors are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct tensor {
	const char* name;
	const int64_t* shape;
	int64_t bytes;
	int32_t dtype, rank, embedded, reserved;
};

struct info {
	int64_t size;
	const char *name, *json;
	int64_t frame_bytes, slots, input_count, output_count, constant_count;
	const struct tensor *inputs, *outputs, *constants;
	int64_t memory, frame_alignment, outside_bytes;
};

enum { CALLER = 2 }; /* info.memory: the fourth argument */

typedef int32_t (*function)(void**, void**, void**, void*);

static int at_end; /* tensors end at the guard page; else they begin at it */

static void die(const char* what)
{
	perror(what);
	exit(2);
}

struct guarded {
	char *base, *data;
	size_t mapped, page;
};

static struct guarded guarded_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t inner = (bytes + page - 1) / page * page;
	struct guarded g = {NULL, NULL, inner + 2 * page, page};
	g.base = mmap(NULL, g.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g.base == MAP_FAILED) die("mmap");
	g.data = at_end ? g.base + page + inner - bytes : g.base + page;
	mprotect(g.base, page, PROT_NONE);
	mprotect(g.base + page + inner, page, PROT_NONE);
	return g;
}

static void guarded_seal(struct guarded g)
{
	if (g.mapped > 2 * g.page) mprotect(g.base + g.page, g.mapped - 2 * g.page, PROT_READ);
}

#ifndef WITH_RUNTIME
static struct guarded held[4096];
static int depth, open_slots;

int32_t tl_last_status(void) { return 11; }

void* tl_mem_frame_enter(size_t bytes)
{
	held[depth] = guarded_new(bytes);
	memset(held[depth].data, 0xFF, bytes);
	return held[depth++].data;
}

int32_t tl_mem_frame_exit(void)
{
	if (depth-- == 0) return 8;
	munmap(held[depth].base, held[depth].mapped);
	return 0;
}

int32_t tl_mem_function_enter(int64_t slots)
{
	open_slots = (int)slots;
	return 0;
}

void* tl_mem_get_buffer(int64_t slot, int64_t bytes)
{
	if (slot != depth || slot >= open_slots) return NULL;
	return tl_mem_frame_enter((size_t)bytes);
}

int32_t tl_mem_function_exit(void)
{
	while (depth > 0) tl_mem_frame_exit();
	open_slots = 0;
	return 0;
}

static int open_frames(void) { return depth; }
#else
extern void* tl_mem_frame_enter(size_t);
extern int32_t tl_mem_frame_exit(void);

static int open_frames(void) { return tl_mem_frame_exit() != 8; /* TL_E_NO_FRAME */ }
#endif

static void read_all(FILE* f, struct guarded* to, const struct tensor* list, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		to[i] = guarded_new((size_t)list[i].bytes);
		if (list[i].bytes && fread(to[i].data, (size_t)list[i].bytes, 1, f) != 1) die("the input file is too short");
		guarded_seal(to[i]);
	}
}

struct call {
	struct guarded *in, *out, *constants;
	int32_t status;
	double seconds;
};

static void** addresses(struct guarded* list, int64_t n)
{
	void** a = malloc(sizeof(void*) * (size_t)(n + 1));
	for (int64_t i = 0; i < n; i++) a[i] = list[i].data;
	return a;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* memory for a frame, which cannot end at the guard page where its size is no multiple of its alignment */
static struct guarded scratch_new(const struct info* info)
{
	size_t mask = (size_t)info->frame_alignment - 1;
	struct guarded g = guarded_new(info->memory == CALLER ? ((size_t)info->frame_bytes + mask) & ~mask : 0);
	memset(g.data, 0xFF, info->memory == CALLER ? (size_t)info->frame_bytes : 0);
	return g;
}

static struct call call_once(const struct info* info, function f, const char* input)
{
	struct call c;
	struct guarded scratch = scratch_new(info);
	c.in = calloc((size_t)info->input_count + 1, sizeof *c.in);
	c.out = calloc((size_t)info->output_count + 1, sizeof *c.out);
	c.constants = calloc((size_t)info->constant_count + 1, sizeof *c.constants);
	FILE* file = fopen(input, "rb");
	if (!file) die(input);
	read_all(file, c.in, info->inputs, info->input_count);
	read_all(file, c.constants, info->constants, info->constant_count);
	fclose(file);
	for (int64_t i = 0; i < info->output_count; i++) {
		c.out[i] = guarded_new((size_t)info->outputs[i].bytes);
		memset(c.out[i].data, 0xA5, (size_t)info->outputs[i].bytes);
	}
	void **in = addresses(c.in, info->input_count), **out = addresses(c.out, info->output_count);
	void** constants = addresses(c.constants, info->constant_count);
	for (int64_t i = 0; i < info->constant_count; i++)
		if (info->constants[i].embedded) constants[i] = NULL;
	double before = now();
	c.status = f(in, out, constants, scratch.data);
	c.seconds = now() - before;
	for (int i = 0; getenv("DRIVER_REPEAT") && i < atoi(getenv("DRIVER_REPEAT")); i++) {
		before = now();
		f(in, out, constants, scratch.data);
		double s = now() - before;
		if (s < c.seconds) c.seconds = s;
	}
	free(in);
	free(out);
	free(constants);
	munmap(scratch.base, scratch.mapped);
	return c;
}

static void release(struct guarded* list, int64_t n)
{
	for (int64_t i = 0; i < n; i++) munmap(list[i].base, list[i].mapped);
	free(list);
}

static void release_call(const struct info* info, struct call c)
{
	release(c.in, info->input_count);
	release(c.out, info->output_count);
	release(c.constants, info->constant_count);
}

static void run(void* library, const char* name, const char* input, const char* output)
{
	char symbol[256];
	snprintf(symbol, sizeof symbol, "%s_info", name);
	const struct info* info = dlsym(library, symbol);
	function f = (function)dlsym(library, name);
	if (!info || !f || info->size != sizeof *info) die(name);
	fflush(stdout);
	at_end = 1;
	struct call first = call_once(info, f, input);
	at_end = 0;
	struct call second = call_once(info, f, input);
	int32_t status = first.status != second.status ? -1 : first.status;
	if (open_frames()) status = -2;
	FILE* file = fopen(output, "wb");
	if (!file) die(output);
	for (int64_t i = 0; i < info->output_count; i++)
		if (memcmp(first.out[i].data, second.out[i].data, (size_t)info->outputs[i].bytes) != 0) status = -3;
	fwrite(&status, 4, 1, file);
	for (int64_t i = 0; i < info->output_count; i++) fwrite(first.out[i].data, 1, (size_t)info->outputs[i].bytes, file);
	fclose(file);
	printf("%s %d %.6f\n", name, status, second.seconds < first.seconds ? second.seconds : first.seconds);
	fflush(stdout);
	release_call(info, first);
	release_call(info, second);
}

int main(int argc, char** argv)
{
	char name[256], input[1024], output[1024];
	void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: driver LIBRARY < CASES");
		return 2;
	}
	while (scanf("%255s %1023s %1023s", name, input, output) == 3) run(library, name, input, output);
	return 0;
}
