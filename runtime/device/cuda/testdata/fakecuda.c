/* A CUDA driver of the tests' own: the functions that package cuda calls, over
 * malloc. Addresses of the device are those of malloc plus an offset that no
 * processor can reach, so that touching them is a fault. It is stricter than the
 * real one: every address, stream and event is looked up.
 *
 *     FAKECUDA_DEVICES=2                      how many there are, 1 by default
 *     FAKECUDA_FAIL=cuMemAlloc_v2:3:2         the third call answers 2, out of memory
 */
#define _GNU_SOURCE
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

enum { MAX_DEVICES = 8, MAX_BLOCKS = 4096, MAX_HANDLES = 64, MAX_STACK = 16, ALIGNMENT = 512 };
static const size_t TOTAL = (size_t)1 << 30;
static const uintptr_t OFFSET = (uintptr_t)1 << 62;

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
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards everything here */
static bool started;
static int count;
static struct device devices[MAX_DEVICES];
static struct block blocks[MAX_BLOCKS];
static struct handle streams[MAX_HANDLES], events[MAX_HANDLES];
static int pushed;  /* contexts that threads have current */
static int pending; /* copies in the default stream that nobody has waited for */
static __thread struct device* stack[MAX_STACK];
static __thread int depth;

static void (*hook)(void); /* called by cuMemAlloc, as if the driver used the runtime */

static struct plan {
	char name[64];
	int call, result;
} plan;
static int planned_calls;

/* ---- for the tests ----------------------------------------------------------------- */

void fakecuda_fail(const char* name, int call, int result)
{
	pthread_mutex_lock(&lock);
	snprintf(plan.name, sizeof plan.name, "%s", name);
	plan.call = call;
	plan.result = result;
	planned_calls = 0;
	pthread_mutex_unlock(&lock);
}

void fakecuda_hook(void (*f)(void)) { hook = f; }

/* Blocks that nobody returned; those returned to a stream count until it is done. */
int fakecuda_outstanding(void)
{
	int n = 0;
	for (int i = 0; i < MAX_BLOCKS; i++) n += blocks[i].kind != FREE;
	return n;
}

int fakecuda_pushed(void) { return pushed; }

int fakecuda_pending(void) { return pending; }

int fakecuda_retained(int device) { return devices[device].retained; }

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
	if (strcmp(name, plan.name) == 0 && ++planned_calls == plan.call) return plan.result;
	if (!started && strcmp(name, "cuInit") != 0) return NOT_INITIALIZED;
	return wants_context && depth == 0 ? INVALID_CONTEXT : SUCCESS;
}

