/* A CUDA driver of the tests' own: the functions that package cuda calls, over
 * malloc. Addresses of the device are those of malloc plus an offset that no
 * processor can reach, so that touching them is a fault. It is stricter than the
 * real one: every address, stream and event is looked up.
 *
 *     FAKECUDA_DEVICES=2                      how many there are, 1 by default
 *     FAKECUDA_FAIL=cuMemAlloc_v2:3:2         the third call answers 2, out of memory; *: of all functions
 */
#define _GNU_SOURCE
#include "fakecuda.h"

/* ---- for the tests ----------------------------------------------------------------- */

void fakecuda_fail(const char* name, int call, int result)
{
	pthread_mutex_lock(&lock);
	snprintf(plan.name, sizeof plan.name, "%s", name);
	plan.call = call;
	plan.result = result;
	planned_calls = 0;
	failed = NULL;
	pthread_mutex_unlock(&lock);
}

/* The function that failed since fakecuda_fail, NULL for none. */
const char* fakecuda_failed(void) { return failed; }

/* A block that nobody returned, and its size; 0: there is none. */
uintptr_t fakecuda_left(size_t* bytes)
{
	for (int i = 0; i < MAX_BLOCKS; i++) {
		if (blocks[i].kind != PLAIN) continue;
		*bytes = blocks[i].bytes;
		return (uintptr_t)blocks[i].memory + OFFSET;
	}
	return 0;
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

/* ---- for the tests of streams ------------------------------------------------------ */

/* While on, events wait for fakecuda_finish, or for somebody who waits for them or their stream. */
void fakecuda_hold(int on)
{
	pthread_mutex_lock(&lock);
	holding = on != 0;
	pthread_mutex_unlock(&lock);
}

void fakecuda_finish(uintptr_t stream)
{
	pthread_mutex_lock(&lock);
	finish(stream);
	pthread_mutex_unlock(&lock);
}

uintptr_t fakecuda_stream(void)
{
	uintptr_t stream = 0;
	pthread_mutex_lock(&lock);
	open_handle(streams, STREAMS, &stream);
	pthread_mutex_unlock(&lock);
	return stream;
}

int fakecuda_events(void)
{
	int n = 0;
	for (int i = 0; i < used_events; i++) n += events[i].live;
	return n;
}

int fakecuda_synchronized(void) { return synchronized; }

/* How often later work in a stream was told to wait for an event of another. */
int fakecuda_waited(uintptr_t stream, uintptr_t other) { return waited[place(stream)][place(other)]; }

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
	return leave(flags > 1 ? INVALID_VALUE : open_handle(streams, STREAMS, out));
}

CUresult cuStreamDestroy_v2(uintptr_t stream)
{
	ENTER(true);
	struct handle* h = at(streams, STREAMS, stream);
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
	struct handle* h = at(events, EVENTS, event);
	if (flags != 0 || !is_stream(stream) || h == NULL) return leave(INVALID_HANDLE);
	waited[place(stream)][place(h->stream)]++;
	return leave(SUCCESS);
}

CUresult cuEventCreate(uintptr_t* out, unsigned flags)
{
	ENTER(true);
	return leave(flags != 2 ? INVALID_VALUE : open_handle(events, EVENTS, out));
}

CUresult cuEventDestroy_v2(uintptr_t event)
{
	ENTER(true);
	struct handle* h = at(events, EVENTS, event);
	if (h == NULL) return leave(INVALID_HANDLE);
	h->live = false;
	return leave(SUCCESS);
}

CUresult cuEventRecord(uintptr_t event, uintptr_t stream)
{
	ENTER(true);
	struct handle* h = at(events, EVENTS, event);
	if (h == NULL || !is_stream(stream)) return leave(INVALID_HANDLE);
	h->recorded = true;
	h->polled = false;
	h->held = holding;
	h->stream = stream;
	return leave(SUCCESS);
}

CUresult cuEventSynchronize(uintptr_t event)
{
	ENTER(true);
	struct handle* h = at(events, EVENTS, event);
	if (h == NULL) return leave(INVALID_HANDLE);
	h->held = false;
	h->polled = true;
	synchronized++;
	return leave(SUCCESS);
}

/* Not ready when first asked after a record. */
CUresult cuEventQuery(uintptr_t event)
{
	ENTER(true);
	struct handle* h = at(events, EVENTS, event);
	if (h == NULL) return leave(INVALID_HANDLE);
	bool waits = h->held || (h->recorded && !h->polled);
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
