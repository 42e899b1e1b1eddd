/* What the functions of the CUDA driver of the tests' own share: devices, blocks, streams
 * and events, and the failure that is planned. */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
enum {
	SUCCESS = 0,
	INVALID_VALUE = 1,
	OUT_OF_MEMORY = 2,
	NOT_INITIALIZED = 3,
	NO_DEVICE = 100,
	INVALID_DEVICE = 101,
	INVALID_CONTEXT = 201,
	INVALID_HANDLE = 400,
	NOT_READY = 600,
};

enum { MAX_DEVICES = 8, MAX_BLOCKS = 4096, MAX_STREAMS = 64, MAX_EVENTS = 8192, MAX_STACK = 16, ALIGNMENT = 512 };
static const size_t TOTAL = (size_t)1 << 30;
static const size_t SPOILT = (size_t)1 << 20; /* of a block that was returned: overwritten */
static const uintptr_t OFFSET = (uintptr_t)1 << 62;

enum { STREAMS = 1000, EVENTS = 10000 }; /* the first handle of each kind; 0, 1 and 2 are streams as well */

enum kind { FREE, PLAIN, ORDERED, RETURNED /* in the order of a stream */, HOST };

struct device {
	size_t used;
	bool retained;
};

struct block {
	enum kind kind;
	char* memory;
	size_t bytes;
	struct device* device;
	uintptr_t stream; /* of RETURNED */
};

struct handle {
	bool live, recorded, polled;
	bool held; /* not ready before the stream is finished */
	uintptr_t stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything here */
static bool started;
static int count;
static struct device devices[MAX_DEVICES];
static struct block blocks[MAX_BLOCKS];
static struct handle streams[MAX_STREAMS], events[MAX_EVENTS];
static int used_events; /* handles above were never used */
static bool holding;
static int synchronized;                             /* events that were waited for */
static int waited[MAX_STREAMS + 3][MAX_STREAMS + 3]; /* [stream][that of the event] */
static int pushed;                                   /* contexts that threads have current */
static int pending;                                  /* copies in the default stream that nobody has waited for */
static __thread struct device* stack[MAX_STACK];
static __thread int depth;

static void (*hook)(void); /* called by cuMemAlloc, as if the driver used the runtime */

static struct plan {
	char name[64];
	int call, result;
} plan;
static int planned_calls;
static const char* failed; /* the function that failed as planned */

/* ---- what the functions share --------------------------------------------------------- */

static void read_environment(void)
{
	const char* devices_text = getenv("FAKECUDA_DEVICES");
	const char* fail = getenv("FAKECUDA_FAIL");
	count = devices_text != NULL ? atoi(devices_text) : 1;
	if (fail != NULL) sscanf(fail, "%63[^:]:%d:%d", plan.name, &plan.call, &plan.result);
}

/* Takes the lock; what a call has to answer before it does anything. */
static CUresult enter(const char* name, bool wants_context)
{
	pthread_mutex_lock(&lock);
	if (count == 0 && !started) read_environment();
	if ((strcmp(name, plan.name) == 0 || strcmp(plan.name, "*") == 0) && ++planned_calls == plan.call) {
		failed = name;
		return plan.result;
	}
	if (!started && strcmp(name, "cuInit") != 0) return NOT_INITIALIZED;
	return wants_context && depth == 0 ? INVALID_CONTEXT : SUCCESS;
}

static CUresult leave(CUresult result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

#define ENTER(wants_context)                             \
	do {                                                 \
		CUresult early = enter(__func__, wants_context); \
		if (early != SUCCESS) return leave(early);       \
	} while (0)

static struct device* current(void) { return stack[depth - 1]; }

static struct block* find(uintptr_t address, enum kind kind)
{
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (blocks[i].kind == kind && (uintptr_t)blocks[i].memory + (kind == HOST ? 0 : OFFSET) == address)
			return &blocks[i];
	return NULL;
}

/* The CPU's address of n bytes on a device, NULL when they are in no block. */
static char* reach(uintptr_t address, size_t n)
{
	uintptr_t p = address - OFFSET;
	for (int i = 0; i < MAX_BLOCKS; i++) {
		struct block* b = &blocks[i];
		uintptr_t start = (uintptr_t)b->memory;
		if ((b->kind == PLAIN || b->kind == ORDERED) && p >= start && p - start <= b->bytes &&
		    n <= b->bytes - (p - start))
			return (char*)p;
	}
	return NULL;
}

static CUresult obtain(uintptr_t* out, size_t bytes, enum kind kind)
{
	struct device* d = current();
	if (bytes == 0) return INVALID_VALUE;
	if (kind != HOST && bytes > TOTAL - d->used) return OUT_OF_MEMORY;
	for (int i = 0; i < MAX_BLOCKS; i++) {
		struct block* b = &blocks[i];
		if (b->kind != FREE) continue;
		char* memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
		if (memory == NULL) return OUT_OF_MEMORY;
		*b = (struct block){kind, memory, bytes, d, 0};
		if (kind != HOST) d->used += bytes;
		*out = (uintptr_t)memory + (kind == HOST ? 0 : OFFSET);
		return SUCCESS;
	}
	return OUT_OF_MEMORY;
}

static CUresult drop(struct block* b)
{
	if (b == NULL) return INVALID_VALUE;
	if (b->kind != HOST) b->device->used -= b->bytes;
	memset(b->memory, 0xDD, b->bytes < SPOILT ? b->bytes : SPOILT);
	free(b->memory);
	*b = (struct block){FREE, NULL, 0, NULL, 0};
	return SUCCESS;
}

static struct handle* at(struct handle* all, uintptr_t base, uintptr_t h)
{
	uintptr_t most = all == streams ? MAX_STREAMS : MAX_EVENTS;
	return h >= base && h - base < most && all[h - base].live ? &all[h - base] : NULL;
}

static bool is_stream(uintptr_t s) { return s <= 2 || at(streams, STREAMS, s) != NULL; }

static CUresult open_handle(struct handle* all, uintptr_t base, uintptr_t* out)
{
	for (int i = 0; i < (all == streams ? MAX_STREAMS : MAX_EVENTS); i++) {
		if (all[i].live) continue;
		all[i] = (struct handle){.live = true};
		if (all == events && i >= used_events) used_events = i + 1;
		*out = base + (uintptr_t)i;
		return SUCCESS;
	}
	return OUT_OF_MEMORY;
}

/* The work in a stream is done: its events pass, and what was returned in its order is free. */
static void finish(uintptr_t stream)
{
	for (int i = 0; i < used_events; i++)
		if (events[i].stream == stream) events[i].held = false;
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (blocks[i].kind == RETURNED && blocks[i].stream == stream) drop(&blocks[i]);
}

static size_t place(uintptr_t stream) { return stream < STREAMS ? stream : stream - STREAMS + 3; }

#endif
