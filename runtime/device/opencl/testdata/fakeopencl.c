/* An OpenCL library of the tests' own: the functions that package opencl calls, over
 * malloc. Shared virtual memory has the addresses of malloc, plus an offset that no
 * processor can reach when it is coarse-grained: the CPU must not touch it unmapped.
 *
 *     FAKECL_SVM=0                            CL_DEVICE_SVM_CAPABILITIES, 3 by default
 *     FAKECL_DEVICES=2                        on its one platform, 1 by default
 *     FAKECL_FAIL=clCreateBuffer:3:-4         the third call answers -4
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t result;
enum {
	SUCCESS = 0,
	DEVICE_NOT_FOUND = -1,
	ALLOCATION_FAILURE = -4,
	INVALID_VALUE = -30,
	INVALID_CONTEXT = -34,
	INVALID_QUEUE = -36,
	INVALID_MEM_OBJECT = -38,
	INVALID_BUFFER_SIZE = -61,
	NO_PLATFORM = -1001,
};
enum { MAX_BLOCKS = 4096, ALIGNMENT = 128, CONTEXT = 0x7100, QUEUE = 0x7200, PLATFORM = 0x7300, DEVICE = 0x7400 };
static const uint64_t TOTAL = (uint64_t)1 << 30, LARGEST = (uint64_t)1 << 29;
static const uintptr_t OFFSET = (uintptr_t)1 << 61;

struct block {
	char* memory; /* NULL: the row is free */
	size_t bytes;
	bool shared;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything here */
static struct block blocks[MAX_BLOCKS];
static uint64_t used;
static int pending; /* commands that nobody has waited for */
static int contexts;

static struct plan {
	char name[64];
	int call, result;
} plan;
static int planned_calls;

void fakecl_fail(const char* name, int call, int answer)
{
	pthread_mutex_lock(&lock);
	snprintf(plan.name, sizeof plan.name, "%s", name);
	plan.call = call;
	plan.result = answer;
	planned_calls = 0;
	pthread_mutex_unlock(&lock);
}

int fakecl_outstanding(void)
{
	int n = 0;
	for (int i = 0; i < MAX_BLOCKS; i++) n += blocks[i].memory != NULL;
	return n;
}

int fakecl_pending(void) { return pending; }

int fakecl_contexts(void) { return contexts; }