static CUresult leave(CUresult result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

#define ENTER(wants_context) \
	do { \
		CUresult early = enter(__func__, wants_context); \
		if (early != SUCCESS) return leave(early); \
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
		if ((b->kind == PLAIN || b->kind == ORDERED) && p >= start && p - start <= b->bytes && n <= b->bytes - (p - start))
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
	memset(b->memory, 0xDD, b->bytes);
	free(b->memory);
	*b = (struct block){FREE, NULL, 0, NULL, 0};
	return SUCCESS;
}

/* Handles are 1000 and up for streams, 2000 and up for events. */
static struct handle* at(struct handle* all, uintptr_t base, uintptr_t h)
{
	return h >= base && h - base < MAX_HANDLES && all[h - base].live ? &all[h - base] : NULL;
}

static bool is_stream(uintptr_t s) { return s == 0 || at(streams, 1000, s) != NULL; }

static CUresult open_handle(struct handle* all, uintptr_t base, uintptr_t* out)
{
	for (int i = 0; i < MAX_HANDLES; i++) {
		if (all[i].live) continue;
		all[i] = (struct handle){.live = true};
		*out = base + (uintptr_t)i;
		return SUCCESS;
	}
	return OUT_OF_MEMORY;
}

/* The work in a stream is done: what was returned in its order is free. */
static void finish(uintptr_t stream)
{
	for (int i = 0; i < MAX_BLOCKS; i++)
		if (blocks[i].kind == RETURNED && blocks[i].stream == stream) drop(&blocks[i]);
}

/* ---- the driver -------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
	ENTER(false);
	if (flags != 0) return leave(INVALID_VALUE);
	if (count < 0) return leave(NO_DEVICE);
	started = true;
	return leave(SUCCESS);
}

CUresult cuDriverGetVersion(int* out)
{
	ENTER(false);
	*out = 12040;
	return leave(SUCCESS);
}

CUresult cuGetErrorName(CUresult r, const char** out)
{
	*out = r == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : r == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : NULL;
	return *out == NULL && r != INVALID_VALUE ? INVALID_VALUE : SUCCESS;
}

CUresult cuGetErrorString(CUresult r, const char** out)
{
	*out = r == OUT_OF_MEMORY ? "out of memory" : r == NO_DEVICE ? "no CUDA-capable device is detected" : NULL;
	return *out == NULL ? INVALID_VALUE : SUCCESS;
}

CUresult cuDeviceGetCount(int* out)
{
	ENTER(false);
	*out = count;
	return leave(SUCCESS);
}

CUresult cuDeviceGet(int* out, int ordinal)
{
	ENTER(false);
	if (ordinal < 0 || ordinal >= count) return leave(INVALID_DEVICE);
	*out = ordinal;
	return leave(SUCCESS);
}

CUresult cuDeviceGetName(char* out, int room, int device)
{
	ENTER(false);
	snprintf(out, (size_t)room, "Fake Device %d", device);
	return leave(SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t* out, int device)
{
	ENTER(false);
	if (device >= count) return leave(INVALID_DEVICE);
	*out = TOTAL;
	return leave(SUCCESS);
}

CUresult cuDeviceGetAttribute(int* out, int attribute, int device)
{
	ENTER(false);
	if (attribute != 115 || device >= count) return leave(INVALID_VALUE);
	*out = 1;
	return leave(SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(void** out, int device)
{
	ENTER(false);
	devices[device].retained = true;
	*out = &devices[device];
	return leave(SUCCESS);
}

CUresult cuCtxPushCurrent_v2(void* context)
{
	ENTER(false);
	if (depth == MAX_STACK || context == NULL) return leave(INVALID_CONTEXT);
	stack[depth++] = context;
	pushed++;
	return leave(SUCCESS);
}

CUresult cuCtxPopCurrent_v2(void** out)
{
	/* Done even when it is to fail, as the stack belongs to the thread. */
	CUresult early = enter(__func__, true);
	if (depth == 0) return leave(INVALID_CONTEXT);
	*out = stack[--depth];
	pushed--;
	return leave(early);
}

CUresult cuMemGetInfo_v2(size_t* available, size_t* total)
{
	ENTER(true);
	*available = TOTAL - current()->used;
	*total = TOTAL;
	return leave(SUCCESS);
}

CUresult cuMemAlloc_v2(uintptr_t* out, size_t bytes)
{
	if (hook != NULL) hook();
	ENTER(true);
	return leave(obtain(out, bytes, PLAIN));
}

CUresult cuMemFree_v2(uintptr_t address)
{
	ENTER(true);
	struct block* b = find(address, PLAIN);
	return leave(drop(b != NULL ? b : find(address, ORDERED)));
}

CUresult cuMemHostAlloc(uintptr_t* out, size_t bytes, unsigned flags)
{
	ENTER(true);
	return leave(flags > 7 ? INVALID_VALUE : obtain(out, bytes, HOST));
}

CUresult cuMemFreeHost(uintptr_t address)
{
	ENTER(true);
	return leave(drop(find(address, HOST)));
}

static CUresult transfer(char* to, const char* from, size_t n)
{
	if (to == NULL || from == NULL) return INVALID_VALUE;
	memmove(to, from, n);
	pending++;
	return SUCCESS;
}

CUresult cuMemcpyHtoD_v2(uintptr_t to, const void* from, size_t n)
{
	ENTER(true);
	return leave(transfer(reach(to, n), from, n));
}