static uint64_t setting(const char* name, uint64_t otherwise)
{
	const char* text = getenv(name);
	return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static uintptr_t offset(void) { return setting("FAKECL_SVM", 3) == 1 ? OFFSET : 0; }

static result enter(const char* name)
{
	pthread_mutex_lock(&lock);
	const char* fail = getenv("FAKECL_FAIL");
	if (fail != NULL && plan.call == 0) sscanf(fail, "%63[^:]:%d:%d", plan.name, &plan.call, &plan.result);
	return strcmp(name, plan.name) == 0 && ++planned_calls == plan.call ? plan.result : SUCCESS;
}

static result leave(result r)
{
	pthread_mutex_unlock(&lock);
	return r;
}

#define ENTER()                                    \
	do {                                           \
		result early = enter(__func__);            \
		if (early != SUCCESS) return leave(early); \
	} while (0)

/* ---- platforms and devices ---------------------------------------------------------- */

static result handles(uintptr_t first, uint32_t have, uint32_t room, uintptr_t* out, uint32_t* count)
{
	if (count != NULL) *count = have;
	if (out == NULL) return SUCCESS;
	if (room == 0) return INVALID_VALUE;
	for (uint32_t i = 0; i < have && i < room; i++) out[i] = first + i;
	return SUCCESS;
}

result clGetPlatformIDs(uint32_t room, uintptr_t* out, uint32_t* count)
{
	ENTER();
	return leave(handles(PLATFORM, 1, room, out, count));
}

static result answer(const void* value, size_t bytes, size_t room, void* out)
{
	if (out == NULL || room < bytes) return INVALID_VALUE;
	memcpy(out, value, bytes);
	return SUCCESS;
}

result clGetPlatformInfo(uintptr_t platform, uint32_t property, size_t room, void* out, size_t* bytes)
{
	ENTER();
	(void)bytes;
	return leave(platform == PLATFORM && property == 0x0902 ? answer("Fake Platform", 14, room, out) : INVALID_VALUE);
}

result clGetDeviceIDs(uintptr_t platform, uint64_t type, uint32_t room, uintptr_t* out, uint32_t* count)
{
	ENTER();
	uint32_t have = (uint32_t)setting("FAKECL_DEVICES", 1);
	if (platform != PLATFORM || type != 0xFFFFFFFF) return leave(INVALID_VALUE);
	return leave(have == 0 ? DEVICE_NOT_FOUND : handles(DEVICE, have, room, out, count));
}

result clGetDeviceInfo(uintptr_t device, uint32_t property, size_t room, void* out, size_t* bytes)
{
	ENTER();
	(void)bytes;
	uint32_t bits = ALIGNMENT * 8;
	uint64_t svm = setting("FAKECL_SVM", 3);
	if (device < DEVICE) return leave(INVALID_VALUE);
	switch (property) {
	case 0x102B: return leave(answer(" Fake Device", 13, room, out));
	case 0x102D: return leave(answer("1.5", 4, room, out));
	case 0x102F: return leave(answer("OpenCL 3.0", 11, room, out));
	case 0x101F: return leave(answer(&TOTAL, 8, room, out));
	case 0x1010: return leave(answer(&LARGEST, 8, room, out));
	case 0x1019: return leave(answer(&bits, 4, room, out));
	case 0x1053: return leave(answer(&svm, 8, room, out));
	}
	return leave(INVALID_VALUE);
}

static uintptr_t made(uintptr_t handle, result why, result* out)
{
	*out = why;
	pthread_mutex_unlock(&lock);
	return why == SUCCESS ? handle : 0;
}

uintptr_t clCreateContext(const void* properties, uint32_t n, const uintptr_t* devices, void* f, void* ctx, result* out)
{
	result why = enter(__func__);
	if (properties != NULL || f != NULL || ctx != NULL || n != 1 || devices[0] < DEVICE) why = INVALID_VALUE;
	contexts += why == SUCCESS;
	return made(CONTEXT, why, out);
}

result clReleaseContext(uintptr_t context)
{
	ENTER();
	contexts--;
	return leave(context == CONTEXT ? SUCCESS : INVALID_CONTEXT);
}

uintptr_t clCreateCommandQueue(uintptr_t context, uintptr_t device, uint64_t properties, result* out)
{
	result why = enter(__func__);
	if (why == SUCCESS && (context != CONTEXT || device < DEVICE || properties != 0)) why = INVALID_CONTEXT;
	return made(QUEUE, why, out);
}

/* ---- memory --------------------------------------------------------------------------- */

static struct block* obtain(size_t bytes, bool shared)
{
	if (bytes == 0 || bytes > LARGEST || bytes > TOTAL - used) return NULL;
	for (int i = 0; i < MAX_BLOCKS; i++) {
		if (blocks[i].memory != NULL) continue;
		char* memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
		if (memory == NULL) return NULL;
		blocks[i] = (struct block){memory, bytes, shared};
		used += bytes;
		return &blocks[i];
	}
	return NULL;
}

static void drop(struct block* b)
{
	used -= b->bytes;
	memset(b->memory, 0xDD, b->bytes);
	free(b->memory);
	b->memory = NULL;
}

/* A buffer's handle is where its row stands. */
static struct block* buffer_of(uintptr_t handle)
{
	uintptr_t i = (handle - (uintptr_t)blocks) / sizeof *blocks;
	return handle >= (uintptr_t)blocks && i < MAX_BLOCKS && blocks[i].memory != NULL && !blocks[i].shared ? &blocks[i]
	                                                                                                      : NULL;
}

/* n bytes of a buffer, NULL when it has them not. */
static char* part(uintptr_t handle, size_t at, size_t n)
{
	struct block* b = buffer_of(handle);
	return b != NULL && at <= b->bytes && n <= b->bytes - at ? b->memory + at : NULL;
}

uintptr_t clCreateBuffer(uintptr_t context, uint64_t flags, size_t bytes, void* host, result* out)
{
	result why = enter(__func__);
	struct block* b = NULL;
	if (why == SUCCESS && (context != CONTEXT || flags != 1 || host != NULL)) why = INVALID_VALUE;
	if (why == SUCCESS && bytes == 0) why = INVALID_BUFFER_SIZE;
	if (why == SUCCESS && (b = obtain(bytes, false)) == NULL) why = ALLOCATION_FAILURE;
	return made((uintptr_t)b, why, out);
}

result clReleaseMemObject(uintptr_t handle)
{
	ENTER();
	struct block* b = buffer_of(handle);
	if (b == NULL) return leave(INVALID_MEM_OBJECT);
	drop(b);
	return leave(SUCCESS);
}

void* clSVMAlloc(uintptr_t context, uint64_t flags, size_t bytes, uint32_t alignment)
{
	struct block* b = NULL;
	uint64_t svm = setting("FAKECL_SVM", 3);
	bool right = flags == 1 || (flags == (1 | 1 << 10) && (svm & 2) != 0);
	if (enter(__func__) == SUCCESS && context == CONTEXT && right && alignment <= ALIGNMENT) b = obtain(bytes, true);
	char* p = b != NULL ? b->memory + offset() : NULL;
	pthread_mutex_unlock(&lock);
	return p;
}

void clSVMFree(uintptr_t context, void* p)
{
	enter(__func__);
	for (int i = 0; i < MAX_BLOCKS && context == CONTEXT; i++)
		if (blocks[i].shared && blocks[i].memory != NULL && blocks[i].memory + offset() == p) drop(&blocks[i]);
	pthread_mutex_unlock(&lock);
}

/* ---- commands -------------------------------------------------------------------------- */

static result move(uintptr_t queue, char* to, const char* from, size_t n)
{
	if (queue != QUEUE) return INVALID_QUEUE;
	if (to == NULL || from == NULL || n == 0) return INVALID_VALUE;
	memmove(to, from, n);
	pending++;
	return SUCCESS;
}

static result set(uintptr_t queue, char* to, const void* pattern, size_t bytes, size_t n)
{
	if (queue != QUEUE) return INVALID_QUEUE;
	if (to == NULL || bytes != 1) return INVALID_VALUE;
	memset(to, *(const unsigned char*)pattern, n);
	pending++;
	return SUCCESS;
}

/* The real place of n bytes that are shared memory or the CPU's; NULL when they begin
 * in shared memory and leave it. */
static char* reach(uintptr_t p, size_t n)
{
	for (int i = 0; i < MAX_BLOCKS; i++) {
		const struct block* b = &blocks[i];
		uintptr_t start = (uintptr_t)b->memory + offset();
		if (b->shared && b->memory != NULL && p >= start && p - start < b->bytes)
			return n <= b->bytes - (p - start) ? b->memory + (p - start) : NULL;
	}
	return p >= OFFSET ? NULL : (char*)p;
}

#define EVENTS uint32_t n_events, const void *events, void *event
#define NO_EVENTS (n_events != 0 || events != NULL || event != NULL)

result clEnqueueReadBuffer(uintptr_t q, uintptr_t b, uint32_t wait, size_t at, size_t n, void* to, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS || wait != 1 ? INVALID_VALUE : move(q, to, part(b, at, n), n));
}