CUresult cuMemcpyDtoH_v2(void* to, uintptr_t from, size_t n)
{
	ENTER(true);
	return leave(transfer(to, reach(from, n), n));
}

CUresult cuMemcpyDtoD_v2(uintptr_t to, uintptr_t from, size_t n)
{
	ENTER(true);
	return leave(transfer(reach(to, n), reach(from, n), n));
}

CUresult cuMemcpyPeer(uintptr_t to, void* to_context, uintptr_t from, void* from_context, size_t n)
{
	ENTER(true);
	if (to_context == from_context || to_context != current()) return leave(INVALID_CONTEXT);
	return leave(transfer(reach(to, n), reach(from, n), n));
}

CUresult cuMemsetD8_v2(uintptr_t to, unsigned char value, size_t n)
{
	ENTER(true);
	char* memory = reach(to, n);
	if (memory == NULL) return leave(INVALID_VALUE);
	memset(memory, value, n);
	pending++;
	return leave(SUCCESS);
}

CUresult cuStreamCreate(uintptr_t* out, unsigned flags)
{
	ENTER(true);
	return leave(flags > 1 ? INVALID_VALUE : open_handle(streams, 1000, out));
}

CUresult cuStreamDestroy_v2(uintptr_t stream)
{
	ENTER(true);
	struct handle* h = at(streams, 1000, stream);
	if (h == NULL) return leave(INVALID_HANDLE);
	finish(stream);
	h->live = false;
	return leave(SUCCESS);
}

CUresult cuStreamSynchronize(uintptr_t stream)
{
	ENTER(true);
	if (!is_stream(stream)) return leave(INVALID_HANDLE);
	finish(stream);
	if (stream == 0) pending = 0;
	return leave(SUCCESS);
}

CUresult cuStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags)
{
	ENTER(true);
	return leave(flags == 0 && is_stream(stream) && at(events, 2000, event) != NULL ? SUCCESS : INVALID_HANDLE);
}

CUresult cuEventCreate(uintptr_t* out, unsigned flags)
{
	ENTER(true);
	return leave(flags != 2 ? INVALID_VALUE : open_handle(events, 2000, out));
}

CUresult cuEventDestroy_v2(uintptr_t event)
{
	ENTER(true);
	struct handle* h = at(events, 2000, event);
	if (h == NULL) return leave(INVALID_HANDLE);
	h->live = false;
	return leave(SUCCESS);
}

CUresult cuEventRecord(uintptr_t event, uintptr_t stream)
{
	ENTER(true);
	struct handle* h = at(events, 2000, event);
	if (h == NULL || !is_stream(stream)) return leave(INVALID_HANDLE);
	h->recorded = true;
	h->polled = false;
	return leave(SUCCESS);
}

/* Not ready when first asked after a record. */
CUresult cuEventQuery(uintptr_t event)
{
	ENTER(true);
	struct handle* h = at(events, 2000, event);
	if (h == NULL) return leave(INVALID_HANDLE);
	bool waits = h->recorded && !h->polled;
	h->polled = true;
	return leave(waits ? NOT_READY : SUCCESS);
}

/* Takes what was returned to the same stream, and never what was returned to another. */
CUresult cuMemAllocAsync(uintptr_t* out, size_t bytes, uintptr_t stream)
{
	ENTER(true);
	if (!is_stream(stream)) return leave(INVALID_HANDLE);
	for (int i = 0; i < MAX_BLOCKS; i++) {
		struct block* b = &blocks[i];
		if (b->kind != RETURNED || b->stream != stream || b->bytes != bytes || b->device != current()) continue;
		b->kind = ORDERED;
		*out = (uintptr_t)b->memory + OFFSET;
		return leave(SUCCESS);
	}
	return leave(obtain(out, bytes, ORDERED));
}

CUresult cuMemFreeAsync(uintptr_t address, uintptr_t stream)
{
	ENTER(true);
	struct block* b = find(address, ORDERED);
	if (b == NULL || !is_stream(stream)) return leave(INVALID_VALUE);
	b->kind = RETURNED;
	b->stream = stream;
	return leave(SUCCESS);
}