result clEnqueueWriteBuffer(uintptr_t q, uintptr_t b, uint32_t wait, size_t at, size_t n, const void* from, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS || wait != 1 ? INVALID_VALUE : move(q, part(b, at, n), from, n));
}

result clEnqueueCopyBuffer(uintptr_t q, uintptr_t from, uintptr_t to, size_t begin, size_t at, size_t n, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS ? INVALID_VALUE : move(q, part(to, at, n), part(from, begin, n), n));
}

result clEnqueueFillBuffer(uintptr_t q, uintptr_t b, const void* pattern, size_t bytes, size_t at, size_t n, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS ? INVALID_VALUE : set(q, part(b, at, n), pattern, bytes, n));
}

result clEnqueueSVMMemcpy(uintptr_t q, uint32_t wait, uintptr_t to, uintptr_t from, size_t n, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS || wait != 1 ? INVALID_VALUE : move(q, reach(to, n), reach(from, n), n));
}

result clEnqueueSVMMemFill(uintptr_t q, uintptr_t to, const void* pattern, size_t bytes, size_t n, EVENTS)
{
	ENTER();
	return leave(NO_EVENTS ? INVALID_VALUE : set(q, reach(to, n), pattern, bytes, n));
}

result clFinish(uintptr_t queue)
{
	ENTER();
	if (queue != QUEUE) return leave(INVALID_QUEUE);
	pending = 0;
	return leave(SUCCESS);
}
